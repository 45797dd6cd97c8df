// Package bindrt is the runtime of generated code. It is not for use by hand: it trusts
// its caller, the generator, where package tvmffi checks its user.
//
// A generated function fills a frame on its stack, makes the call and takes the result:
//
//	var c bindrt.Call1
//	c.Begin(&fnAddOne, 1)
//	c.Int(0, x)
//	return c.DoInt()
//
// Objects are passed as pointers and kept alive until the call has returned.
package bindrt

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/environment"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/libraries"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// Generation1 appears in the code that this generation of the generator writes. A
// runtime that does not support that code lacks the constant, so the generated package
// does not compile.
const Generation1 = 1

// What a [Func] may say of how long its calls take, for programs with light calls.
const (
	Always = calls.Always
	Never  = calls.Never
)

// The descriptors that generated code uses. They are static data: nothing runs when a
// generated package is imported, and each descriptor is resolved on first use.
type (
	// File is a shared library behind a generated package.
	File = find.File
	// Library is the set of files behind a generated package.
	Library = libraries.Library
	// Func is a function.
	Func = calls.Func
	// Type is an object type.
	Type = fields.Type
	// Field is a field of an object type.
	Field = fields.Field
	// Args are the arguments of a callback.
	Args = callbacks.Args
)

// The frames of calls. The number is the size of the block in 16-byte units: one for
// each argument, and the rest for strings.
type (
	Call   = calls.Call   // the part that all frames share
	Call1  = calls.Call1  // 1 unit
	Call2  = calls.Call2  // 2 units
	Call3  = calls.Call3  // 3 units
	Call4  = calls.Call4  // 4 units
	Call6  = calls.Call6  // 6 units
	Call8  = calls.Call8  // 8 units
	Call12 = calls.Call12 // 12 units
	Call16 = calls.Call16 // 16 units
	Call24 = calls.Call24 // 24 units
	Call32 = calls.Call32 // 32 units
	CallN  = calls.CallN  // up to 128 arguments
)

// inlined calls methods that are small: the compiler inlines a method into generated code only
// if a package that the code imports inlines it, too. No other code of this one does.
//
//lint:ignore U1000 the compiler reads it
func inlined(c *Call, c6 *Call6, c24 *Call24, c32 *Call32, a *Args) {
	c6.Begin(nil, 0)
	c24.Begin(nil, 0)
	c32.Begin(nil, 0)
	c.DoBool()
	c.DoInt()
	c.DoFloat()
	c.DoDataType()
	a.Check(0)
}

// Ref returns the state behind a pointer to an object type; nil stays nil.
func Ref[T any](p *T) *objects.Object { return (*objects.Object)(unsafe.Pointer(p)) }

// Up returns p as a pointer to an ancestor of its type; nil stays nil.
func Up[To, From any](p *From) *To { return (*To)(unsafe.Pointer(p)) }

// Put packs argument i by the codec of T.
func Put[T any](c *Call, i int, v T) {
	if !c.Prepare() {
		return
	}
	if c.Flattens() {
		codec.PutFlat(c, i, codec.For[T](), unsafe.Pointer(&v))
		return
	}
	t, err := codec.EncodeArgument(codec.For[T](), unsafe.Pointer(&v), c.OfObject())
	c.Put(i, t, err)
}

// OrEmpty marks a container for a parameter, a field or a result that is not optional: nil is
// the empty container. Put, SetField, NewOption and Return take it.
func OrEmpty[T any](v T) codec.OrEmpty[T] { return codec.OrEmpty[T]{Value: v} }

// PutObject packs an object of any type as argument i; nil is None.
func PutObject(c *Call, i int, x tvmffi.ObjectRef) { c.Object(i, objects.StateOf(x)) }

// PutTensor packs a tensor whose elements must have the type d as argument i; nil is None.
func PutTensor(c *Call, i int, x *tvmffi.Tensor, d tvmffi.DataType) {
	if err := checkElements(x, d); err != nil {
		c.Put(i, values.AnyView{}, err)
		return
	}
	c.Object(i, Ref(x))
}

