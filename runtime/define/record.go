package define

import (
	"reflect"
	"runtime"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/defined"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// check returns the handle of an object of the type.
func (d *definition) check(o *objects.Object) (uintptr, error) {
	if o.Handle() == 0 {
		if why, ended := o.Ended(); ended {
			return 0, failure.Errorf(failure.KindRuntime, "%s: the object %s", d.key, why)
		}
		return 0, failure.Errorf(failure.KindType, "%s: the object is nil", d.key)
	}
	// A wrapper of any object may have been made an Instance before the type was
	// registered only if it is one.
	return o.Handle(), d.register()
}

// load reads all fields of an object into the struct, whose objects nobody has to
// release.
func (d *definition) load(o *objects.Object, record reflect.Value) error {
	handle, err := d.check(o)
	if err != nil {
		return err
	}
	err = d.loadFields(handle, objects.ReadCollected().Converting(), record.Addr().UnsafePointer())
	runtime.KeepAlive(o)
	return err
}

func (d *definition) loadFields(handle uintptr, from objects.Reading, p unsafe.Pointer) error {
	for _, f := range d.layout.fields {
		if !f.plain() {
			from = from.Collected() // which may allocate
		}
		if err := f.load(handle, from, f.in(p)); err != nil {
			return failure.Annotate(d.key, err)
		}
	}
	return nil
}

// beginPlain lets plain copy the fields if it can.
func (d *definition) beginPlain() {
	for _, f := range d.layout.fields {
		if !f.plain() {
			return
		}
		d.plain.Add(uintptr(f.Offset), f.at, uintptr(defined.SizeOf(f.Accept.Kind)))
	}
	d.plain.Begin(d.layout.Info.TypeIndex)
}

// encodeFields makes the values of all fields, or of none. The struct at p is inside outer.
func (d *definition) encodeFields(p unsafe.Pointer, outer *codec.Nest) ([]abi.Any, error) {
	values := make([]abi.Any, len(d.layout.fields))
	for i, f := range d.layout.fields {
		v, err := f.encode(f.in(p), outer)
		if err != nil {
			for i, v := range values[:i] {
				d.layout.fields[i].drop(v)
			}
			return nil, failure.Annotate(d.key, err)
		}
		values[i] = v
	}
	return values, nil
}

// store sets all fields of an object.
func (d *definition) store(o *objects.Object, record reflect.Value) error {
	handle, err := d.check(o)
	if err != nil {
		return err
	}
	for _, f := range d.layout.fields {
		if f.Flags&abi.FieldWritable == 0 {
			return failure.Errorf(failure.KindAttr, "field %s is read-only", f)
		}
	}
	values, err := d.encodeFields(record.Addr().UnsafePointer(), nil)
	if err != nil {
		return err
	}
	for i, f := range d.layout.fields {
		values[i] = f.put(handle, values[i])
	}
	for _, old := range values {
		codec.Release(old)
	}
	runtime.KeepAlive(o)
	return nil
}

// make makes an object of the fields in the struct.
func (d *definition) make(record reflect.Value) (*objects.Object, error) {
	handle, err := d.makeAt(record.Addr().UnsafePointer(), nil)
	if err != nil {
		return nil, err
	}
	return objects.Own(handle), nil
}

func (d *definition) makeAt(p unsafe.Pointer, outer *codec.Nest) (uintptr, error) {
	if err := d.register(); err != nil {
		return 0, err
	}
	values, err := d.encodeFields(p, outer)
	if err != nil {
		return 0, err
	}
	handle, err := d.layout.New()
	if err != nil {
		for i, f := range d.layout.fields {
			f.drop(values[i])
		}
		return 0, err
	}
	for i, f := range d.layout.fields {
		f.put(handle, values[i])
	}
	return handle, nil
}

// codec makes the codec of the struct: an object by value. A Map or a Dict is read
// too, as by Unmarshal.
func (d *definition) codec() *codec.Codec {
	entries := sync.OnceValue(func() *codec.Codec { return codec.StructCodec(d.record, codec.TaggedFields(d.record)) })
	encode := func(p unsafe.Pointer, outer *codec.Nest) (values.AnyView, error) {
		handle, err := d.makeAt(p, outer.Apart())
		if err != nil {
			return values.AnyView{}, err
		}
		return values.AnyView{Value: abi.Any{TypeIndex: d.layout.Info.TypeIndex, Bits: uint64(handle)}, Owned: true}, nil
	}
	c := &codec.Codec{
		Name:   d.key,
		Schema: d.key,
		Plain:  &d.plain,
		Encode: func(p unsafe.Pointer) (values.AnyView, error) { return encode(p, nil) },
		Decode: func(v abi.Any, from objects.Reading, p unsafe.Pointer) error {
			if d.plain.Copy(v, p) {
				return nil
			}
			if crossing.ClassOf(v.TypeIndex) == crossing.Mapping {
				return entries().Decode(v, from, p)
			}
			if !v.TypeIndex.IsObject() {
				return codec.WrongType(d.key, v)
			}
			ok, err := d.class.Accepts(v.TypeIndex)
			if err != nil {
				return err
			}
			if !ok {
				return codec.WrongType(d.key, v)
			}
			return d.loadFields(uintptr(v.Bits), from, p)
		},
	}
	for i := range d.record.NumField() {
		switch d.record.Field(i).Type.Kind() {
		case reflect.Slice, reflect.Array, reflect.Map, reflect.Pointer, reflect.Struct, reflect.Interface:
			return c.Nested(encode) // the value may contain itself
		}
	}
	return c
}
