package reflection

import (
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
	"github.com/tvmffi-go/tvmffi/schema"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Kwargs are arguments by name. As the last argument of [Type.Construct] they
// follow the positional ones, as keyword arguments do in Python.
type Kwargs map[string]any

// New makes an object by its fields, without a constructor: each field of the type and of
// its ancestors gets the value given, or its default. It sets read-only fields too. The
// error is of kind ErrType if a field without a default is missing or a value is of the
// wrong type.
func (t *Type) New(fields Kwargs) (*tvmffi.Object, error) {
	m := t.load()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if m.byName[name] == nil {
			return nil, errorf(failure.KindType, "Type `%s` does not have field `%s`", t.key, name)
		}
	}
	for _, f := range m.fields {
		if _, given := fields[f.name]; !given && !f.HasDefault() {
			return nil, errorf(failure.KindType, "Required field `%s` not set in type `%s`", f.name, t.key)
		}
	}
	handle, err := t.create()
	if err != nil {
		return nil, err
	}
	// The setters are called here, one by one: up to 0.1.13 the function of the
	// library that does it ignores their errors.
	o := objects.Own(handle)
	for _, f := range m.fields {
		if err := f.initialize(o, fields); err != nil {
			o.Release()
			return nil, err
		}
	}
	return wrap(o), nil
}

// create makes an empty object.
func (t *Type) create() (uintptr, error) {
	handle, err := fields.Create(t.info)
	if handle != 0 || err != nil {
		return handle, err
	}
	if v, ok := objects.Attribute(t.info.TypeIndex, AttrNew); ok {
		defer objects.ReleaseValue(v)
		if v.TypeIndex == abi.TypeFunction {
			made, err := failure.Apply(uintptr(v.Bits), nil)
			if err != nil {
				return 0, err
			}
			if made.TypeIndex == t.info.TypeIndex {
				return uintptr(made.Bits), nil
			}
			objects.ReleaseValue(made)
			return 0, errorf(failure.KindType, "%s of %s made %s", AttrNew, t.key, capi.KeyOf(made.TypeIndex))
		}
	}
	return 0, errorf(failure.KindRuntime, "Type `%s` does not support reflection creation (no native creator or %s type attr)", t.key, AttrNew)
}

// initialize gives a field of a new object its value.
func (f *Field) initialize(o *objects.Object, with Kwargs) error {
	var value values.AnyView
	var err error
	if x, given := with[f.name]; given {
		value, err = codec.Encode(x)
	} else {
		value.Value, err = fields.Default(&f.info)
		value.Owned = true
	}
	if err == nil {
		if err = f.field.Init(o, value, nil); err == nil {
			return nil
		}
	}
	return errorf(kindOf(err), "%s: field '%s': %w", f.owner.key, f.name, err)
}

// Constructor makes objects of a type: a function that the library declares, or one that
// it derives from the fields.
type Constructor struct {
	// Owner is the type.
	Owner *Type
	// Automatic says that the library derived it from the fields: then its parameters
	// have names, and those with a default may be left out.
	Automatic bool
	// Params are the parameters; nil for a packed function.
	Params []Param

	fn *tvmffi.Function
}

// Param is a parameter of a constructor.
type Param struct {
	// Name is the name; empty if the constructor is declared.
	Name string
	// Type is the declared type; Any if it is unknown.
	Type schema.TypeSchema
	// Optional says that there is a default.
	Optional bool
	// KwOnly says that the argument goes by name only.
	KwOnly bool
}

// Constructor returns the constructor of the type. It is not inherited. The error
// is of kind ErrType if there is none.
func (t *Type) Constructor() (*Constructor, error) {
	m := t.load()
	if c := m.constructor.Load(); c != nil {
		return c, nil
	}
	c, err := t.findConstructor()
	if err != nil {
		return nil, err
	}
	m.constructor.Store(c)
	return c, nil
}

func (t *Type) findConstructor() (*Constructor, error) {
	c := &Constructor{Owner: t}
	for _, m := range t.OwnMethods() {
		if m.name != AttrInit {
			continue
		}
		if s := m.Signature(); s != nil {
			c.Params = []Param{}
			for _, p := range s.Params {
				c.Params = append(c.Params, Param{Name: p.Name, Type: p.Type})
			}
		}
		var err error
		c.fn, err = m.Func()
		return c, err
	}
	v, ok := capi.TypeAttribute(t.info.TypeIndex, AttrInit) // the registry keeps it
	if !ok || v.TypeIndex != abi.TypeFunction {
		return nil, errorf(failure.KindType, "`%s` cannot be constructed directly: it has no constructor; call a function that makes one, or New with its fields", t.key)
	}
	c.Automatic = true
	c.fn, _ = tvmffi.Cast[*tvmffi.Function](wrap(objects.Static(uintptr(v.Bits))))
	for _, wanted := range []func(p Param) bool{
		func(p Param) bool { return !p.KwOnly && !p.Optional },
		func(p Param) bool { return !p.KwOnly && p.Optional },
		func(p Param) bool { return p.KwOnly },
	} {
		for _, f := range t.load().fields {
			if p := (Param{f.name, f.Type(), f.HasDefault(), f.KwOnly()}); f.InInit() && wanted(p) {
				c.Params = append(c.Params, p)
			}
		}
	}
	return c, nil
}

