package tvmffi

import (
	"reflect"

	"github.com/tvmffi-go/tvmffi/internal/core"
)

// definition is what Define collects, and, once registered, the type.
type definition struct {
	key     string
	options []TypeOption
	record  reflect.Type // the struct
	handle  reflect.Type // *Instance of it
	class   core.Type

	doc        string
	final      bool
	frozen     bool
	kwOnly     bool
	structural StructuralKind
	state      reflect.Type
}

type recordField struct{}

func (d *definition) declare()                                      {}
func (d *definition) register() error                               { return errorf(core.KindRuntime, "not there yet") }
func (d *definition) defaults(reflect.Value) error                  { return d.register() }
func (d *definition) make(reflect.Value) (*core.Object, error)      { return nil, d.register() }
func (d *definition) load(*core.Object, reflect.Value) error        { return d.register() }
func (d *definition) store(*core.Object, reflect.Value) error       { return d.register() }
func (d *definition) fieldAt(record, field any) *recordField        { return nil }
func (d *definition) setParent(*core.Type)                          {}
func (d *definition) setDefault(string, reflect.Value, bool)        {}
func (d *definition) setConverter(string, reflect.Value)            {}
func (d *definition) addMethod(string, any, []RegisterOption, bool) {}
func (d *definition) addAttribute(string, any)                      {}
func classOfRecord(t reflect.Type) *core.Type                       { return &recordOf(t).class }
func recordOf(t reflect.Type) *definition                           { return nil }
func hook(name string, f, adapted any) TypeOption                   { return nil }
func stateValue(ObjectRef, reflect.Type, func() any) (any, error)   { return nil, nil }
