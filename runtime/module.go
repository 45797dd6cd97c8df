package tvmffi

import (
	"path/filepath"

	"github.com/tvmffi-go/tvmffi/internal/core"
)

// Module is an ffi.Module: a set of functions, such as those that a shared
// library exports.
type Module struct{ objectBase }

var (
	typeModule        = core.Type{Key: "ffi.Module"}
	moduleLoad        = core.Func{Name: "ffi.ModuleLoadFromFile"}
	moduleGetFunction = core.Func{Name: "ffi.ModuleGetFunction"}
	moduleKind        = core.Func{Name: "ffi.ModuleGetKind"}
	moduleMetadata    = core.Func{Name: "ffi.ModuleGetFunctionMetadata"}
	moduleDoc         = core.Func{Name: "ffi.ModuleGetFunctionDoc"}
)

// TVMFFIType identifies the type to the runtime.
func (*Module) TVMFFIType(*Module) *core.Type { return &typeModule }

// LoadModule loads a shared library as a module. The library stays loaded for
// the life of the process, because functions and objects may outlive the module.
func LoadModule(path string) (*Module, error) {
	if err := Load(); err != nil {
		return nil, err
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	var c core.Call24
	c.Begin(&moduleLoad, 1)
	c.String(0, full)
	if err := c.Do(); err != nil {
		return nil, err
	}
	o, err := c.ObjectResult(&typeModule)
	if err != nil {
		return nil, err
	}
	core.IncRef(o.Handle()) // keeps the library loaded
	return wrap[*Module](o), nil
}

// Function returns a function of the module. The error is of kind ErrAttribute
// if the module has none of that name.
func (m *Module) Function(name string) (*Function, error) {
	var c core.Call12
	c.Begin(&moduleGetFunction, 3)
	c.Self(0, ref(m))
	c.String(1, name)
	c.Bool(2, true)
	if err := c.Do(); err != nil {
		return nil, err
	}
	o, err := c.ObjectResult(&typeFunction)
	if err == nil && o == nil {
		err = errorf(core.KindAttr, "the module has no function %s", name)
	}
	return wrap[*Function](o), err
}

// Kind returns the kind of the module, such as "library".
func (m *Module) Kind() (string, error) {
	var c core.Call4
	c.Begin(&moduleKind, 1)
	c.Self(0, ref(m))
	return c.DoString()
}

// FunctionMetadata returns the metadata of a function of the module, empty if it
// has none.
func (m *Module) FunctionMetadata(name string) (string, error) { return m.text(&moduleMetadata, name) }

// FunctionDoc returns the doc of a function of the module, empty if it has none.
func (m *Module) FunctionDoc(name string) (string, error) { return m.text(&moduleDoc, name) }

func (m *Module) text(f *core.Func, name string) (string, error) {
	var c core.Call12
	c.Begin(f, 3)
	c.Self(0, ref(m))
	c.String(1, name)
	c.Bool(2, false)
	if err := c.Do(); err != nil {
		return "", err
	}
	s, err := take[*string](c.Take())
	if err != nil || s == nil {
		return "", err
	}
	return *s, nil
}
