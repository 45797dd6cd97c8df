package reflection

import (
	"math"
	"sync/atomic"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
	"github.com/tvmffi-go/tvmffi/schema"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Field is a field of a type. It is found once, by [Type.FieldByName], and then
// reads the objects of that type, and of those derived from it, about as fast as
// generated code.
//
// Int, Float, Bool and Text return plain values and panic with an *Error that
// names the field if the object is nil, was released or has no such field, or if
// the field holds something else; Get, GetAs and Set return errors. Float also reads a bool, and an int
// that is a float64.
type Field struct {
	owner  *Type
	name   string
	info   abi.FieldInfo
	meta   schema.Metadata
	field  fields.Field
	reader fields.Reader
	// known is the type index of the last object that was seen to have the field.
	known atomic.Int32
}

func newField(owner *Type, info abi.FieldInfo) *Field {
	f := &Field{owner: owner, name: capi.GoString(info.Name), info: info}
	f.meta, _ = schema.ParseMetadata(capi.GoString(info.Metadata)) // with a flaw only the getter reads it
	sig := ""
	if f.meta.HasType {
		sig = f.meta.Type.String()
	}
	f.field.Owner, f.field.Name, f.field.Sig = &fields.Type{Key: owner.key}, f.name, sig
	f.reader = fields.NewReader(&f.info, sig)
	f.known.Store(int32(owner.info.TypeIndex))
	return f
}

// String returns the type key and the name of the field.
func (f *Field) String() string { return f.owner.key + "." + f.name }

// Name returns the name of the field.
func (f *Field) Name() string { return f.name }

// Owner returns the type that defines the field.
func (f *Field) Owner() *Type { return f.owner }

// Doc returns the documentation of the field.
func (f *Field) Doc() string { return capi.GoString(f.info.Doc) }

// Type returns the declared type of the field, as the registry spells it: int,
// ffi.Array<ffi.String>; Any if it is unknown.
func (f *Field) Type() schema.TypeSchema {
	if !f.meta.HasType {
		return schema.TypeSchema{Name: "Any"}
	}
	return f.meta.Type
}

// Metadata returns the library's metadata of the field except its type: values are bool,
// int64, float64 or string.
func (f *Field) Metadata() map[string]any { return f.meta.Extra }

// Flags returns the flags of the field.
func (f *Field) Flags() schema.Flags { return schema.Flags(f.info.Flags) }

// Offset returns where the field lies in the object, in bytes from its header.
func (f *Field) Offset() int { return int(f.info.Offset) }

// Size returns the size of the field in bytes: an int may have 1, 2, 4 or 8.
func (f *Field) Size() int { return int(f.info.Size) }

// Alignment returns the alignment of the field in bytes.
func (f *Field) Alignment() int { return int(f.info.Alignment) }

// Writable reports whether Set may write the field.
func (f *Field) Writable() bool { return f.info.Flags&abi.FieldWritable != 0 }

// HasDefault reports whether a constructor may leave the field out.
func (f *Field) HasDefault() bool {
	return f.info.Flags&(abi.FieldHasDefault|abi.FieldDefaultFromFactory) != 0
}

// Default returns the default of the field. If a factory makes it, the factory is
// called each time. The error is of kind ErrAttribute if there is none.
func (f *Field) Default() (tvmffi.Any, error) {
	if !f.HasDefault() {
		return tvmffi.Any{}, errorf(failure.KindAttr, "field %s has no default", f)
	}
	v, err := fields.Default(&f.info)
	if err != nil {
		return tvmffi.Any{}, f.failed(err)
	}
	return takeAny(v), nil
}

// KwOnly reports whether an automatic constructor takes the field by name only.
func (f *Field) KwOnly() bool { return f.info.Flags&abi.FieldKwOnly != 0 }

// InInit reports whether an automatic constructor takes the field.
func (f *Field) InInit() bool { return f.info.Flags&abi.FieldInitOff == 0 }

// failed adds the name of the field to an error of the library.
func (f *Field) failed(err error) error {
	return errorf(kindOf(err), "field %s: %w", f, err)
}

// kindOf returns the kind of an error.
func kindOf(err error) string {
	if e, ok := err.(*tvmffi.Error); ok {
		return e.Kind
	}
	return failure.KindRuntime
}

// state returns the state of an object that has the field, or nil.
func (f *Field) state(x tvmffi.ObjectRef) *objects.Object {
	var o *objects.Object
	if p, ok := x.(*tvmffi.Object); ok { // as when nothing was generated
		o = objects.StateAt(p)
	} else {
		o = stateOf(x)
	}
	if o.Handle() != 0 && (int32(o.TypeIndex()) == f.known.Load() || f.accepts(o)) {
		return o
	}
	return nil
}

// accepts remembers the type of an object that has the field.
func (f *Field) accepts(o *objects.Object) bool {
	if !capi.Derives(o.TypeIndex(), f.owner.info) {
		return false
	}
	f.known.Store(int32(o.TypeIndex()))
	return true
}

// refuse panics with the reason why state returned nil.
//
//go:noinline
func (f *Field) refuse(x tvmffi.ObjectRef) { panic(check(x, f.owner, "field "+f.String())) }

// Int reads an int field.
func (f *Field) Int(x tvmffi.ObjectRef) int64 {
	o := f.state(x)
	if o == nil {
		f.refuse(x)
	}
	return f.field.Int(o)
}

// Float reads a float field.
func (f *Field) Float(x tvmffi.ObjectRef) float64 {
	o := f.state(x)
	if o == nil {
		f.refuse(x)
	}
	return f.field.Float(o)
}

// Bool reads a bool field.
func (f *Field) Bool(x tvmffi.ObjectRef) bool {
	o := f.state(x)
	if o == nil {
		f.refuse(x)
	}
	return f.field.Bool(o)
}

// Text reads a string field, as a copy.
func (f *Field) Text(x tvmffi.ObjectRef) string {
	o := f.state(x)
	if o == nil {
		f.refuse(x)
	}
	return f.field.Text(o)
}

// Get reads the field. An object in it gets its own reference.
func (f *Field) Get(x tvmffi.ObjectRef) (tvmffi.Any, error) {
	o := f.state(x)
	if o == nil {
		return tvmffi.Any{}, check(x, f.owner, "field "+f.String())
	}
	v, err := f.read(o)
	if err != nil {
		return tvmffi.Any{}, err
	}
	return takeAny(v), nil
}

// read reads the field as an owned value.
func (f *Field) read(o *objects.Object) (abi.Any, error) {
	v, owned, err := f.reader.Peek(o.Handle())
	if err != nil {
		return abi.Any{}, f.failed(err)
	}
	if err := values.Known(v); err != nil {
		return abi.Any{}, f.failed(err)
	}
	if !owned {
		v = objects.Share(v)
	}
	keep(o)
	return v, nil
}

// GetAs reads a field as a T, which the value must be: an int is not a float, and a float32 is the nearest one. An object
// gets its own reference.
func GetAs[T any](f *Field, x tvmffi.ObjectRef) (T, error) {
	var none T
	o := f.state(x)
	if o == nil {
		return none, check(x, f.owner, "field "+f.String())
	}
	v, err := f.read(o)
	if err != nil {
		return none, err
	}
	switch p := any(&none).(type) { // what is most frequent
	case *int64:
		if v.TypeIndex == abi.TypeInt {
			*p = int64(v.Bits)
			return none, nil
		}
	case *float64:
		if v.TypeIndex == abi.TypeFloat {
			*p = math.Float64frombits(v.Bits)
			return none, nil
		}
	case *bool:
		if v.TypeIndex == abi.TypeBool {
			*p = v.Bits != 0
			return none, nil
		}
	}
	result, err := codec.Decode[T](v)
	objects.ReleaseValue(v)
	if err != nil {
		return none, f.failed(err)
	}
	return result, nil
}

// Set writes the field. The library converts v, for example an int to a float, or returns
// an error with the expected type. The error is of kind ErrAttribute if the field is
// read-only and of kind ErrValue if it is too narrow for the number, or has no sign and the number is
// below 0; then nothing changes.
func (f *Field) Set(x tvmffi.ObjectRef, v any) error {
	o := f.state(x)
	if o == nil {
		return check(x, f.owner, "field "+f.String())
	}
	t, err := codec.Encode(v)
	return f.field.Set(o, t, err)
}
