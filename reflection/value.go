package reflection

import (
	"iter"
	"runtime"

	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// keepTemp keeps what a packed value refers to alive until here.
func keepTemp(t values.AnyView) { runtime.KeepAlive(t.Keep) }

// keep keeps the object that o refers to alive until here.
func keep(o *objects.Object) { runtime.KeepAlive(o) }

// Value gives access to an object's fields and methods by name. It shares the reference
// that it was made from. The zero Value is None.
type Value struct{ ref tvmffi.ObjectRef }

// ValueOf returns the Value of an object of any type.
func ValueOf(x tvmffi.ObjectRef) Value { return Value{x} }

// IsValid reports whether v is an object: neither None nor released.
func (v Value) IsValid() bool { return stateOf(v.ref).Handle() != 0 }

// Type returns the dynamic type of the object; nil if v is not valid.
func (v Value) Type() *Type { return TypeOf(v.ref) }

// Ref returns the reference that v was made from.
func (v Value) Ref() tvmffi.ObjectRef { return v.ref }

// String returns the text that the library prints for the object.
func (v Value) String() string {
	o := stateOf(v.ref)
	if o == nil {
		return "None"
	}
	return wrap(o).String()
}

// field finds a field of the object.
func (v Value) field(name string) (*Field, error) {
	t := v.Type()
	if t == nil {
		return nil, noObject(stateOf(v.ref), "field "+name)
	}
	return t.FieldByName(name)
}

// Get reads a field. An object in it gets its own reference. The error is of kind
// ErrAttribute if there is no such field.
func (v Value) Get(name string) (tvmffi.Any, error) {
	f, err := v.field(name)
	if err != nil {
		return tvmffi.Any{}, err
	}
	return f.Get(v.ref)
}

// Get reads the field with the given name. Its value must be a T.
func Get[T any](x tvmffi.ObjectRef, name string) (T, error) {
	f, err := ValueOf(x).field(name)
	if err != nil {
		var none T
		return none, err
	}
	return GetAs[T](f, x)
}

// Set writes a field; see [Field.Set].
func (v Value) Set(name string, x any) error {
	f, err := v.field(name)
	if err != nil {
		return err
	}
	return f.Set(v.ref, x)
}

// Call calls a method, which may be static; see [Method.Call].
func (v Value) Call(method string, args ...any) (tvmffi.Any, error) {
	t := v.Type()
	if t == nil {
		return tvmffi.Any{}, noObject(stateOf(v.ref), "method "+method)
	}
	m, err := t.MethodByName(method)
	if err != nil {
		return tvmffi.Any{}, err
	}
	return m.Call(v.ref, args...)
}

// Fields ranges over the fields of the object with their values, the root type's first,
// like TVM's attribute visitor. A switch over the type of [tvmffi.Any.Value]
// distinguishes the kinds. An object is borrowed until the next step; [tvmffi.Retain]
// keeps it. It panics with an *Error if v is not valid, or if a getter fails.
func (v Value) Fields() iter.Seq2[*Field, tvmffi.Any] {
	return func(yield func(*Field, tvmffi.Any) bool) {
		o := stateOf(v.ref)
		if o.Handle() == 0 {
			panic(noObject(o, "fields"))
		}
		var loan objects.BorrowScope
		for _, f := range typeOf(o.TypeIndex()).load().fields {
			if o.Handle() == 0 {
				panic(noObject(o, "field "+f.String())) // released by the loop
			}
			x, err := f.read(o)
			if err != nil {
				panic(err)
			}
			more := func() bool {
				defer objects.ReleaseValue(x)
				defer loan.End()
				return yield(f, lendAny(x, objects.ReadBorrowed(&loan)))
			}()
			if !more {
				return
			}
		}
	}
}
