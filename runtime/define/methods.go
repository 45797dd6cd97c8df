package define

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/registry"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// reservedAttributes are the attributes that registration sets.
var reservedAttributes = []string{"__ffi_new__", "__ffi_shallow_copy__"}

// checkMethods checks what is known without the library.
func (d *definition) checkMethods() error {
	var names []string
	for _, m := range d.methods {
		if registry.CheckName("the name", m.name) != nil || strings.ContainsAny(m.name, " `\"") {
			return d.errorf(failure.KindValue, "%q is not a method name", m.name)
		}
		if slices.Contains(names, m.name) {
			return d.errorf(failure.KindType, "two methods are named %s", m.name)
		}
		names = append(names, m.name)
		if m.name == initName && !m.static {
			return d.errorf(failure.KindType, "%s must be a static method that returns the object", initName)
		}
		t := codec.FuncType(m.f)
		if t == nil {
			if _, ok := m.f.(*tvmffi.Function); !ok {
				return d.errorf(failure.KindType, "method %s: expected a func, got %T", m.name, m.f)
			}
			continue
		}
		if !m.static && !codec.IsPacked(t) && (t.NumIn() == 0 || !d.isSelf(t.In(0)) && t.In(0) != reflect.PointerTo(d.record)) {
			return d.errorf(failure.KindType, "method %s: the first parameter of %s must be %s", m.name, t, d.receivers())
		}
	}
	names = nil
	for _, a := range d.attributes {
		if a.name == "" || slices.Contains(reservedAttributes, a.name) {
			return d.errorf(failure.KindValue, "the attribute %q is not for options", a.name)
		}
		if slices.Contains(names, a.name) {
			return d.errorf(failure.KindType, "the attribute %s is given twice", a.name)
		}
		names = append(names, a.name)
		if a.hooked != nil {
			if a.value == nil {
				return d.errorf(failure.KindType, "the func for %s is nil", a.name)
			}
			if !d.isSelf(a.hooked.In(0)) {
				return d.errorf(failure.KindType, "the func for %s takes %s, not %s", a.name, a.hooked.In(0), d.selves())
			}
		}
	}
	return nil
}

// selves names the types that isSelf accepts, receivers the receivers of methods.
func (d *definition) selves() string {
	if d.opaque {
		return d.handle.String()
	}
	return d.record.String() + " or " + d.handle.String()
}

func (d *definition) receivers() string {
	if d.opaque {
		return d.handle.String()
	}
	return d.record.String() + ", " + reflect.PointerTo(d.record).String() + " or " + d.handle.String()
}

// isSelf reports whether a parameter takes objects of the type: the struct or a
// pointer to an object type that it is or derives from.
func (d *definition) isSelf(t reflect.Type) bool {
	if d.opaque {
		return t == d.handle
	}
	if t == d.record || t == d.handle || t == reflect.TypeFor[*tvmffi.Object]() || t == reflect.TypeFor[tvmffi.ObjectRef]() {
		return true
	}
	class := codec.ClassOf(t)
	return class != nil && (class == d.parentType || d.parentType == nil && class == codec.ClassOf(reflect.TypeFor[*tvmffi.Object]()))
}

// prepareMethods makes the functions of methods and attributes.
func (d *definition) prepareMethods() error {
	p := d.layout
	for _, m := range d.methods {
		r := registration(m.options)
		fn, err := d.methodFunction(m.f, r)
		if err != nil {
			return failure.Annotate("type "+d.key, failure.Annotate("method "+m.name, err))
		}
		self := d.key
		if m.static {
			self = ""
		}
		doc, metadata, err := r.Describe(codec.FuncType(m.f), self)
		p.methods = append(p.methods, registry.Method{Name: m.name, Doc: doc, Metadata: metadata, Static: m.static, Function: codec.Ref(fn)})
		if err != nil {
			return failure.Annotate("type "+d.key, failure.Annotate("method "+m.name, err))
		}
		if m.name == initName {
			if err := d.prepareAttribute(initName, fn); err != nil {
				return err
			}
		}
	}
	for _, a := range d.attributes {
		if err := d.prepareAttribute(a.name, a.value); err != nil {
			return err
		}
	}
	if d.final {
		return d.prepareAttribute("__ffi_type_final__", true)
	}
	return nil
}

