package tvmffi

import (
	"path/filepath"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/libraries"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// Module is an ffi.Module: a set of functions, such as the exported functions of a shared
// library. Methods return an error if the Module is nil or was released.
type Module struct {
	_ [0]*Module // see Object
	objectBase
}

var (
	typeModule         = fields.Type{Key: "ffi.Module"}
	moduleImportsField = fields.Field{Owner: &typeModule, Name: "imports_"}
	moduleSystemLib    = calls.Func{Name: "ffi.SystemLib"}
	moduleImplements   = calls.Func{Name: "ffi.ModuleImplementsFunction"}
	moduleKind         = calls.Func{Name: "ffi.ModuleGetKind"}
	moduleProperties   = calls.Func{Name: "ffi.ModuleGetPropertyMask"}
	moduleDoc          = calls.Func{Name: "ffi.ModuleGetFunctionDoc"}
	moduleImport       = calls.Func{Name: "ffi.ModuleImportModule"}
	moduleClearImports = calls.Func{Name: "ffi.ModuleClearImports"}
	moduleFormats      = calls.Func{Name: "ffi.ModuleGetWriteFormats"}
	moduleWrite        = calls.Func{Name: "ffi.ModuleWriteToFile"}
	moduleSource       = calls.Func{Name: "ffi.ModuleInspectSource"}
)

// TVMFFIType identifies the type to the runtime.
func (*Module) TVMFFIType(*Module) *fields.Type { return &typeModule }

// LoadModule loads a shared library, or another file for which a loader is registered, as a
// module. Each call returns a module of its own, whose reference the caller owns. The
// library stays loaded until the process ends, so everything that came from it may outlive
// the module. If the library registers functions or types, and the process has loaded a copy
// of its file, the module is of that copy.
func LoadModule(path string) (*Module, error) {
	if err := Load(); err != nil {
		return nil, err
	}
	if path == "" {
		return nil, failure.Errorf(failure.KindValue, "the path of a module is empty: name the file of a library")
	}
	if strings.IndexByte(path, 0) >= 0 { // C would load the file of the name before it
		return nil, failure.Errorf(failure.KindValue, "no file can have the name %q, which has a zero byte", path)
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := libraries.CheckModule(full); err != nil {
		return nil, err
	}
	// The library may register functions and types.
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	if full, err = libraries.FileToLoad(full); err != nil {
		return nil, err
	}
	before := libraries.Registered(full)
	var c calls.Call24
	c.Begin(&calls.ModuleLoadFromFile, 1)
	c.String(0, full)
	m, err := moduleOf(&c.Call)
	if err != nil {
		return nil, libraries.ModuleError(full, err)
	}
	objects.IncRef(codec.Ref(m).Handle()) // so it is never unloaded
	before.Keep()
	if err := before.Fits(); err != nil {
		m.Release()
		return nil, err
	}
	return m, nil
}

// SystemLib returns the module of the functions that were linked into the process and
// registered under prefix, which is usually empty. Each call returns the same object.
func SystemLib(prefix string) (*Module, error) {
	if err := Load(); err != nil {
		return nil, err
	}
	var c calls.Call8
	c.Begin(&moduleSystemLib, 1)
	c.String(0, prefix)
	return moduleOf(&c.Call)
}

// moduleOf makes the call c, whose result is a module.
func moduleOf(c *calls.Call) (*Module, error) {
	if err := c.Do(); err != nil {
		return nil, err
	}
	o, err := c.ObjectResult(&typeModule)
	if err == nil && o == nil {
		err = failure.Errorf(failure.KindRuntime, "%s returned None, expected a module", c.Target())
	}
	return codec.Wrap[*Module](o), err
}

// ModuleLookup changes where a module looks for a function. [OwnFunctions] makes one.
type ModuleLookup func(*moduleLookup)

type moduleLookup struct{ own bool }

// OwnFunctions excludes the functions of the modules that the module imports.
func OwnFunctions() ModuleLookup { return func(l *moduleLookup) { l.own = true } }

// about begins a call of f that asks about a function of the module.
func (m *Module) about(c *calls.Call12, f *calls.Func, name string, options []ModuleLookup) {
	var l moduleLookup
	for _, option := range options {
		option(&l)
	}
	c.Begin(f, 3)
	c.Self(0, codec.Ref(m))
	c.String(1, name)
	c.Bool(2, !l.own)
}

// Function returns a function of the module or of a module that it imports. The caller owns
// the reference. Keep the result if it is used often, because each call looks up the name.
// The error is of kind ErrAttribute if there is no function of that name.
func (m *Module) Function(name string, options ...ModuleLookup) (*Function, error) {
	if strings.IndexByte(name, 0) >= 0 { // C would find the function of the name before it
		return nil, failure.Errorf(failure.KindAttr, "the module has no function %q, whose name has a zero byte", name)
	}
	var c calls.Call12
	m.about(&c, &calls.ModuleGetFunction, name, options)
	if err := c.Do(); err != nil {
		return nil, err
	}
	o, err := c.ObjectResult(&typeFunction)
	if err == nil && o == nil {
		err = failure.Errorf(failure.KindAttr, "the module has no function %s", name)
	}
	return codec.Wrap[*Function](o), err
}

// Has reports whether the module, or a module that it imports, has a function of that name.
func (m *Module) Has(name string, options ...ModuleLookup) (bool, error) {
	if strings.IndexByte(name, 0) >= 0 {
		return false, nil
	}
	var c calls.Call12
	m.about(&c, &moduleImplements, name, options)
	if err := c.Do(); err != nil {
		return false, err
	}
	return c.BoolResult()
}

// FunctionMetadata returns the metadata of a function of the module or of a module that it
// imports: a JSON text with the type schema. It is empty if the function has no metadata.
func (m *Module) FunctionMetadata(name string, options ...ModuleLookup) (string, error) {
	return m.str(&calls.ModuleGetMetadata, name, options)
}

// FunctionDoc returns the doc comment of a function of the module or of a module that it
// imports. It is empty if the function has none.
func (m *Module) FunctionDoc(name string, options ...ModuleLookup) (string, error) {
	return m.str(&moduleDoc, name, options)
}

// str calls f about a function of the module. It returns the string that f returns, or ""
// for None.
func (m *Module) str(f *calls.Func, name string, options []ModuleLookup) (string, error) {
	if strings.IndexByte(name, 0) >= 0 {
		return "", nil
	}
	var c calls.Call12
	m.about(&c, f, name, options)
	str, isString, err := c.TryString()
	if err == nil && !isString {
		codec.Release(c.Take()) // None
	}
	return str, err
}

// Kind returns the kind of the module, such as "library".
func (m *Module) Kind() (string, error) {
	var c calls.Call4
	c.Begin(&moduleKind, 1)
	c.Self(0, codec.Ref(m))
	return c.DoString()
}

// ModuleProperties is a set of properties of a module.
type ModuleProperties int64

// The properties of modules.
const (
	// ModuleSerializable is set for a module that can be written as bytes.
	ModuleSerializable ModuleProperties = 1 << iota
	// ModuleRunnable is set for a module whose functions can be called.
	ModuleRunnable
	// ModuleExportable is set for a module that can be written as an object file or
	// as source code.
	ModuleExportable
)

// Has reports whether p contains all properties of q.
func (p ModuleProperties) Has(q ModuleProperties) bool { return p&q == q }

// Properties returns the properties of the module.
func (m *Module) Properties() (ModuleProperties, error) {
	var c calls.Call1
	c.Begin(&moduleProperties, 1)
	c.Self(0, codec.Ref(m))
	if err := c.Do(); err != nil {
		return 0, err
	}
	p, err := c.IntResult()
	return ModuleProperties(p), err
}

// Imports returns the modules that m imports. The caller owns a reference to each.
func (m *Module) Imports() (imports []*Module, err error) {
	defer codec.Catch(&err)
	return codec.Take[[]*Module](moduleImportsField.Get(codec.Ref(m)))
}

// Import adds other to the imports of m, so that m also finds the functions of other. The
// error is of kind ErrRuntime if the imports would form a cycle.
func (m *Module) Import(other *Module) error {
	var c calls.Call2
	c.Begin(&moduleImport, 2)
	c.Self(0, codec.Ref(m))
	if other == nil {
		return failure.Errorf(failure.KindType, "%s: the module to import is nil", &moduleImport)
	}
	c.Object(1, codec.Ref(other))
	return c.Do()
}

// ClearImports removes all imports of m.
func (m *Module) ClearImports() error {
	var c calls.Call1
	c.Begin(&moduleClearImports, 1)
	c.Self(0, codec.Ref(m))
	return c.Do()
}

// WriteFormats returns the formats in which [Module.WriteToFile] can write the module. A
// shared library has none.
func (m *Module) WriteFormats() ([]string, error) {
	var c calls.Call1
	c.Begin(&moduleFormats, 1)
	c.Self(0, codec.Ref(m))
	if err := c.Do(); err != nil {
		return nil, err
	}
	return codec.Take[[]string](c.Take())
}

// WriteToFile writes the module to the file path in one of its [Module.WriteFormats].
func (m *Module) WriteToFile(path, format string) error {
	if strings.IndexByte(path, 0) >= 0 { // Abs refuses it in its own words on Windows
		return failure.Errorf(failure.KindValue, "no file can have the name %q, which has a zero byte", path)
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	var c calls.Call24
	c.Begin(&moduleWrite, 3)
	c.Self(0, codec.Ref(m))
	c.String(1, full)
	c.String(2, format)
	return c.Do()
}

// Source returns the source code of the module in the given format. If format is empty, the
// module chooses one. A shared library has no source code.
func (m *Module) Source(format string) (string, error) {
	var c calls.Call8
	c.Begin(&moduleSource, 2)
	c.Self(0, codec.Ref(m))
	c.String(1, format)
	return c.DoString()
}