// checkElements returns an error for a tensor whose elements do not have the type d.
func checkElements(x *tvmffi.Tensor, d tvmffi.DataType) error {
	if x == nil || Ref(x).Addr() == 0 || x.DataType() == d {
		return nil
	}
	return failure.Errorf(failure.KindType, "expected Tensor(%s), got Tensor(%s)", d, x.DataType())
}

// PutAligned packs a tensor as argument i; nil is None. The address of its first element must
// be divisible by align, a power of 2, unless the tensor is empty: the function assumes that,
// and the process may die if it is not so.
func PutAligned(c *Call, i int, x *tvmffi.Tensor, align int) {
	o := Ref(x)
	if x != nil && o.Addr() != 0 {
		d := capi.PointerTo[abi.DLTensor](o.Addr() + abi.ObjectSize)
		if off := (d.Data + uintptr(d.ByteOffset)) % uintptr(align); off != 0 && x.Len() > 0 {
			c.Put(i, values.AnyView{}, failure.Errorf(failure.KindValue,
				"misaligned Tensor data: the address is %d bytes after a multiple of %d, which the function assumes without a check: copy the tensor into one of tvmffi.NewTensor", off, align))
			return
		}
	}
	c.Object(i, o)
}

// DoTensor makes a call whose result is a tensor with elements of type d; None is nil.
func DoTensor(c *Call, d tvmffi.DataType) (*tvmffi.Tensor, error) {
	x, err := Do[*tvmffi.Tensor](c)
	if err != nil || x == nil || x.DataType() == d {
		return x, err
	}
	err = failure.Errorf(failure.KindType, "%s: result: expected Tensor(%s), got Tensor(%s)", c.Target(), d, x.DataType())
	x.Release()
	return nil, err
}

// DoObject makes a call whose result is an object of type t; None is nil.
func DoObject[T any](c *Call, t *Type) (*T, error) {
	o, err := c.DoObject(t)
	return (*T)(unsafe.Pointer(o)), err
}

// Do makes a call and takes the result by the codec of T.
func Do[T any](c *Call) (T, error) {
	if err := c.Do(); err != nil {
		var none T
		return none, err
	}
	from := objects.ReadOwned()
	from.Loose = c.Target() == nil // a function of another language may return ints for floats
	x, err := take[T](c.Take(), from)
	if err != nil {
		return x, c.ResultError(err)
	}
	return x, nil
}

// integer is an integer that crosses as an int of 64 bits.
type integer interface {
	int8 | int16 | int32 | uint8 | uint16 | uint32 | uint64
}

// Integer returns the int result of a call as one of a certain width. A uint64 crosses with all its bits, as in C++. The
// compiler inlines it into generated code.
func Integer[T integer](c *Call, v int64, err error) (T, error) {
	if int64(T(v)) == v {
		return T(v), err
	}
	return misfit[T](c, v, err)
}

func misfit[T integer](c *Call, v int64, err error) (T, error) {
	if err != nil {
		return 0, err
	}
	x, err := take[T](codec.IntValue(v), objects.ReadOwned())
	return x, c.ResultError(err)
}

// IntegerField reads a field that holds an int of a certain width. It panics with an *Error if
// the object is nil or has ended, or holds another number: then the bindings do not fit the library.
func IntegerField[T integer](f *Field, o *objects.Object) T {
	v := f.Int(o)
	x := T(v)
	if int64(x) != v {
		_, err := take[T](codec.IntValue(v), objects.ReadOwned())
		panic(failure.Errorf(failure.KindType, "field %s: %w", f, err))
	}
	return x
}

// IntegerArg is [Arg] for an int of a certain width.
func IntegerArg[T integer](a *Args, i int) T {
	if v, ok := a.Int(i); ok && int64(T(v)) == v {
		return T(v)
	}
	return Arg[T](a, i)
}

// CallPacked calls a function that has no types.
func CallPacked(f *Func, args []any) (tvmffi.Any, error) {
	var c CallN
	c.Begin(f, len(args))
	for i, v := range args {
		Put(&c.Call, i, v)
	}
	return Do[tvmffi.Any](&c.Call)
}

// CallPackedMethod calls a method that has no types.
func CallPackedMethod(f *Func, self *objects.Object, args []any) (tvmffi.Any, error) {
	var c CallN
	c.Begin(f, len(args)+1)
	c.Self(0, self)
	for i, v := range args {
		Put(&c.Call, i+1, v)
	}
	return Do[tvmffi.Any](&c.Call)
}

