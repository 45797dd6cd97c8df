package fields

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/registry"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// Field is a field of an object type that generated code reads and writes,
// resolved on first use.
type Field struct {
	Owner *Type
	Name  string
	// Sig is the canonical text of the type that the bindings were generated from.
	Sig string
	// Bits says that an int of Go is the bits of a uint64, so that one below 0 is a number beyond int64.
	Bits bool

	// fast is the offset and, in the upper half, the encoding of a field that can be
	// read from memory.
	fast   atomic.Uint64
	reader atomic.Pointer[Reader]
}

// String returns the type key and the name of the field.
func (f *Field) String() string { return f.Owner.Key + "." + f.Name }

// Info returns a copy of the registry entry of the field.
func (f *Field) Info() (*abi.FieldInfo, error) {
	r, err := f.find()
	if err != nil {
		return nil, err
	}
	return r.Info, nil
}

// Getting returns how calls of the getter cross, which tests of light calls look at.
func (f *Field) Getting() (*ccall.Way, error) {
	r, err := f.find()
	if err != nil {
		return nil, err
	}
	return &r.getting, nil
}

// find returns the reader of the field.
func (f *Field) find() (*Reader, error) {
	if r := f.reader.Load(); r != nil {
		return r, nil
	}
	owner, err := f.Owner.Info()
	if err != nil {
		return nil, err
	}
	info := capi.FieldNamed(owner, f.Name)
	if info == nil {
		d := &Difference{Item: f.String(), Want: f.Sig, Got: "no such field"}
		return nil, Differs(failure.KindAttr, d.Item+": no such field: "+f.Owner.Library.Lacks(), d)
	}
	if err := CheckSignature(f.String(), f.Sig, capi.GoString(info.Metadata)); err != nil {
		return nil, err
	}
	r := NewReader(info, f.Sig)
	if f.Bits && r.encoding == encodingUint64 {
		r.encoding, r.cuts = encodingInt64, 0
	}
	// Store fast before reader: a goroutine that sees reader must see fast.
	f.fast.Store(uint64(info.Offset) | uint64(r.encoding)<<32)
	f.reader.Store(&r)
	return &r, nil
}

// resolve returns the reader of the field and checks the object. It panics: a nil
// or released receiver of a getter is a mistake of the programmer.
func (f *Field) resolve(o *objects.Object) *Reader {
	if o.Handle() == 0 {
		panic(failure.NoReceiver(failure.KindRuntime, "field "+f.String(), o))
	}
	r, err := f.find()
	if err != nil {
		panic(err)
	}
	return r
}

// Int reads an int field.
func (f *Field) Int(o *objects.Object) int64 {
	if w := f.fast.Load(); o != nil && o.Addr() != 0 && fieldEncoding(w>>32) == encodingInt64 {
		v := *capi.PointerTo[int64](o.Addr() + uintptr(uint32(w)))
		runtime.KeepAlive(o)
		return v
	}
	return f.otherInt(o)
}

func (f *Field) otherInt(o *objects.Object) int64 {
	v := f.Get(o)
	if v.TypeIndex != abi.TypeInt {
		panic(f.mismatch(v, "int"))
	}
	return int64(v.Bits)
}

// mismatch reports a value of the wrong type, which is owned, and releases it.
func (f *Field) mismatch(v abi.Any, want string) error {
	defer objects.ReleaseValue(v)
	err := failure.Errorf(failure.KindType, "expected %s, got %s", want, capi.KeyOf(v.TypeIndex))
	return failure.Errorf(failure.KindType, "%s: result: %w", f, err)
}

// Float reads a float field.
func (f *Field) Float(o *objects.Object) float64 {
	if w := f.fast.Load(); o != nil && o.Addr() != 0 && fieldEncoding(w>>32) == encodingFloat64 {
		v := *capi.PointerTo[float64](o.Addr() + uintptr(uint32(w)))
		runtime.KeepAlive(o)
		return v
	}
	return f.otherFloat(o)
}

func (f *Field) otherFloat(o *objects.Object) float64 {
	v := f.Get(o)
	if n := int64(v.Bits); v.TypeIndex == abi.TypeInt && !wholeFloat(n) {
		panic(failure.Errorf(failure.KindType, "%s: result: the int %d is not a float64, which would be %.0f: read it as an int", f, n, float64(n)))
	}
	v, ok := values.Convert(v, abi.TypeFloat)
	if !ok {
		panic(f.mismatch(v, "float"))
	}
	return math.Float64frombits(v.Bits)
}