// String returns the signature, such as garden.Rose(color: ffi.String, petals:
// int = ..., *, note: int).
func (c *Constructor) String() string {
	if c.Params == nil && !c.Automatic {
		return c.Owner.key + "(...)"
	}
	var b strings.Builder
	b.WriteString(c.Owner.key + "(")
	star := false
	for i, p := range c.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		if p.KwOnly && !star {
			b.WriteString("*, ")
			star = true
		}
		if p.Name != "" {
			b.WriteString(p.Name + ": ")
		}
		b.WriteString(p.Type.String())
		if p.Optional {
			b.WriteString(" = ...")
		}
	}
	return b.String() + ")"
}

// Construct makes an object with the type's constructor: positional arguments, and
// [Kwargs] as the last one for arguments by name. The library reports missing and
// unexpected arguments, and wrong types.
func (t *Type) Construct(args ...any) (*tvmffi.Object, error) {
	c, err := t.Constructor()
	if err != nil {
		return nil, err
	}
	return c.Call(args...)
}

// Call makes an object; see [Type.Construct].
func (c *Constructor) Call(args ...any) (*tvmffi.Object, error) {
	what := c.Owner.key + "." + AttrInit
	var kwargs Kwargs
	if n := len(args); n > 0 {
		if k, ok := args[n-1].(Kwargs); ok {
			kwargs, args = k, args[:n-1]
		}
	}
	if len(kwargs) > 0 && !c.Automatic {
		return nil, errorf(failure.KindType, "%s() takes its arguments by position: its parameters have no names", what)
	}
	p := packing{owner: c.Owner}
	defer p.close()
	for i, x := range args {
		name := ""
		if c.Automatic && i < len(c.Params) {
			name = c.Params[i].Name
		}
		if err := p.add(name, x); err != nil {
			return nil, errorf(kindOf(err), "%s() argument %d: %w", what, i, err)
		}
	}
	if len(kwargs) > 0 {
		separator, err := calls.Kwargs()
		if err != nil {
			return nil, err
		}
		p.put(values.AnyView{Value: separator, Owned: true})
		for _, name := range slices.Sorted(maps.Keys(kwargs)) {
			if err := p.add("", name); err != nil {
				return nil, err
			}
			if err := p.add(name, kwargs[name]); err != nil {
				return nil, errorf(kindOf(err), "%s() argument '%s': %w", what, name, err)
			}
		}
	}
	made, err := failure.Apply(stateOf(c.fn).Handle(), p.values)
	if err != nil && !c.Automatic && c.Params != nil && len(args) != len(c.Params) {
		return nil, failure.Explain(err, "%s() takes %d arguments, but %d were given", what, len(c.Params), len(args))
	}
	if err != nil {
		return nil, err
	}
	if !made.TypeIndex.IsObject() || made.Bits == 0 {
		return nil, errorf(failure.KindType, "%s() returned %s", what, capi.KeyOf(made.TypeIndex))
	}
	o := objects.Own(uintptr(made.Bits))
	if err := p.check(o); err != nil {
		o.Release()
		return nil, err
	}
	return wrap(o), nil
}

// packing are the arguments of a constructor.
type packing struct {
	owner  *Type
	values []abi.Any
	temps  []values.AnyView
	narrow []narrowed
}

// narrowed is a value for a field that may change a number.
type narrowed struct {
	field *Field
	value abi.Any
}

// add packs an argument, for the field of a name if it is known. A number that
// cannot fit the field is an error: the library would cut it silently.
func (p *packing) add(name string, x any) error {
	t, err := codec.Encode(x)
	if err != nil {
		return err
	}
	p.put(t)
	if f := p.owner.load().byName[name]; f != nil && f.reader.Narrow() {
		p.narrow = append(p.narrow, narrowed{f, t.Value})
		return f.field.Fits(t.Value)
	}
	return nil
}

func (p *packing) put(t values.AnyView) {
	p.values = append(p.values, t.Value)
	p.temps = append(p.temps, t)
}

// check compares the narrow fields of the new object with what was given.
func (p *packing) check(o *objects.Object) error {
	defer keep(o)
	for _, n := range p.narrow {
		if err := n.field.field.Holds(o.Handle(), n.value); err != nil {
			return err
		}
	}
	return nil
}

// close releases the packed arguments.
func (p *packing) close() {
	for _, t := range p.temps {
		if t.Owned {
			objects.ReleaseValue(t.Value)
		}
	}
	runtime.KeepAlive(p.temps)
}