// take reads an owned value as a T and releases it.
func take[T any](v abi.Any, from objects.Reading) (T, error) {
	x := new(T)
	err := codec.For[T]().Decode(v, from, unsafe.Pointer(x))
	objects.ReleaseValue(v)
	return *x, err
}

// Callback packs the Go func f as argument i. A func made by Bind is packed as its
// Function. call reads the arguments and returns the result. A nil f is an error of Do,
// because the library would call None.
func Callback[F any](c *Call, i int, f F, call func(*Args) error) {
	if !c.Prepare() {
		return
	}
	closure := *(*unsafe.Pointer)(unsafe.Pointer(&f))
	if closure == nil {
		c.Put(i, values.AnyView{}, failure.Errorf(failure.KindType, "the func is nil"))
		return
	}
	if fn := objects.Bound(closure); fn != nil {
		// The closure stays alive with the call: its address finds fn again.
		c.Put(i, values.AnyView{Keep: f}, nil)
		c.Object(i, fn)
		return
	}
	handle := environment.NewCallback(call, *(*uintptr)(closure)) // a closure begins with its code
	c.Give(i, abi.TypeFunction, handle)
}

// Bind records that the Go func f calls fn, so that Callback packs f as fn. f must
// capture fn and nothing else.
func Bind[F any](fn *tvmffi.Function, f F) F {
	objects.Bind(Ref(fn), *(*unsafe.Pointer)(unsafe.Pointer(&f)))
	return f
}

// Arg reads argument i of a callback with the conversions of C++: ints and bools convert
// to float, bool to int and int to bool. A DataType or Device may be given as a string.
// The same holds inside containers. Args.Int, Args.Float and Args.Bool read the most
// frequent types. Args.Check returns the error.
func Arg[T any](a *Args, i int) T {
	var x T
	v := a.Any(i)
	if v == nil {
		return x // the number of arguments is checked later
	}
	switch v.TypeIndex {
	case abi.TypeSmallStr, abi.TypeStr, abi.TypeRawStr:
		if p, ok := any(&x).(*string); ok {
			*p, _ = capi.StringOf(*v)
			return x
		}
	case abi.TypeInt, abi.TypeBool:
		switch p := any(&x).(type) { // without space for an error
		case *int64:
			*p = int64(v.Bits)
			return x
		case *float64:
			*p = float64(int64(v.Bits))
			return x
		case *bool:
			*p = v.Bits != 0
			return x
		}
	}
	return read[T](a, i)
}

// read is Arg for the other types.
func read[T any](a *Args, i int) T {
	c := codec.Of(reflect.TypeFor[T]())
	if c.Plain != nil {
		var x T // on the stack
		if c.Plain.Copy(*a.Any(i), unsafe.Pointer(&x)) {
			return x
		}
	}
	x := new(T)
	if err := codec.ReadArgument(a, i, c, unsafe.Pointer(x)); err != nil {
		a.Fail(err)
	}
	return *x
}

// The compiler passes the body of a method of another package on to the importers of
// this package only if it was inlined here.
var _ = func(a *Args) {
	if x, ok := a.Int(0); ok {
		a.ReturnInt(x)
	}
	if x, ok := a.Float(0); ok {
		a.ReturnFloat(x)
	}
	if x, ok := a.Bool(0); ok {
		a.ReturnBool(x)
	}
}

// Return sets the result of a callback by the codec of T. Args.ReturnInt,
// Args.ReturnFloat and Args.ReturnBool set the most frequent types.
func Return[T any](a *Args, v T) error {
	if a.Flattens() {
		return returnFlat(a, v)
	}
	return returnObject(a, v)
}

func returnObject[T any](a *Args, v T) error {
	t, err := codec.EncodeResult(codec.For[T](), unsafe.Pointer(&v), a.Typed())
	return codec.ReturnTemp(a, t, err)
}

func returnFlat[T any](a *Args, v T) error {
	if s, ok := any(&v).(*string); ok && uint64(len(*s)) <= math.MaxUint32 {
		a.ReturnText(*s)
		return nil
	}
	return returnParts(a, v)
}