// wholeFloat reports whether an int is a float64.
func wholeFloat(n int64) bool {
	x := float64(n)
	return x < 1<<63 && int64(x) == n
}

// Bool reads a bool field.
func (f *Field) Bool(o *objects.Object) bool {
	if w := f.fast.Load(); o != nil && o.Addr() != 0 && fieldEncoding(w>>32) == encodingBool {
		v := *capi.PointerTo[uint8](o.Addr() + uintptr(uint32(w)))
		runtime.KeepAlive(o)
		return v != 0
	}
	return f.otherBool(o)
}

func (f *Field) otherBool(o *objects.Object) bool {
	v := f.Get(o)
	if v.TypeIndex != abi.TypeBool {
		panic(f.mismatch(v, "bool"))
	}
	return v.Bits != 0
}

// Text reads a string field, as a copy.
func (f *Field) Text(o *objects.Object) string {
	r := f.resolve(o)
	defer runtime.KeepAlive(o)
	if r.encoding == encodingString {
		switch v := capi.PointerTo[abi.Any](o.Addr() + r.offset); v.TypeIndex {
		case abi.TypeSmallStr:
			return string((*[8]byte)(unsafe.Pointer(&v.Bits))[:v.Small])
		case abi.TypeStr:
			return capi.GoString(*capi.PointerTo[abi.ByteArray](uintptr(v.Bits) + abi.ObjectSize))
		}
	}
	v := f.Get(o)
	switch v.TypeIndex {
	case abi.TypeSmallStr:
		return string((*[8]byte)(unsafe.Pointer(&v.Bits))[:v.Small])
	case abi.TypeStr:
		return objects.TakeString(v)
	}
	panic(f.mismatch(v, "ffi.String"))
}

// Get reads a field of any type as an owned value. It panics like the other
// readers.
func (f *Field) Get(o *objects.Object) abi.Any {
	v, owned, err := f.resolve(o).Peek(o.Addr())
	if err != nil {
		panic(err)
	}
	if !owned {
		v = objects.Share(v)
	}
	runtime.KeepAlive(o)
	return v
}

// Object reads an object field of type t; None is nil.
func (f *Field) Object(o *objects.Object, t *Type) *objects.Object {
	v := f.Get(o)
	if v.TypeIndex == abi.TypeNone {
		return nil
	}
	if v.TypeIndex.IsObject() {
		ok, err := t.Accepts(v.TypeIndex)
		if err != nil {
			objects.ReleaseValue(v)
			panic(err)
		}
		if ok {
			return objects.Own(uintptr(v.Bits))
		}
	}
	panic(f.mismatch(v, t.Key))
}

// Set writes a field. A number that the field cannot hold is an error, and the
// field keeps its value: the setter of the library would cut it silently.
func (f *Field) Set(o *objects.Object, t values.AnyView, err error) error {
	return f.set(o, t, err, abi.FieldWritable)
}

// Init is Set for an object that nobody else has yet, such as a copy: its
// read-only fields may be written too.
func (f *Field) Init(o *objects.Object, t values.AnyView, err error) error {
	return f.set(o, t, err, 0)
}

// set writes a field that has the flags in need.
func (f *Field) set(o *objects.Object, t values.AnyView, err error, need int64) error {
	if err != nil {
		return failure.Annotate("field "+f.String(), err)
	}
	defer runtime.KeepAlive(t.Keep)
	if t.Owned && t.Value.TypeIndex.IsObject() {
		defer objects.DecRef(uintptr(t.Value.Bits))
	}
	if err := t.CheckEscape(); err != nil {
		return failure.Errorf(failure.KindRuntime, "field %s: %w", f, err)
	}
	if o.Handle() == 0 {
		return failure.NoReceiver(failure.KindRuntime, "field "+f.String(), o)
	}
	r, err := f.find()
	if err != nil {
		return err
	}
	info := r.Info
	if info.Flags&need != need {
		return failure.Errorf(failure.KindAttr, "field %s is read-only", f)
	}
	write := func(v abi.Any) error {
		err := r.write(o, v)
		if err != nil && need != 0 { // a constructor names the field itself
			err = failure.Annotate("field "+f.String(), err)
		}
		return err
	}
	if err := f.Fits(t.Value); err != nil {
		return err
	}
	if !r.cutsSilently(t.Value) {
		return write(t.Value)
	}
	return f.setNarrow(o, r, t.Value, write)
}

