package define

import (
	"reflect"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// TypeField accesses one field of a type made in Go.
type TypeField[T, V any] struct{ f *fieldHandle }

// FieldOf returns the field of a type that the func points to:
//
//	var pointX = define.FieldOf(PointType, func(p *Point) *int64 { return &p.X })
//
//	x := pointX.Get(p)
//	err := pointX.Set(p, 4)
//
// The fields of parents made in Go count as fields of the type. The first use finds the field,
// and panics if the func points to anything but a field with a tag.
func FieldOf[T, V any](t *Type[T], field func(*T) *V) TypeField[T, V] {
	record := new(T)
	at := uintptr(unsafe.Pointer(field(record))) - uintptr(unsafe.Pointer(record))
	return TypeField[T, V]{&fieldHandle{d: t.d, at: at, value: reflect.TypeFor[V]()}}
}

// Get returns the value of the field. An object has its own reference, which the caller releases,
// as from a generated type; objects inside a slice, a map or a struct are left to the collector.
// It panics with an *[tvmffi.Error] if x is nil or was released.
func (f TypeField[T, V]) Get(x *Instance[T]) V {
	r, o := f.f.find(), codec.Ref(x)
	handle := f.f.object(o)
	if r.plain() {
		v := *capi.PointerTo[V](handle + uintptr(r.Offset))
		runtime.KeepAlive(o)
		return v
	}
	v := new(V)
	err := r.load(handle, r.reading(), unsafe.Pointer(v))
	runtime.KeepAlive(o)
	if err != nil {
		panic(err)
	}
	return *v
}

// Set sets the field. A value that the field cannot hold is an error; the field is then
// unchanged.
func (f TypeField[T, V]) Set(x *Instance[T], value V) error {
	r, o := f.f.find(), codec.Ref(x)
	handle, err := f.f.d.check(o)
	if err != nil {
		return err
	}
	if r.Flags&abi.FieldWritable == 0 {
		return failure.Errorf(failure.KindAttr, "field %s is read-only", r)
	}
	p := new(V)
	*p = value
	v, err := r.encode(unsafe.Pointer(p), nil)
	if err != nil {
		return failure.Annotate(f.f.d.key, err)
	}
	codec.Release(r.put(handle, v))
	runtime.KeepAlive(o)
	return nil
}

// fieldHandle is a field that FieldOf names, found at first use.
type fieldHandle struct {
	d     *definition
	at    uintptr
	value reflect.Type
	found atomic.Pointer[recordField]
}

func (h *fieldHandle) find() *recordField {
	if f := h.found.Load(); f != nil {
		return f
	}
	if err := h.d.register(); err != nil {
		panic(err)
	}
	for _, f := range h.d.layout.fields {
		if f.at == h.at && f.goType == h.value {
			h.found.Store(f)
			return f
		}
	}
	panic(failure.Errorf(failure.KindAttr, "%s: the func of FieldOf must return a pointer to a field with a tag", h.d.key))
}

// object returns the handle of an object whose field is used. It panics: a nil or
// released object is a mistake of the programmer.
func (h *fieldHandle) object(o *objects.Object) uintptr {
	handle, err := h.d.check(o)
	if err != nil {
		panic(err)
	}
	return handle
}