func returnParts[T any](a *Args, v T) error {
	c := codec.For[T]()
	if codec.ReturnScalars(a, c, unsafe.Pointer(&v)) {
		return nil
	}
	return returnNested(a, c, v)
}

func returnNested[T any](a *Args, c *codec.Codec, v T) error {
	return codec.ReturnFlat(a, c, unsafe.Pointer(&v))
}

// ObjectField reads a field that holds an object of type t.
func ObjectField[T any](f *Field, o *objects.Object, t *Type) *T {
	return (*T)(unsafe.Pointer(f.Object(o, t)))
}

// GetField reads a field by the codec of T. It panics with an *Error if the
// object is nil or has ended.
func GetField[T any](f *Field, o *objects.Object) T {
	x, err := take[T](f.Get(o), objects.ReadOwned())
	if err != nil {
		panic(failure.Errorf(failure.KindType, "field %s: %w", f, err))
	}
	return x
}

// SetField writes a field by the codec of T.
func SetField[T any](f *Field, o *objects.Object, v T) error {
	t, err := codec.For[T]().Encode(unsafe.Pointer(&v))
	return f.Set(o, t, err)
}

// Option is a named argument of a function.
type Option struct {
	name   string
	encode func() (values.AnyView, error)
	bits   bool
}

// NewOption returns the option with the given name and value. It may be used more than once.
func NewOption[T any](name string, v T) Option {
	return Option{name: name, encode: func() (values.AnyView, error) { return codec.For[T]().Encode(unsafe.Pointer(&v)) }}
}

// BitsOption is [NewOption] for a field of a new object that is a uint64.
func BitsOption(name string, v uint64) Option {
	o := NewOption(name, int64(v))
	o.bits = true
	return o
}

// TensorOption is [NewOption] for a tensor whose elements must have the type d.
func TensorOption(name string, x *tvmffi.Tensor, d tvmffi.DataType) Option {
	o := NewOption(name, x)
	return Option{name: name, encode: func() (values.AnyView, error) {
		if err := checkElements(x, d); err != nil {
			return values.AnyView{}, err
		}
		return o.encode()
	}}
}

// Self returns the option itself: generated code embeds it in a type of its own.
func (o Option) Self() Option { return o }

// PutOption packs an option as the next keyword argument.
func PutOption(c *CallN, o Option) {
	c.Keyword(o.name)
	if o.encode != nil {
		o.put(&c.Call, c.Next())
	}
	if o.bits {
		c.Bits(c.Next())
	}
}

// put packs the value. Only the value leaves the frame of the caller, which stays on the stack.
func (o Option) put(c *Call, i int) {
	if c.Prepare() {
		t, err := o.encode()
		c.Put(i, t, err)
	}
}

// PutOptions packs options in place of the defaults of the last parameters, whose names are
// given with commas between them. A nil option changes nothing; of two for one parameter, the
// last counts.
func PutOptions[O any](c *Call, names string, options []O) {
	for _, o := range options {
		override(c, names, o)
	}
}

func override(c *Call, names string, o any) {
	named, ok := o.(interface{ Self() Option })
	if !ok {
		return
	}
	option := named.Self()
	all := strings.Split(names, ",")
	at := slices.Index(all, option.name)
	if at < 0 {
		return // the types of generated code exclude it
	}
	i := c.Len() - len(all) + at
	c.Clear(i)
	option.put(c, i)
}

// EnumText returns the text of a value of an enum that has no name.
func EnumText(enum string, v int64) string { return enum + "(" + strconv.FormatInt(v, 10) + ")" }

// Load finds and loads the libraries behind a generated package, once, with options
// that name their places. Without options it reports the failure of an earlier call.
func Load(l *Library, options ...tvmffi.LoadOption) error {
	if len(options) == 0 {
		return l.Load(nil)
	}
	var o find.Options
	for _, option := range options {
		option(&o)
	}
	return l.Load(&o)
}

// LoadChecked is [Load], and compares all items of a generated package, which are pointers to
// Func, Type and Field, with the library.
func LoadChecked(l *Library, options []tvmffi.LoadOption, items ...any) error {
	if err := Load(l, options...); err != nil {
		return err
	}
	return calls.Check(l, items...)
}
