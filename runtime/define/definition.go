package define

import (
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

// definition is the description of a type, and, once registered, the type.
type definition struct {
	key     string
	options []TypeOption
	record  reflect.Type // the struct
	handle  reflect.Type // *Instance of it
	class   fields.Type
	taken   *definition // what the struct defines already, nil if that is d
	opaque  bool        // Opaque made it: handle is a pointer to the struct

	// The parsed options, set once with the registry locked.
	doc        string
	parentType *fields.Type
	final      bool
	frozen     bool
	kwOnly     bool
	structural structural.Kind
	state      reflect.Type
	given      []givenDefault
	converters []givenConverter
	methods    []givenMethod
	attributes []givenAttribute

	// layout is the type in memory, made from the struct and the options. pending is
	// set while the type is about to be registered, broken if that failed half way.
	// The Registry guards all three until the type is ready.
	layout  *layout
	pending bool
	broken  error
	// plain copies the fields of a type that has no others.
	plain codec.Plain
	// ready is set once the type is registered.
	ready atomic.Bool
}

type givenDefault struct {
	field   string
	value   reflect.Value
	factory bool
}

type givenConverter struct {
	field   string
	convert reflect.Value
}

type givenMethod struct {
	name    string
	f       any
	options []tvmffi.RegisterOption
	static  bool
}

type givenAttribute struct {
	name  string
	value any
	// hooked is the func of the user behind a hook, whose first parameter is checked.
	hooked reflect.Type
}

var definitions sync.Map // reflect.Type of the struct -> *definition

// declare makes the type known to codecs. Nothing else happens at import.
func (d *definition) declare() {
	d.class.Resolve = d.index
	if d.record.Kind() != reflect.Struct {
		return // registration refuses it
	}
	if other, taken := definitions.LoadOrStore(d.record, d); taken {
		d.taken = other.(*definition)
		return
	}
	if !d.opaque {
		codec.Set(d.record, d.codec())
	}
}

// registered holds the types that are in the registry.
var registered sync.Map // abi.TypeIndex -> *definition

// findRecord returns the definition of a struct type, nil if it has none.
func findRecord(t reflect.Type) *definition {
	if d, ok := definitions.Load(t); ok {
		return d.(*definition)
	}
	return nil
}

func recordOf(t reflect.Type) *definition {
	if d := findRecord(t); d != nil && !d.opaque {
		return d
	}
	panic(failure.Errorf(failure.KindType, "define.Object was not called for %s", t))
}

func classOfRecord(t reflect.Type) *fields.Type {
	if d := findRecord(t); d != nil && !d.opaque {
		return &d.class
	}
	return undefinedClass(t)
}

// undefinedClasses are the types of Instances of structs that Object never saw.
var undefinedClasses sync.Map // reflect.Type -> *fields.Type

func undefinedClass(t reflect.Type) *fields.Type {
	if c, ok := undefinedClasses.Load(t); ok {
		return c.(*fields.Type)
	}
	c := &fields.Type{Key: "define.Instance of " + t.String(), Resolve: func() (abi.TypeIndex, error) {
		return 0, failure.Errorf(failure.KindType, "define.Object was not called for %s", t)
	}}
	stored, _ := undefinedClasses.LoadOrStore(t, c)
	return stored.(*fields.Type)
}

func (d *definition) errorf(kind, format string, args ...any) error {
	return failure.Annotate("type "+d.key, failure.Errorf(kind, format, args...))
}

func (d *definition) setParent(t *fields.Type) { d.parentType = t }

func (d *definition) setDefault(field string, v reflect.Value, factory bool) {
	d.given = append(d.given, givenDefault{field, v, factory})
}

func (d *definition) setConverter(field string, f reflect.Value) {
	d.converters = append(d.converters, givenConverter{field, f})
}

func (d *definition) addMethod(name string, f any, options []tvmffi.RegisterOption, static bool) {
	d.methods = append(d.methods, givenMethod{name, f, options, static})
}

func (d *definition) addAttribute(name string, value any) {
	d.attributes = append(d.attributes, givenAttribute{name: name, value: value})
}

func hook(name string, f, adapted any) TypeOption {
	return typeOption(func(d *definition) {
		v := reflect.ValueOf(f)
		if v.IsNil() {
			adapted = nil
		}
		d.attributes = append(d.attributes, givenAttribute{name, adapted, v.Type()})
	})
}
