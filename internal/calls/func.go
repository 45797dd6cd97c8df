package calls

import (
	"cmp"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/libraries"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/registry"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// Func is a function that generated code calls: a global function, an export of
// a module, or a method. It is resolved on first use and then held forever.
type Func struct {
	Library *libraries.Library
	// Module is the file whose export the function is; empty for others.
	Module string
	// Owner is the type whose method the function is; nil for others.
	Owner *fields.Type
	// Attribute is set for a method that is a type attribute.
	Attribute bool
	// Brief is what is known of how long calls take.
	Brief Brevity
	// Name is the name in the registry, the module or the type.
	Name string
	// Sig is the canonical text of the signature that the bindings were generated
	// from; empty for packed functions.
	Sig string

	// handle is the Function object, valid once safeCall, its C function, is set.
	handle   uintptr
	safeCall atomic.Uintptr
	way      ccall.Way
	mu       sync.Mutex
	// narrow are the fields that an automatic constructor may cut numbers for, valid
	// like handle.
	narrow *fields.NarrowFields
}

// Brevity says whether the calls of a function are brief. Those of the zero Brevity are timed.
type Brevity uint8

// The brevities that bindings may know of.
const (
	// Always makes calls light from the first one.
	Always Brevity = 1 + iota
	// Never makes calls ordinary.
	Never
)

// String returns the full name of the function.
func (f *Func) String() string {
	switch {
	case f == nil:
		return "function"
	case f.Owner != nil:
		return f.Owner.Key + "." + f.Name
	case f.Module != "":
		return f.Module + ":" + f.Name
	}
	return f.Name
}

// Resolve finds the Function object behind f and keeps it. Nothing is locked while
// it looks: a library that is being loaded holds the Registry and may call Go, which
// needs f. Of two that look at the same time the second gives back what it found.
func (f *Func) Resolve() error {
	if f.safeCall.Load() != 0 {
		return nil
	}
	handle, err := f.find()
	if err != nil {
		return err
	}
	var narrow *fields.NarrowFields
	if f.Attribute && f.Name == fields.InitName {
		info, err := f.Owner.Info()
		if err != nil {
			return err
		}
		narrow = fields.NarrowFieldsOf(info)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.safeCall.Load() != 0 {
		objects.DecRef(handle)
		return nil
	}
	f.handle, f.narrow = handle, narrow
	ccall.Named(handle, f.String())
	if f.Brief != 0 {
		f.way.Say(f.Brief == Always)
	}
	f.safeCall.Store(capi.SafeCall(handle))
	return nil
}

// Handle returns the Function object behind f, which f keeps.
func (f *Func) Handle() (uintptr, error) {
	if f.safeCall.Load() == 0 {
		if err := f.Resolve(); err != nil {
			return 0, err
		}
	}
	return f.handle, nil
}

func (f *Func) find() (uintptr, error) {
	switch {
	case f.Owner != nil && f.Attribute:
		return f.findAttribute()
	case f.Owner != nil:
		return f.findMethod()
	}
	if err := f.Library.Ensure(); err != nil {
		return 0, err
	}
	if f.Module != "" {
		return f.findExport()
	}
	handle, err := registry.GlobalFunction(f.Name)
	if err != nil {
		return 0, err
	}
	if handle == 0 {
		return 0, f.absent("no such global function")
	}
	if f.Sig == "" {
		return handle, nil
	}
	metadata, err := registry.GlobalMetadata(f.Name)
	if err == nil {
		err = f.check(metadata)
	}
	if err != nil {
		objects.DecRef(handle)
		return 0, err
	}
	return handle, nil
}

// Functions of modules that package tvmffi calls too.
var (
	// ModuleLoadFromFile loads a file as a module.
	ModuleLoadFromFile = Func{Name: "ffi.ModuleLoadFromFile"}
	// ModuleGetFunction looks a function of a module up.
	ModuleGetFunction = Func{Name: "ffi.ModuleGetFunction"}
	// ModuleGetMetadata returns the metadata of a function of a module.
	ModuleGetMetadata = Func{Name: "ffi.ModuleGetFunctionMetadata"}
)

func (f *Func) absent(what string) error {
	library := f.Library
	if f.Owner != nil {
		library = f.Owner.Library
	}
	name := f.String()
	return fields.Differs(failure.KindAttr, name+": "+what+": "+library.Lacks(), &fields.Difference{Item: name, Want: cmp.Or(f.Sig, "a packed function"), Got: what})
}

// check compares the signature in metadata with the one in the bindings.
func (f *Func) check(metadata string) error {
	return fields.CheckSignature(f.String(), f.Sig, metadata)
}

func (f *Func) findMethod() (uintptr, error) {
	info, err := f.Owner.Info()
	if err != nil {
		return 0, err
	}
	named := capi.MethodsNamed(info, f.Name)
	if len(named) == 0 {
		return 0, f.absent("no such method")
	}
	m, err := f.overload(named)
	if err != nil {
		return 0, err
	}
	if m.Method.TypeIndex != abi.TypeFunction {
		return 0, f.absent("a method that is not a function")
	}
	objects.IncRef(uintptr(m.Method.Bits))
	return uintptr(m.Method.Bits), nil
}

// overload returns the method with the signature of f among those of its name. If none has it, the
// error describes all.
func (f *Func) overload(named []abi.MethodInfo) (*abi.MethodInfo, error) {
	var got []string
	for i := range named {
		err := f.check(capi.GoString(named[i].Metadata))
		if err == nil {
			return &named[i], nil
		}
		var d *fields.Difference
		if len(named) == 1 || !errors.As(err, &d) {
			return nil, err
		}
		got = append(got, d.Got)
	}
	return nil, fields.CompareSignatures(f.String(), f.Sig, strings.Join(got, " and "))
}

func (f *Func) findAttribute() (uintptr, error) {
	info, err := f.Owner.Info()
	if err != nil {
		return 0, err
	}
	v, ok := capi.TypeAttribute(info.TypeIndex, f.Name)
	if !ok || v.TypeIndex != abi.TypeFunction {
		return 0, f.absent("no such type attribute")
	}
	if f.Sig != "" {
		sig, err := fields.Positional(info)
		if err == nil {
			err = fields.CompareSignatures(f.String(), f.Sig, sig)
		}
		if err != nil {
			return 0, err
		}
	}
	objects.IncRef(uintptr(v.Bits))
	return uintptr(v.Bits), nil
}

// findExport loads the file as a module and takes the function from it. The
// module stays loaded, as the function does.
func (f *Func) findExport() (uintptr, error) {
	path, err := f.Library.PathOf(f.Module)
	if err != nil {
		return 0, err
	}
	module, err := moduleAt(path)
	if err != nil {
		return 0, err
	}
	query := func(g *Func) (abi.Any, error) {
		name, err := values.NewString(f.Name)
		if err != nil {
			return abi.Any{}, err
		}
		return g.apply(objects.Share(module), name, abi.Any{TypeIndex: abi.TypeBool})
	}
	if f.Sig != "" {
		v, err := query(&ModuleGetMetadata)
		if err != nil {
			return 0, err
		}
		metadata, _ := capi.StringOf(v)
		objects.ReleaseValue(v)
		if err := f.check(metadata); err != nil {
			return 0, err
		}
	}
	v, err := query(&ModuleGetFunction)
	if err != nil {
		return 0, err
	}
	if v.TypeIndex != abi.TypeFunction {
		return 0, f.absent("no such function of the module")
	}
	return uintptr(v.Bits), nil
}

// apply calls f with packed values, whose references it takes over, and returns the result,
// owned.
func (f *Func) apply(args ...abi.Any) (abi.Any, error) {
	defer func() {
		for _, v := range args {
			objects.ReleaseValue(v)
		}
	}()
	handle, err := f.Handle()
	if err != nil {
		return abi.Any{}, err
	}
	return failure.ApplyAs(f.String(), handle, args)
}

// modules are the modules of exports by their paths; the Registry guards it.
var modules = map[string]abi.Any{}

// moduleAt loads the file as a module, once.
func moduleAt(path string) (abi.Any, error) {
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	if m, ok := modules[path]; ok {
		return m, nil
	}
	text, err := values.NewString(path)
	if err != nil {
		return abi.Any{}, err
	}
	m, err := ModuleLoadFromFile.apply(text)
	if err != nil {
		return abi.Any{}, libraries.ModuleError(path, err)
	}
	modules[path] = m
	return m, nil
}
