package core

import (
	"math"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// Field is a field of an object type that generated code reads and writes,
// resolved on first use.
type Field struct {
	Owner *Type
	Name  string
	// Sig is the canonical text of the type that the bindings were generated from.
	Sig string

	// fast is the offset and, in the upper half, the form of a field that can be
	// read from memory.
	fast atomic.Uint64
	info atomic.Pointer[abi.FieldInfo]
}

// form says what the bytes of a field are, where reflection makes that certain.
type form uint32

const (
	formUnknown form = iota
	formGetter       // only the getter knows
	formInt64
	formFloat64
	formFloat32
	formBool
	formString
	formObject
	formDataType
	formDevice
	formNarrowInt // 1, 2 or 4 bytes; signed and unsigned look alike
)

// String returns the type key and the name of the field.
func (f *Field) String() string { return f.Owner.Key + "." + f.Name }

// Info returns a copy of the reflection entry of the field.
func (f *Field) Info() (*abi.FieldInfo, error) {
	if info := f.info.Load(); info != nil {
		return info, nil
	}
	owner, err := f.Owner.Info()
	if err != nil {
		return nil, err
	}
	info := capi.FieldNamed(owner, f.Name)
	if info == nil {
		return nil, failure.Errorf(failure.KindAttr, "%s: no such field: %s", f, f.Owner.Library.lacks())
	}
	if err := checkSignature(f.String(), f.Sig, capi.Text(info.Metadata)); err != nil {
		return nil, err
	}
	// Whoever finds info must find fast too.
	f.fast.Store(uint64(info.Offset) | uint64(formOf(f.Sig, info))<<32)
	f.info.Store(info)
	return info, nil
}

func formOf(sig string, info *abi.FieldInfo) form {
	switch size := info.Size; {
	case info.Offset < abi.ObjectSize || info.Offset > math.MaxInt32:
		return formGetter
	case sig == "int" && size == 8:
		return formInt64
	case sig == "int" && (size == 1 || size == 2 || size == 4):
		return formNarrowInt
	case sig == "float" && size == 8:
		return formFloat64
	case sig == "float" && size == 4:
		return formFloat32
	case sig == "bool" && size == 1:
		return formBool
	case sig == "ffi.String" && size == 16:
		return formString
	case sig == "DataType" && size == 4:
		return formDataType
	case sig == "Device" && size == 8:
		return formDevice
	case size == 8 && info.StaticTypeIndex.IsObject():
		return formObject
	}
	return formGetter
}

// resolve returns the form of the field and checks the object. It panics: a nil
// or released receiver of a getter is a mistake of the programmer.
func (f *Field) resolve(o *objects.Object) (*abi.FieldInfo, form) {
	if o.Handle() == 0 {
		panic(NoReceiver(failure.KindRuntime, "field "+f.String(), o))
	}
	info, err := f.Info()
	if err != nil {
		panic(err)
	}
	return info, form(f.fast.Load() >> 32)
}

// Int reads an int field.
func (f *Field) Int(o *objects.Object) int64 {
	if w := f.fast.Load(); o != nil && o.Addr() != 0 && form(w>>32) == formInt64 {
		v := *capi.At[int64](o.Addr() + uintptr(uint32(w)))
		runtime.KeepAlive(o)
		return v
	}
	return f.otherInt(o)
}

func (f *Field) otherInt(o *objects.Object) int64 {
	info, how := f.resolve(o)
	defer runtime.KeepAlive(o)
	at := o.Addr() + uintptr(info.Offset)
	switch {
	case how == formInt64:
		return *capi.At[int64](at)
	case how == formNarrowInt && info.Size == 4 && *capi.At[int32](at) >= 0:
		return int64(*capi.At[int32](at))
	case how == formNarrowInt && info.Size == 2 && *capi.At[int16](at) >= 0:
		return int64(*capi.At[int16](at))
	case how == formNarrowInt && info.Size == 1 && *capi.At[int8](at) >= 0:
		return int64(*capi.At[int8](at))
	}
	c := Call{head: ccall.Head{Res: f.mustGet(o)}, fn: f.asFunc()}
	v, err := c.IntResult()
	if err != nil {
		panic(err)
	}
	return v
}

// asFunc names the field in the errors of result methods.
func (f *Field) asFunc() *Func { return &Func{Owner: f.Owner, Name: f.Name} }

// Float reads a float field.
func (f *Field) Float(o *objects.Object) float64 {
	if w := f.fast.Load(); o != nil && o.Addr() != 0 && form(w>>32) == formFloat64 {
		v := *capi.At[float64](o.Addr() + uintptr(uint32(w)))
		runtime.KeepAlive(o)
		return v
	}
	return f.otherFloat(o)
}

func (f *Field) otherFloat(o *objects.Object) float64 {
	info, how := f.resolve(o)
	defer runtime.KeepAlive(o)
	switch how {
	case formFloat64:
		return *capi.At[float64](o.Addr() + uintptr(info.Offset))
	case formFloat32:
		return float64(*capi.At[float32](o.Addr() + uintptr(info.Offset)))
	}
	c := Call{head: ccall.Head{Res: f.mustGet(o)}, fn: f.asFunc()}
	v, err := c.FloatResult()
	if err != nil {
		panic(err)
	}
	return v
}

// Bool reads a bool field.
func (f *Field) Bool(o *objects.Object) bool {
	if w := f.fast.Load(); o != nil && o.Addr() != 0 && form(w>>32) == formBool {
		v := *capi.At[uint8](o.Addr() + uintptr(uint32(w)))
		runtime.KeepAlive(o)
		return v != 0
	}
	return f.otherBool(o)
}

func (f *Field) otherBool(o *objects.Object) bool {
	info, how := f.resolve(o)
	defer runtime.KeepAlive(o)
	if how == formBool {
		return *capi.At[uint8](o.Addr() + uintptr(info.Offset)) != 0
	}
	c := Call{head: ccall.Head{Res: f.mustGet(o)}, fn: f.asFunc()}
	v, err := c.BoolResult()
	if err != nil {
		panic(err)
	}
	return v
}

// Text reads a string field, as a copy.
func (f *Field) Text(o *objects.Object) string {
	info, how := f.resolve(o)
	defer runtime.KeepAlive(o)
	if how == formString {
		at := o.Addr() + uintptr(info.Offset)
		switch v := capi.At[abi.Any](at); v.TypeIndex {
		case abi.TypeSmallStr:
			return string((*[8]byte)(unsafe.Pointer(&v.Bits))[:v.Small])
		case abi.TypeStr:
			return capi.Text(*capi.At[abi.ByteArray](uintptr(v.Bits) + abi.ObjectSize))
		}
	}
	c := Call{head: ccall.Head{Res: f.mustGet(o)}, fn: f.asFunc()}
	v, err := c.StringResult()
	if err != nil {
		panic(err)
	}
	return v
}

// Get reads a field of any type as an owned value. It panics as the other
// readers do.
func (f *Field) Get(o *objects.Object) abi.Any {
	info, how := f.resolve(o)
	defer runtime.KeepAlive(o)
	at := o.Addr() + uintptr(info.Offset)
	switch how {
	case formObject:
		handle := *capi.At[uintptr](at)
		if handle == 0 {
			return abi.Any{}
		}
		objects.IncRef(handle)
		return abi.Any{TypeIndex: capi.At[abi.Object](handle).TypeIndex, Bits: uint64(handle)}
	case formDataType:
		return abi.Any{TypeIndex: abi.TypeDataType, Bits: uint64(*capi.At[uint32](at))}
	case formDevice:
		return abi.Any{TypeIndex: abi.TypeDevice, Bits: *capi.At[uint64](at)}
	}
	return f.mustGet(o)
}

func (f *Field) mustGet(o *objects.Object) abi.Any {
	v, err := f.get(o)
	if err != nil {
		panic(err)
	}
	return v
}

// get asks the getter.
func (f *Field) get(o *objects.Object) (abi.Any, error) {
	info, err := f.Info()
	if err != nil {
		return abi.Any{}, err
	}
	v, err := failure.InvokeResult(info.Getter, o.Addr()+uintptr(info.Offset))
	runtime.KeepAlive(o)
	return v, err
}

// Object reads an object field of type t; None is nil.
func (f *Field) Object(o *objects.Object, t *Type) *objects.Object {
	v := f.Get(o)
	if v.TypeIndex.IsObject() && v.Bits != 0 {
		if ok, err := t.Accepts(v.TypeIndex); ok && err == nil {
			return objects.Own(uintptr(v.Bits))
		}
	}
	c := Call{head: ccall.Head{Res: v}, fn: f.asFunc()}
	none, err := c.ObjectResult(t)
	if err != nil {
		panic(err)
	}
	return none
}

// Set writes a field. A number that the field cannot hold is an error, and the
// field keeps its value: the setter of the library would cut it silently.
func (f *Field) Set(o *objects.Object, t Temp, err error) error {
	return f.set(o, t, err, abi.FieldWritable)
}

// Init is Set for an object that nobody else has yet, such as a copy: its
// read-only fields may be written too.
func (f *Field) Init(o *objects.Object, t Temp, err error) error { return f.set(o, t, err, 0) }

// set writes a field that has the flags in need.
func (f *Field) set(o *objects.Object, t Temp, err error, need int64) error {
	if err != nil {
		return failure.Place("field "+f.String(), err)
	}
	defer runtime.KeepAlive(t.Keep)
	if t.Owned && t.Value.TypeIndex.IsObject() {
		defer objects.DecRef(uintptr(t.Value.Bits))
	}
	if err := t.Lasting(); err != nil {
		return failure.Errorf(failure.KindRuntime, "field %s: %w", f, err)
	}
	if o.Handle() == 0 {
		return NoReceiver(failure.KindRuntime, "field "+f.String(), o)
	}
	info, err := f.Info()
	if err != nil {
		return err
	}
	if info.Flags&need != need {
		return failure.Errorf(failure.KindAttr, "field %s is read-only", f)
	}
	how := form(f.fast.Load() >> 32)
	if how == formFloat32 && t.Value.TypeIndex == abi.TypeFloat {
		if v := math.Abs(math.Float64frombits(t.Value.Bits)); v > math.MaxFloat32 && !math.IsInf(v, 0) {
			return failure.Errorf(failure.KindValue, "field %s: %g does not fit a float of 4 bytes", f, math.Float64frombits(t.Value.Bits))
		}
	}
	write := func(v abi.Any) error {
		err := f.write(info, o, v)
		if err != nil && need != 0 { // a constructor names the field itself
			err = failure.Place("field "+f.String(), err)
		}
		return err
	}
	if how != formNarrowInt || t.Value.TypeIndex != abi.TypeInt {
		return write(t.Value)
	}
	v, bits := int64(t.Value.Bits), uint(8*info.Size)
	tooLarge := func() error {
		return failure.Errorf(failure.KindValue, "field %s: %d does not fit an int of %d bytes", f, v, info.Size)
	}
	if v < -1<<(bits-1) || v >= 1<<bits {
		return tooLarge()
	}
	before, err := f.get(o)
	if err != nil {
		return err
	}
	if err := write(t.Value); err != nil {
		return err
	}
	after, err := f.get(o)
	if err != nil {
		return err
	}
	if int64(after.Bits) != v {
		if err := write(before); err != nil {
			return err
		}
		return tooLarge()
	}
	return nil
}

// write calls the setter, which is a C function or a Function object.
func (f *Field) write(info *abi.FieldInfo, o *objects.Object, v abi.Any) error {
	at := o.Addr() + uintptr(info.Offset)
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
	ccall.Call(&frame.head)
	runtime.KeepAlive(o)
	if frame.head.RC != 0 {
		return failure.OfCall(frame.head.RC, frame.head.Err)
	}
	return nil
}
