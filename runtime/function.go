package tvmffi

import (
	"reflect"
	"slices"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/environment"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/nearest"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/registry"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// Function is an ffi.Function: a function of any language. Any goroutine may call it.
type Function struct {
	_ [0]*Function // see Object
	objectBase
}

var typeFunction = fields.Type{Key: "ffi.Function"}

// TVMFFIType identifies the type to the runtime.
func (*Function) TVMFFIType(*Function) *fields.Type { return &typeFunction }

// Lookup returns the global function with the given name. Its caller owns the reference.
// If there is no such function, the error is of kind ErrAttribute and lists similar names.
// Finding these takes some milliseconds if thousands of functions are registered.
func Lookup(name string) (*Function, error) {
	if err := Load(); err != nil {
		return nil, err
	}
	if name == "" {
		return nil, failure.Errorf(failure.KindValue, "the name of a global function is empty")
	}
	handle, err := registry.GlobalFunction(name)
	if err != nil {
		return nil, err
	}
	if handle == 0 {
		names, _ := Functions() // they only add a hint to the error
		return nil, failure.Errorf(failure.KindAttr, "there is no global function %s: load the library that registers it first%s", name, nearest.Question(name, names))
	}
	return codec.Wrap[*Function](objects.Own(handle)), nil
}

var (
	removeGlobal = calls.Func{Name: "ffi.FunctionRemoveGlobal"}
	typeKeys     = calls.Func{Name: "ffi.GetRegisteredTypeKeys"}
)

// Functions returns the names of all global functions, sorted.
func Functions() ([]string, error) {
	if err := Load(); err != nil {
		return nil, err
	}
	names, err := registry.GlobalFunctions()
	slices.Sort(names)
	return names, err
}

// FunctionMetadata returns the metadata of a global function: a JSON text with its type
// schema. It is empty if the function was registered without metadata.
func FunctionMetadata(name string) (string, error) {
	if err := Load(); err != nil {
		return "", err
	}
	return registry.GlobalMetadata(name)
}

// TypeKeys returns the keys of all registered types, sorted.
func TypeKeys() ([]string, error) {
	if err := Load(); err != nil {
		return nil, err
	}
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	var c calls.Call1
	c.Begin(&typeKeys, 0)
	if err := c.Do(); err != nil {
		return nil, err
	}
	o, err := c.ObjectResult(&typeArray)
	if err != nil {
		return nil, err
	}
	defer o.Release()
	keys, err := codec.SliceOf[string](o, "type keys")
	slices.Sort(keys)
	return keys, err
}

// RegisterOption describes a function beyond its Go type. [Doc], [Param], [Signature] and
// [Override] make one.
type RegisterOption func(*codec.Registration)

// Override allows Register to replace a global function of the same name. It does not
// allow replacing methods.
func Override() RegisterOption { return func(c *codec.Registration) { c.Override = true } }

// Param describes one parameter in the doc comment that other languages see. The first
// Param describes the first parameter, and so on. The metadata of TVM-FFI has the types of
// parameters but not their names.
func Param(name, doc string) RegisterOption {
	return func(c *codec.Registration) { c.Params = append(c.Params, [2]string{name, doc}) }
}

// Signature sets the signature that other languages see. It has the form that generated
// code shows: "(int, ffi.Array<ffi.String>) -> None", or "ffi.Function" for a function
// that takes anything. Without this option it is the signature of the Go func. An empty
// text hides the signature.
func Signature(text string) RegisterOption {
	return func(c *codec.Registration) { c.Signature = &text }
}

func configOf(options []RegisterOption) *codec.Registration {
	c := new(codec.Registration)
	for _, option := range options {
		if option != nil {
			option(c)
		}
	}
	return c
}

// Register registers f, a Go func or a *[Function], as a global function. Every language
// can call it by its name and finds its signature and doc comment in the registry. If the
// name is already registered, Register returns an error of kind ErrRuntime, unless the
// option [Override] is given. A name has at most 4096 bytes and no control characters. [FuncOf] lists the Go funcs that can be registered.
func Register(name string, f any, options ...RegisterOption) error {
	if err := Load(); err != nil {
		return err
	}
	if err := registry.CheckName("the name of a global function", name); err != nil {
		return err
	}
	fn, err := FuncOf(f)
	if err != nil {
		return failure.Annotate("register "+name, err)
	}
	defer fn.Release()
	config := configOf(options)
	doc, metadata, err := config.Describe(codec.FuncType(f), "")
	if err != nil {
		return failure.Annotate("register "+name, err)
	}
	return registry.SetGlobalMethod(&registry.Method{Name: name, Doc: doc, Metadata: metadata, Function: codec.Ref(fn)}, config.Override)
}

// MetadataOf returns the metadata with which [Register] would register f: a JSON text with
// the type schema. It does not load a library.
func MetadataOf(f any, options ...RegisterOption) (string, error) {
	if t := codec.FuncType(f); t != nil && !codec.IsPacked(t) {
		if _, err := codec.SignatureOf(t); err != nil {
			return "", err
		}
	} else if _, ok := f.(*Function); t == nil && !ok {
		return "", failure.Errorf(failure.KindType, "expected a func, got %T", f)
	}
	_, metadata, err := configOf(options).Describe(codec.FuncType(f), "")
	return metadata, err
}

// Unregister removes a global function and reports whether it existed. References to the
// function stay valid.
func Unregister(name string) (bool, error) {
	if err := Load(); err != nil {
		return false, err
	}
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	var c calls.Call8
	c.Begin(&removeGlobal, 1)
	c.String(0, name)
	if err := c.Do(); err != nil {
		return false, err
	}
	return c.BoolResult()
}

// Packed is a Go func that takes any number of arguments of any types, like a packed
// function. Objects in args are borrowed, also those that the caller moved: they end when the
// func returns; [Retain] keeps one, [RetainFunc] a func. A tensor that the caller passed as a
// DLTensor* has borrowed memory too, so only a Clone of it can be kept.
//
// The caller gets its own reference to an object that the func returns. The func's reference
// remains, and nobody can release it after the return. So a func returns Move(x), nil for an x
// that it made: [Move] gives its reference away.
type Packed func(args []Any) (any, error)

// FuncOf returns a Function that calls f. f is a [Packed], or any func whose parameters
// and results have counterparts in TVM-FFI. Several results are a tuple, and an error may
// follow them. A variadic func takes any number of arguments for its last parameter. If f is
// a func that was made from a Function, FuncOf returns a new reference to that Function.
//
// Arguments and results follow the rules of [Packed]: objects and funcs in the arguments are
// borrowed, and a func whose result has the type any or [Moved] gives a reference away with
// [Move]. With another result type, the reference of an object that the func made is left to
// the garbage collector.
//
// Native code may call the Function on any thread and from several threads at once. The
// error is of kind ErrType if f is not such a func.
func FuncOf(f any) (*Function, error) { return funcOf(f, false) }

// funcOf is FuncOf for callers that take typed values if typed is set.
func funcOf(f any, typed bool) (*Function, error) {
	if err := Load(); err != nil {
		return nil, err
	}
	if fn, ok := f.(*Function); ok {
		if _, err := codec.Live(fn); err != nil {
			return nil, err
		}
		return Retain(fn), nil
	}
	v := reflect.ValueOf(f)
	if v.Kind() != reflect.Func {
		return nil, failure.Errorf(failure.KindType, "expected a func, got %T", f)
	}
	if v.IsNil() {
		return nil, failure.Errorf(failure.KindType, "the %T is nil", f)
	}
	if fn := boundTo(v); fn != nil {
		if _, err := codec.Live(fn); err != nil {
			return nil, err
		}
		return Retain(fn), nil
	}
	call, err := callerOf(v, typed)
	if err != nil {
		return nil, err
	}
	return codec.Wrap[*Function](objects.Own(environment.NewCallback(call, v.Pointer()))), nil
}

// callerOf returns a callback that calls a Go func. typed is set if its callers take typed values.
func callerOf(v reflect.Value, typed bool) (func(*callbacks.Args) error, error) {
	if v.Type().ConvertibleTo(reflect.TypeFor[Packed]()) {
		f := v.Convert(reflect.TypeFor[Packed]()).Interface().(Packed)
		return func(a *callbacks.Args) error { return callPacked(f, a, typed) }, nil
	}
	t := v.Type()
	s, err := codec.SignatureOf(t)
	if err != nil {
		return nil, err
	}
	return func(a *callbacks.Args) error {
		if err := s.Check(a); err != nil {
			return err
		}
		in := make([]reflect.Value, a.Len())
		for i := range in {
			p := reflect.New(codec.ArgumentType(t, i))
			if err := s.Codec(i).Decode(a.Value(i), objects.ReadBorrowed(a).Converting(), p.UnsafePointer()); err != nil {
				return a.InArgument(i, err)
			}
			in[i] = p.Elem()
		}
		out := v.Call(in)
		if s.Fails {
			if err, _ := out[len(out)-1].Interface().(error); err != nil {
				return err
			}
		}
		if s.Result == nil {
			return nil
		}
		temp, err := codec.EncodeResult(s.Result, s.PackResults(out).UnsafePointer(), typed)
		return codec.ReturnTemp(a, temp, err)
	}, nil
}

func callPacked(f Packed, a *callbacks.Args, typed bool) error {
	args := make([]Any, a.Len())
	for i := range args {
		var err error
		if args[i], err = codec.LendAny[Any](a.Value(i), objects.ReadBorrowed(a)); err != nil {
			return a.InArgument(i, err)
		}
	}
	result, err := f(args)
	if err != nil {
		return err
	}
	temp, err := codec.EncodeResult(codec.For[any](), unsafe.Pointer(&result), typed)
	return codec.ReturnTemp(a, temp, err)
}

// funcCodec converts between Functions and Go funcs of type t; nil is None.
func funcCodec(t reflect.Type) *codec.Codec {
	signed := sync.OnceValues(func() (*codec.Signature, error) {
		if codec.IsPacked(t) {
			return &codec.Signature{Fails: true}, nil
		}
		return codec.SignatureOf(t)
	})
	if !codec.Recursive(t) { // a recursive type needs its own codec for the signature
		if _, err := signed(); err != nil {
			return codec.NoCodec(t, failure.Message(err))
		}
	}
	c := &codec.Codec{
		Name: "ffi.Function",
		Decode: func(v abi.Any, from objects.Reading, p unsafe.Pointer) error {
			if v.TypeIndex == abi.TypeNone {
				reflect.NewAt(t, p).Elem().SetZero()
				return nil
			}
			if v.TypeIndex != abi.TypeFunction {
				return codec.WrongType("ffi.Function", v)
			}
			s, err := signed()
			if err != nil {
				return err
			}
			fn := codec.Wrap[*Function](from.WrapFunc(uintptr(v.Bits)))
			made := reflect.MakeFunc(t, func(in []reflect.Value) []reflect.Value { return fn.reflectCall(t, s, in) })
			reflect.NewAt(t, p).Elem().Set(made)
			objects.Bind(codec.Ref(fn), *(*unsafe.Pointer)(p))
			return nil
		},
	}
	return c.Nested(func(p unsafe.Pointer, outer *codec.Nest) (values.AnyView, error) {
		v := reflect.NewAt(t, p).Elem()
		if v.IsNil() {
			return values.AnyView{}, nil
		}
		fn, err := funcOf(v.Interface(), outer.Asked())
		if err != nil {
			return values.AnyView{}, err
		}
		defer fn.Release() // the value has a reference of its own
		objects.IncRef(codec.Ref(fn).Handle())
		return values.AnyView{Value: abi.Any{TypeIndex: abi.TypeFunction, Bits: uint64(codec.Ref(fn).Handle())}, Owned: true}, nil
	})
}

// reflectCall calls the function with the parameters of the Go func type t.
func (f *Function) reflectCall(t reflect.Type, s *codec.Signature, in []reflect.Value) []reflect.Value {
	out := make([]reflect.Value, t.NumOut())
	for i := range out {
		out[i] = reflect.Zero(t.Out(i))
	}
	if s.Rest != nil {
		rest := in[len(in)-1]
		in = slices.Clip(in[:len(in)-1])
		for i := range rest.Len() {
			in = append(in, rest.Index(i))
		}
	}
	v, err := f.apply(len(in), func(i int) (values.AnyView, error) {
		p := reflect.New(codec.ArgumentType(t, i))
		p.Elem().Set(in[i])
		temp, err := codec.EncodeArgument(s.Codec(i), p.UnsafePointer(), true)
		return temp, failure.Annotate("argument "+codec.Itoa(i), err)
	})
	if err == nil {
		if s.Result != nil {
			err = s.UnpackResults(v, out)
		}
		codec.Release(v)
	}
	if err != nil {
		if !s.Fails {
			panic(err)
		}
		out[len(out)-1] = reflect.ValueOf(&err).Elem()
	}
	return out
}

// boundTo returns the Function from which a func was made, or nil.
func boundTo(v reflect.Value) *Function {
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return codec.Wrap[*Function](objects.Bound(*(*unsafe.Pointer)(p.UnsafePointer())))
}

// RetainFunc returns a func that calls the same Function as f, a Go func that was an argument
// of a callback or of an exported func, and that does not end with the call. The garbage
// collector releases the Function when nobody has the result. Any other func is returned as
// it is, and so is nil. RetainFunc panics with an *Error if f has ended, or if F is not a func
// type: [Retain] keeps objects.
func RetainFunc[F any](f F) F {
	t := reflect.TypeFor[F]()
	if t.Kind() != reflect.Func {
		panic(failure.Errorf(failure.KindType, "retain: %s is not a func type: use Retain for objects", t))
	}
	closure := *(*unsafe.Pointer)(unsafe.Pointer(&f)) // a func is the address of its closure
	if closure == nil {
		return f
	}
	o := objects.Bound(closure)
	if o == nil || !o.Lent() {
		return f
	}
	handle := o.Hold()
	if handle == 0 {
		why, _ := o.Ended()
		panic(failure.Errorf(failure.KindRuntime, "retain: the func %s", why))
	}
	defer objects.DecRef(handle)
	if kept := objects.RetainFunc(closure, handle); kept != nil {
		return *(*F)(unsafe.Pointer(&kept))
	}
	if err := codec.For[F]().Decode(abi.Any{TypeIndex: abi.TypeFunction, Bits: uint64(handle)}, objects.ReadOwned(), unsafe.Pointer(&f)); err != nil {
		panic(err)
	}
	return f
}

// Doc sets the doc comment that other languages see.
func Doc(text string) RegisterOption { return func(c *codec.Registration) { c.Doc = text } }