func (d *definition) prepareAttribute(name string, value any) error {
	t, err := codec.For[any]().Encode(unsafe.Pointer(&value))
	if err != nil {
		return failure.Annotate("type "+d.key, failure.Annotate("attribute "+name, err))
	}
	d.layout.attributes = append(d.layout.attributes, preparedAttribute{name, t})
	return nil
}

// methodFunction makes the Function of a method, of generated code if that has one.
func (d *definition) methodFunction(f any, r *codec.Registration) (*tvmffi.Function, error) {
	if r.Call == nil {
		return d.function(f)
	}
	return codec.Wrap[*tvmffi.Function](objects.Own(callbacks.NewDescribed(r.Call, r.Origin, r.About))), nil
}

// function makes the Function of a method. A func whose first parameter is a
// pointer to the struct gets a struct, and what it changes is set in the object.
func (d *definition) function(f any) (*tvmffi.Function, error) {
	t := codec.FuncType(f)
	if t == nil || t.NumIn() == 0 || t.In(0) != reflect.PointerTo(d.record) || d.opaque {
		return tvmffi.FuncOf(f)
	}
	in := []reflect.Type{d.handle}
	for i := 1; i < t.NumIn(); i++ {
		in = append(in, t.In(i))
	}
	var out []reflect.Type
	for i := range t.NumOut() {
		out = append(out, t.Out(i))
	}
	fails := len(out) > 0 && out[len(out)-1] == codec.ErrorType
	if !fails {
		out = append(out, codec.ErrorType)
	}
	adapted := reflect.FuncOf(in, out, t.IsVariadic())
	call := reflect.ValueOf(f).Call
	if t.IsVariadic() {
		call = reflect.ValueOf(f).CallSlice
	}
	return tvmffi.FuncOf(reflect.MakeFunc(adapted, func(args []reflect.Value) []reflect.Value {
		o := objects.StateOf(args[0].Interface().(tvmffi.ObjectRef))
		results := make([]reflect.Value, len(out))
		for i, t := range out {
			results[i] = reflect.Zero(t)
		}
		err := d.update(o, func(p reflect.Value) error {
			copy(results, call(append([]reflect.Value{p}, args[1:]...)))
			if fails {
				err, _ := results[len(results)-1].Interface().(error)
				return err
			}
			return nil
		})
		if err != nil {
			results[len(results)-1] = reflect.ValueOf(&err).Elem()
		}
		return results
	}).Interface())
}

// update lets f change the fields of an object through a pointer to the struct.
func (d *definition) update(o *objects.Object, f func(p reflect.Value) error) error {
	handle, err := d.check(o)
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(o)
	p, before := reflect.New(d.record), reflect.New(d.record)
	if err := d.loadFields(handle, objects.ReadCollected().Converting(), p.UnsafePointer()); err != nil {
		return err
	}
	before.Elem().Set(p.Elem())
	for _, field := range d.layout.fields {
		if field.twice {
			if err := field.load(handle, objects.ReadCollected().Converting(), field.in(before.UnsafePointer())); err != nil {
				return err
			}
		}
	}
	if err := f(p); err != nil {
		return err
	}
	var changed []*recordField
	var values []abi.Any
	for _, field := range d.layout.fields {
		now := field.in(p.UnsafePointer())
		equal, different := field.compare(now, field.in(before.UnsafePointer()))
		if equal {
			continue
		}
		if field.Flags&abi.FieldWritable == 0 {
			if different {
				err = failure.Errorf(failure.KindAttr, "field %s is read-only", field)
				break
			}
			continue
		}
		var v abi.Any
		if v, err = field.encode(now, nil); err != nil {
			break
		}
		changed, values = append(changed, field), append(values, v)
	}
	for i, field := range changed {
		if err != nil {
			field.drop(values[i])
		} else {
			values[i] = field.put(handle, values[i])
		}
	}
	if err == nil {
		for _, old := range values {
			codec.Release(old)
		}
	}
	return err
}

func registration(options []tvmffi.RegisterOption) *codec.Registration {
	c := new(codec.Registration)
	for _, option := range options {
		if option != nil {
			option(c)
		}
	}
	return c
}
