package define

import (
	"reflect"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/environment"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// parseDefault reads the default in a tag.
func (f *recordField) parseDefault(text string) error {
	v := reflect.New(f.goType).Elem()
	if ok, err := codec.SetDefault(text, v); err != nil {
		return failure.Errorf(failure.KindValue, "%s", failure.Message(err))
	} else if !ok {
		return failure.Errorf(failure.KindType, "a tag cannot hold a default of the Go type %s: use the option Default or DefaultFunc", f.goType)
	}
	f.hasDefault, f.value = true, v
	return nil
}

// applyDefaults adds what the options say about fields.
func (d *definition) applyDefaults(p *layout) error {
	for _, g := range d.given {
		f := p.find(g.field)
		if f == nil {
			return d.errorf(failure.KindAttr, "default given for %s, but there is no such field", g.field)
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
			return d.errorf(failure.KindAttr, "converter given for %s, but there is no such field", g.field)
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
	v, err := t.Own()
	if err != nil {
		return err
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
	for _, f := range d.layout.fields {
		reflect.NewAt(f.goType, f.in(record.Addr().UnsafePointer())).Elem().Set(f.defaultValue())
	}
	return nil
}

// setterFunctions is the first version of libtvm_ffi that calls Function objects as
// setters. Older versions call the object as if it were code.
var setterFunctions = abi.Version{Minor: 1, Patch: 11}

// prepareConverter makes the setter of a field with a converter: a Function that
// gets the address of the field and the value.
func (f *recordField) prepareConverter() error {
	if v := capi.Version(); v.Major == 0 && (v.Minor < setterFunctions.Minor || v.Minor == setterFunctions.Minor && v.Patch < setterFunctions.Patch) {
		return failure.Errorf(failure.KindRuntime, "needs version 0.1.11 of libtvm_ffi or newer, and version %d.%d.%d is loaded", v.Major, v.Minor, v.Patch)
	}
	handle := environment.NewCallback(func(a *callbacks.Args) error {
		if err := a.Check(2); err != nil {
			return err
		}
		at := a.Value(0)
		if at.TypeIndex != abi.TypeOpaquePtr || at.Bits == 0 {
			return codec.WrongType("the address of a field", at)
		}
		x, err := codec.LendAny[tvmffi.Any](a.Value(1), objects.ReadBorrowed(a))
		if err != nil {
			return err
		}
		out := f.convert.Call([]reflect.Value{reflect.ValueOf(x)})
		if err, _ := out[1].Interface().(error); err != nil {
			return err
		}
		p := reflect.New(f.goType)
		p.Elem().Set(out[0])
		v, err := f.encode(p.UnsafePointer(), nil)
		if err != nil {
			return err
		}
		codec.Release(f.put(uintptr(at.Bits)-uintptr(f.Offset), v))
		return nil
	}, f.convert.Pointer())
	f.Convert = objects.Own(handle)
	f.Convert.LeaveToCollector()
	return nil
}
