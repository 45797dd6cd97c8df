package define

import (
	"math"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fieldtag"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// plain reports whether the bytes of a field are those of its Go value.
func (f *recordField) plain() bool {
	return f.Accept.Kind != core.KindAnyValue && f.Accept.Kind != core.KindObjectRef
}

// load reads the field of an object into the Go value at p.
func (f *recordField) load(handle uintptr, from objects.Reading, p unsafe.Pointer) error {
	if f.plain() {
		size := core.SizeOf(f.Accept.Kind)
		copy(unsafe.Slice((*byte)(p), size), unsafe.Slice(capi.At[byte](handle+uintptr(f.Offset)), size))
		return nil
	}
	v := f.reader.InPlace(handle)
	if v.TypeIndex == abi.TypeNone {
		reflect.NewAt(f.goType, p).Elem().SetZero()
		return nil
	}
	return failure.Place("field "+f.Name, f.codec.Decode(v, from, p))
}

// reading returns who owns the objects in a value of the field alone: the caller, if
// the value is one, otherwise the collector.
func (f *recordField) reading() objects.Reading {
	switch f.goType.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Func:
		return objects.ReadCollected()
	case reflect.Struct:
		if f.goType != reflect.TypeFor[tvmffi.Any]() {
			return objects.ReadCollected()
		}
	}
	return objects.ReadOwned()
}

// encode makes the value that the field holds for the Go value at p, with a
// reference of its own. Bytes of plain fields are in Bits.
func (f *recordField) encode(p unsafe.Pointer) (abi.Any, error) {
	if f.plain() {
		var v abi.Any
		size := core.SizeOf(f.Accept.Kind)
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&v.Bits)), size), unsafe.Slice((*byte)(p), size))
		if f.Accept.Kind == core.KindUint64 && v.Bits > math.MaxInt64 {
			return v, failure.Place("field "+f.Name, failure.Errorf(failure.KindValue, "%d does not fit an int of 64 bits", v.Bits))
		}
		return v, nil
	}
	t, err := f.codec.Encode(p)
	if err != nil {
		return abi.Any{}, failure.Place("field "+f.Name, err)
	}
	v := t.Value
	if !t.Owned {
		v, err = core.Owned(v)
		runtime.KeepAlive(t.Keep)
	}
	if err == nil {
		if err = f.admit(v); err != nil {
			codec.Release(v)
		}
	}
	return v, failure.Place("field "+f.Name, err)
}

// admit checks what the setter would, of a value that a codec made.
func (f *recordField) admit(v abi.Any) error {
	a := &f.Accept
	if !v.TypeIndex.IsObject() {
		if a.Scalars&(1<<v.TypeIndex) == 0 {
			return codec.WrongType(a.Expected, v)
		}
		return nil
	}
	if a.Class == nil {
		return codec.WrongType(a.Expected, v)
	}
	ok, err := a.Class.Accepts(v.TypeIndex)
	if err == nil && !ok {
		err = codec.WrongType(a.Expected, v)
	}
	return err
}

// put stores what encode made, and returns what the field held, for release.
func (f *recordField) put(handle uintptr, v abi.Any) (old abi.Any) {
	at := handle + uintptr(f.Offset)
	switch f.Accept.Kind {
	case core.KindAnyValue:
		p := capi.At[abi.Any](at)
		old, *p = *p, v
	case core.KindObjectRef:
		p := capi.At[uintptr](at)
		if *p != 0 {
			old = abi.Any{TypeIndex: abi.TypeObject, Bits: uint64(*p)}
		}
		*p = uintptr(v.Bits)
	default:
		size := core.SizeOf(f.Accept.Kind)
		copy(unsafe.Slice(capi.At[byte](at), size), unsafe.Slice((*byte)(unsafe.Pointer(&v.Bits)), size))
	}
	return old
}

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
	err = d.loadFields(handle, objects.ReadCollected(), record.Addr().UnsafePointer())
	runtime.KeepAlive(o)
	return err
}

func (d *definition) loadFields(handle uintptr, from objects.Reading, p unsafe.Pointer) error {
	for _, f := range d.plan.fields {
		if err := f.load(handle, from, f.in(p)); err != nil {
			return failure.Place(d.key, err)
		}
	}
	return nil
}