// setNarrow writes a number to a field whose setter may change it, and restores the field
// if it did.
func (f *Field) setNarrow(o *objects.Object, r *Reader, v abi.Any, write func(abi.Any) error) error {
	defer runtime.KeepAlive(o)
	before, err := r.get(o.Addr() + r.offset)
	if err != nil {
		return err
	}
	defer objects.ReleaseValue(before)
	if err := write(v); err != nil {
		return err
	}
	if err := f.Holds(o.Addr(), v); err != nil {
		if failed := write(before); failed != nil {
			return failed
		}
		return err
	}
	return nil
}

// Fits returns an error if v is a number that the field can never hold. Holds finds the
// others.
func (f *Field) Fits(v abi.Any) error {
	r, err := f.find()
	if err != nil || !r.mayCut(v) || r.cuts&cutsUnknown != 0 {
		return err
	}
	x, bits := int64(v.Bits), uint(8*r.number)
	if r.cuts&cutsSign != 0 || v.TypeIndex == abi.TypeFloat || x < -1<<(bits-1) || x >= 1<<bits {
		return f.cut(r, v)
	}
	return nil
}

// Holds returns an error if the live object at handle, whose field was set to v, has
// another number there.
func (f *Field) Holds(handle uintptr, v abi.Any) error {
	r, err := f.find()
	if err != nil || !r.cutsSilently(v) {
		return err
	}
	got, err := r.get(handle + r.offset)
	if err != nil {
		return err
	}
	defer objects.ReleaseValue(got)
	if got.TypeIndex != v.TypeIndex || got.Bits == v.Bits { // another type: the field converts
		return nil
	}
	if r.cuts&cutsUnknown == 0 {
		return f.cut(r, v)
	}
	return stores(f.String(), v, got)
}

// cut is the error of a number that does not fit.
func (f *Field) cut(r *Reader, v abi.Any) error { return r.cut(f.String(), v) }

// write calls the setter.
func (r *Reader) write(o *objects.Object, v abi.Any) error {
	err := r.setAt(o.Addr()+r.offset, v)
	runtime.KeepAlive(o)
	return err
}

// setAt calls the setter, which is a C function or a Function object, for a field at an address.
func (r *Reader) setAt(at uintptr, v abi.Any) error {
	info := r.Info
	var frame struct {
		head  ccall.Head
		block [2]abi.Any
	}
	frame.head = ccall.Head{Fn: info.Setter, Handle: at, Units: 1}
	frame.block[0] = v
	if info.Flags&abi.FieldSetterIsFunction != 0 {
		frame.head = ccall.Head{Fn: capi.API.FunctionCall, Handle: info.Setter, N: 2, Units: 2}
		frame.block[0] = abi.Any{TypeIndex: abi.TypeOpaquePtr, Bits: uint64(at)}
		frame.block[1] = v
	}
	r.setting.Cross(&frame.head)
	if frame.head.RC != 0 {
		return failure.OfCall(frame.head.Failure())
	}
	return nil
}

// fieldKey names a field of a type that is known at run time.
type fieldKey struct {
	index abi.TypeIndex
	name  string
}

var dynamicFields sync.Map // fieldKey -> *Field

// Of returns the field of a name of a type or of its ancestors, nil if there
// is none. index must belong to a live object.
func Of(index abi.TypeIndex, name string) *Field {
	key := fieldKey{index, name}
	if f, ok := dynamicFields.Load(key); ok {
		return f.(*Field)
	}
	f := findField(index, name)
	if f != nil { // a library may add it later
		dynamicFields.Store(key, f)
	}
	return f
}

func findField(index abi.TypeIndex, name string) *Field {
	info := capi.InfoOf(index)
	if info == nil {
		return nil
	}
	for depth := info.Depth; ; depth-- {
		if f := capi.FieldNamed(info, name); f != nil {
			sig, _ := registry.Signature(capi.GoString(f.Metadata)) // with a flaw only the getter reads it
			return &Field{Owner: &Type{Key: capi.GoString(info.Key)}, Name: name, Sig: sig}
		}
		if depth == 0 {
			return nil
		}
		info = capi.Ancestor(capi.InfoOf(index), depth-1)
	}
}
