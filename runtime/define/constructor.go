package define

import (
	"reflect"
	"slices"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/environment"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/registry"
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
	construct := func(a *callbacks.Args) error { return d.construct(fields, a) }
	handle := uintptr(0)
	if slices.ContainsFunc(d.layout.fields, func(f *recordField) bool { return f.make.IsValid() || f.convert.IsValid() }) {
		handle = environment.NewCallback(construct, 0) // it calls funcs of the user
	} else {
		handle = callbacks.New(construct)
	}
	fn := objects.Own(handle)
	defer fn.Release()
	v := abi.Any{TypeIndex: abi.TypeFunction, Bits: uint64(fn.Handle())}
	if err := registry.RegisterAttribute(d.layout.Info.TypeIndex, initName, v); err != nil {
		return err
	}
	return registry.RegisterMethod(d.layout.Info.TypeIndex, &registry.Method{Name: initName, Metadata: `{"type_schema":"{\"type\":\"ffi.Function\"}"}`, Static: true, Function: fn})
}

// construct makes an object of borrowed arguments, and returns it.
func (d *definition) construct(fields []*recordField, borrowed *callbacks.Args) error {
	c := construction{
		definition: d,
		fields:     fields,
		from:       objects.ReadBorrowed(borrowed).Converting(),
		record:     reflect.New(d.record),
		given:      map[*recordField]bool{},
	}
	args := make([]abi.Any, borrowed.Len())
	for i := range args {
		args[i] = borrowed.Value(i)
	}
	positional := len(args)
	if sentinel, err := missingKeywords(); err == nil {
		if i := slices.IndexFunc(args, func(a abi.Any) bool { return a.TypeIndex.IsObject() && uintptr(a.Bits) == sentinel }); i >= 0 {
			positional = i
		}
	}
	if err := c.setPositional(args[:positional]); err != nil {
		return err
	}
	if err := c.setKeywords(args[min(positional+1, len(args)):]); err != nil {
		return err
	}
	if err := c.setDefaults(); err != nil {
		return err
	}
	handle, err := d.makeAt(c.record.UnsafePointer(), nil)
	if err != nil {
		return err
	}
	borrowed.Return(abi.Any{TypeIndex: d.layout.Info.TypeIndex, Bits: uint64(handle)})
	return nil
}

// construction is one call of a constructor.
type construction struct {
	*definition
	fields []*recordField // in the order of positional arguments
	from   objects.Reading
	record reflect.Value // a pointer to the struct that is filled in
	given  map[*recordField]bool
}

func (c *construction) fail(format string, values ...any) error {
	return failure.Errorf(failure.KindType, c.key+".__ffi_init__() "+format, values...)
}

// field returns a pointer to a field of the struct.
func (c *construction) field(f *recordField) reflect.Value {
	return reflect.NewAt(f.goType, f.in(c.record.UnsafePointer()))
}

// set sets a field to an argument.
func (c *construction) set(f *recordField, v abi.Any) error {
	c.given[f] = true
	if f.convert.IsValid() {
		x, err := codec.LendAny[tvmffi.Any](v, c.from)
		if err != nil {
			return failure.Annotate("field '"+f.Name+"'", err)
		}
		out := f.convert.Call([]reflect.Value{reflect.ValueOf(x)})
		err, _ = out[1].Interface().(error)
		c.field(f).Elem().Set(out[0])
		return failure.Annotate("field '"+f.Name+"'", err)
	}
	return failure.Annotate("field '"+f.Name+"'", f.codec.Decode(v, c.from, c.field(f).UnsafePointer()))
}

func (c *construction) setPositional(args []abi.Any) error {
	for i, a := range args {
		if i >= len(c.fields) || c.fields[i].Flags&abi.FieldKwOnly != 0 {
			return c.fail("takes at most %d positional arguments, but got %d", i, len(args))
		}
		if err := c.set(c.fields[i], a); err != nil {
			return err
		}
	}
	return nil
}

// setKeywords sets fields by pairs of a name and a value.
func (c *construction) setKeywords(pairs []abi.Any) error {
	for ; len(pairs) > 1; pairs = pairs[2:] {
		name, err := codec.Decode[string](pairs[0])
		if err != nil {
			return c.fail("got a keyword that is not a string")
		}
		at := slices.IndexFunc(c.fields, func(f *recordField) bool { return f.Name == name })
		if at < 0 {
			return c.fail("got an unexpected keyword argument '%s'", name)
		}
		if c.given[c.fields[at]] {
			return c.fail("got multiple values for argument '%s'", name)
		}
		if err := c.set(c.fields[at], pairs[1]); err != nil {
			return err
		}
	}
	return nil
}

// setDefaults sets the fields that no argument has set.
func (c *construction) setDefaults() error {
	for _, f := range c.layout.fields {
		if c.given[f] {
			continue
		}
		if !f.hasDefault && f.Flags&abi.FieldInitOff == 0 {
			what := "argument"
			if f.Flags&abi.FieldKwOnly != 0 {
				what = "keyword-only argument"
			}
			return c.fail("missing required %s: '%s'", what, f.Name)
		}
		c.field(f).Elem().Set(f.defaultValue())
	}
	return nil
}

// missingKeywords returns the object that stands before keyword arguments.
func missingKeywords() (uintptr, error) {
	v, err := calls.Kwargs()
	codec.Release(v) // the library holds it
	return uintptr(v.Bits), err
}

const initName = fields.InitName