// encodeFields makes the values of all fields, or of none.
func (d *definition) encodeFields(p unsafe.Pointer) ([]abi.Any, error) {
	values := make([]abi.Any, len(d.plan.fields))
	for i, f := range d.plan.fields {
		v, err := f.encode(f.in(p))
		if err != nil {
			for i, v := range values[:i] {
				d.plan.fields[i].drop(v)
			}
			return nil, failure.Place(d.key, err)
		}
		values[i] = v
	}
	return values, nil
}

// drop releases a value that encode made.
func (f *recordField) drop(v abi.Any) {
	if !f.plain() {
		codec.Release(v)
	}
}

// store sets all fields of an object.
func (d *definition) store(o *objects.Object, record reflect.Value) error {
	handle, err := d.check(o)
	if err != nil {
		return err
	}
	for _, f := range d.plan.fields {
		if f.Flags&abi.FieldWritable == 0 {
			return failure.Errorf(failure.KindAttr, "field %s is read-only", f)
		}
	}
	values, err := d.encodeFields(record.Addr().UnsafePointer())
	if err != nil {
		return err
	}
	for i, f := range d.plan.fields {
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
	handle, err := d.makeAt(record.Addr().UnsafePointer())
	if err != nil {
		return nil, err
	}
	return objects.Own(handle), nil
}

func (d *definition) makeAt(p unsafe.Pointer) (uintptr, error) {
	if err := d.register(); err != nil {
		return 0, err
	}
	values, err := d.encodeFields(p)
	if err != nil {
		return 0, err
	}
	handle, err := d.plan.New()
	if err != nil {
		for i, f := range d.plan.fields {
			f.drop(values[i])
		}
		return 0, err
	}
	for i, f := range d.plan.fields {
		f.put(handle, values[i])
	}
	return handle, nil
}

// codec makes the codec of the struct: an object by value. A Map or a Dict is read
// too, as by Unmarshal.
func (d *definition) codec() *codec.Codec {
	entries := sync.OnceValue(func() *codec.Codec { return codec.StructCodec(d.record, codec.TaggedFields(d.record)) })
	return &codec.Codec{
		Name:   d.key,
		Schema: d.key,
		Encode: func(p unsafe.Pointer) (core.Temp, error) {
			handle, err := d.makeAt(p)
			if err != nil {
				return core.Temp{}, err
			}
			return core.Temp{Value: abi.Any{TypeIndex: d.plan.Info.TypeIndex, Bits: uint64(handle)}, Owned: true}, nil
		},
		Decode: func(v abi.Any, from objects.Reading, p unsafe.Pointer) error {
			if v.TypeIndex == abi.TypeMap || v.TypeIndex == abi.TypeDict {
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
			return d.loadFields(uintptr(v.Bits), from.Collected(), p)
		},
	}
}

// parseDefault reads the default in a tag.
func (f *recordField) parseDefault(text string) error {
	v := reflect.New(f.goType).Elem()
	target := v
	if f.goType.Kind() == reflect.Pointer && codec.ClassOf(f.goType) == nil {
		target = reflect.New(f.goType.Elem()).Elem()
	}
	if target.Type() == reflect.TypeFor[tvmffi.DataType]() {
		x, err := tvmffi.ParseDataType(text)
		if err != nil {
			return failure.Errorf(failure.KindValue, "the default %q: %v", text, failure.Message(err))
		}
		target.Set(reflect.ValueOf(x))
	} else if ok, err := fieldtag.SetDefault(text, target); err != nil {
		return failure.Errorf(failure.KindValue, "%v", err)
	} else if !ok {
		return failure.Errorf(failure.KindType, "a tag cannot hold a default of the Go type %s: use the option Default or DefaultFunc", f.goType)
	}
	if target != v {
		v.Set(target.Addr())
	}
	f.hasDefault, f.value = true, v
	return nil
}

// applyDefaults adds what the options say about fields.
func (d *definition) applyDefaults(p *plan) error {
	for _, g := range d.given {
		f := p.find(g.field)
		if f == nil {
			return d.errorf(failure.KindAttr, "a default is given for %s, which is no field", g.field)
		}
		t := reflect.TypeFor[any]()
		if g.value.IsValid() {
			t = g.value.Type()
		}
		if g.factory {
			if g.value.IsNil() {
				return d.errorf(failure.KindType, "the default of field %s is a nil func", g.field)
			}
			t = t.Out(0)
		} else if !g.value.IsValid() {
			g.value = reflect.Zero(f.goType)
			t = f.goType
		}
		if !t.AssignableTo(f.goType) {
			return d.errorf(failure.KindType, "the default of field %s is a %s, not a %s", g.field, t, f.goType)
		}
		f.hasDefault, f.value, f.make = true, g.value, reflect.Value{}
		if g.factory {
			f.make = g.value
		}
	}
	for _, g := range d.converters {
		f := p.find(g.field)
		if f == nil {
			return d.errorf(failure.KindAttr, "a converter is given for %s, which is no field", g.field)
		}
		if t := g.convert.Type().Out(0); g.convert.IsNil() || t != f.goType {
			return d.errorf(failure.KindType, "the converter of field %s makes %s, not %s", g.field, t, f.goType)
		}
		f.convert = g.convert
	}
	return nil
}

// defaultValue returns the default of a field, or its zero value.
func (f *recordField) defaultValue() reflect.Value {
	v := reflect.New(f.goType).Elem()
	switch {
	case f.make.IsValid():
		v.Set(f.make.Call(nil)[0])
	case f.hasDefault:
		v.Set(f.value)
	}
	return v
}

// prepareDefault makes the default of a field for the registry.
func (f *recordField) prepareDefault() error {
	if !f.hasDefault {
		return nil
	}
	if f.make.IsValid() {
		fn, err := tvmffi.FuncOf(f.make.Interface())
		if err != nil {
			return err
		}
		defer fn.Release()
		f.Flags |= abi.FieldHasDefault | abi.FieldDefaultFromFactory
		objects.IncRef(codec.Ref(fn).Handle())
		f.Default = abi.Any{TypeIndex: abi.TypeFunction, Bits: uint64(codec.Ref(fn).Handle())}
		return nil
	}
	p := reflect.New(f.goType)
	p.Elem().Set(f.value)
	t, err := f.codec.Encode(p.UnsafePointer())
	if err != nil {
		return err
	}
	v := t.Value
	if !t.Owned {
		if v, err = core.Owned(v); err != nil {
			return err
		}
		runtime.KeepAlive(t.Keep)
	}
	f.Flags |= abi.FieldHasDefault
	f.Default = v
	return nil
}

// defaults fills a struct with the defaults.
func (d *definition) defaults(record reflect.Value) error {
	if err := d.register(); err != nil {
		return err
	}
	for _, f := range d.plan.fields {
		reflect.NewAt(f.goType, f.in(record.Addr().UnsafePointer())).Elem().Set(f.defaultValue())
	}
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
	for _, f := range h.d.plan.fields {
		if f.at == h.at && f.goType == h.value {
			h.found.Store(f)
			return f
		}
	}
	panic(failure.Errorf(failure.KindAttr, "%s has no field with a tag at the place that the func of FieldOf points to", h.d.key))
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

// stateValue returns the Go value of an object by the option State.
func stateValue(x tvmffi.ObjectRef, t reflect.Type, fresh func() any) (any, error) {
	o, err := codec.Live(x)
	if err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(o)
	d := stateOwner(o.TypeIndex())
	if d == nil {
		return nil, failure.Errorf(failure.KindType, "objects of the type %s have no Go state: give it the option State", capi.KeyOf(o.TypeIndex()))
	}
	if d.state != t {
		return nil, failure.Errorf(failure.KindType, "the Go state of %s is a %s, not a %s", d.key, d.state, t)
	}
	slot := capi.At[uintptr](o.Handle() + uintptr(d.plan.State))
	for {
		if handle := atomic.LoadUintptr(slot); handle != 0 {
			value, _ := failure.GoValue(handle)
			return value, nil
		}
		handle, err := failure.NewValue(fresh())
		if err != nil {
			return nil, err
		}
		if !atomic.CompareAndSwapUintptr(slot, 0, handle) {
			objects.DecRef(handle)
			continue
		}
		objects.FreeState(o.Handle(), d.plan.State)
	}
}

// stateOwner finds the type with state among a type and its ancestors.
func stateOwner(index abi.TypeIndex) *definition {
	info := capi.InfoOf(index)
	for depth := info.Depth; ; depth-- {
		if d, ok := registered.Load(info.TypeIndex); ok && d.(*definition).state != nil {
			return d.(*definition)
		}
		if depth == 0 {
			return nil
		}
		info = capi.Ancestor(capi.InfoOf(index), depth-1)
	}
}
