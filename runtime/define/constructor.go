package define

import (
	"reflect"
	"slices"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// ownConstructor makes the constructor where the library makes none: positional
// arguments, then the sentinel and pairs of names and values, as in the
// constructors that newer versions of the library make.
func (d *definition) ownConstructor() error {
	var fields []*recordField
	for _, pass := range []int{0, 1, 2} {
		for _, f := range d.layout.fields {
			order := 0
			switch {
			case f.Flags&abi.FieldInitOff != 0:
				continue
			case f.Flags&abi.FieldKwOnly != 0:
				order = 2
			case f.hasDefault:
				order = 1
			}
			if order == pass {
				fields = append(fields, f)
			}
		}
	}
	fn := objects.Own(core.NewCallback(func(a *core.Args) error { return d.construct(fields, a) }))
	defer fn.Release()
	v := abi.Any{TypeIndex: abi.TypeFunction, Bits: uint64(fn.Handle())}
	if err := d.layout.AddAttribute(initName, v); err != nil {
		return err
	}
	return d.layout.AddMethod(&core.DefinedMethod{Name: initName, Metadata: `{"type_schema":"{\"type\":\"ffi.Function\"}"}`, Static: true, Function: fn})
}

// construct makes an object of borrowed arguments, and returns it.
func (d *definition) construct(fields []*recordField, lent *core.Args) error {
	args := make([]abi.Any, lent.Len())
	for i := range args {
		args[i] = lent.Value(i)
	}
	fail := func(format string, values ...any) error {
		return failure.Errorf(failure.KindType, d.key+".__ffi_init__() "+format, values...)
	}
	from := objects.ReadBorrowed(lent).Converting()
	record := reflect.New(d.record)
	given := map[*recordField]bool{}
	set := func(f *recordField, v abi.Any) error {
		p := reflect.NewAt(f.goType, f.in(record.UnsafePointer()))
		given[f] = true
		if f.convert.IsValid() {
			out := f.convert.Call([]reflect.Value{reflect.ValueOf(codec.LendAny[tvmffi.Any](v, from))})
			err, _ := out[1].Interface().(error)
			p.Elem().Set(out[0])
			return failure.Annotate("field '"+f.Name+"'", err)
		}
		err := f.codec.Decode(v, from, p.UnsafePointer())
		return failure.Annotate("field '"+f.Name+"'", err)
	}
	positional := len(args)
	if sentinel, err := missingKeywords(); err == nil {
		for i, a := range args {
			if a.TypeIndex.IsObject() && uintptr(a.Bits) == sentinel {
				positional = i
				break
			}
		}
	}
	for i, a := range args[:positional] {
		if i >= len(fields) || fields[i].Flags&abi.FieldKwOnly != 0 {
			return fail("takes at most %d positional arguments, but got %d", i, positional)
		}
		if err := set(fields[i], a); err != nil {
			return err
		}
	}
	for i := positional + 1; i+1 < len(args); i += 2 {
		name, err := codec.Decode[string](args[i])
		if err != nil {
			return fail("got a keyword that is not a string")
		}
		at := slices.IndexFunc(fields, func(f *recordField) bool { return f.Name == name })
		if at < 0 {
			return fail("got an unexpected keyword argument '%s'", name)
		}
		if given[fields[at]] {
			return fail("got multiple values for argument '%s'", name)
		}
		if err := set(fields[at], args[i+1]); err != nil {
			return err
		}
	}
	for _, f := range d.layout.fields {
		if given[f] {
			continue
		}
		if !f.hasDefault && f.Flags&abi.FieldInitOff == 0 {
			what := "argument"
			if f.Flags&abi.FieldKwOnly != 0 {
				what = "keyword-only argument"
			}
			return fail("missing required %s: '%s'", what, f.Name)
		}
		reflect.NewAt(f.goType, f.in(record.UnsafePointer())).Elem().Set(f.defaultValue())
	}
	handle, err := d.makeAt(record.UnsafePointer())
	if err != nil {
		return err
	}
	lent.Return(abi.Any{TypeIndex: d.layout.Info.TypeIndex, Bits: uint64(handle)})
	return nil
}

// missingKeywords returns the object that stands before keyword arguments.
func missingKeywords() (uintptr, error) {
	v, err := core.Kwargs()
	codec.Release(v) // the library holds it
	return uintptr(v.Bits), err
}

const initName = "__ffi_init__"
