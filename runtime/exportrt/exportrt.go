// Package exportrt serves the code that "tvmffi-bind export" writes. It is not for use by
// hand.
//
// Exports lists the functions and types of a Go package that have directives, or the
// kernels of a package of kernels. In a Go program, Register registers them in the process.
// In a shared library for Python, C++ or Rust, Ready registers them while the library is
// being loaded, and connects the exported C symbols.
package exportrt

import (
	"maps"
	"reflect"
	"slices"
	"sync"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/registry"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// Generation1 is named by the code that this generation of the generator writes, like
// bindrt.Generation1 by bindings.
const Generation1 = 1

// Type is an object type of the package: a *define.Type.
type Type interface {
	Key() string
	Register() error
}

// Function is an exported function.
type Function struct {
	// Name is the name of the C symbol, without its prefix __tvm_ffi_.
	Name string
	// Global is the name in the registry. If it is empty, the name is the prefix of the
	// library followed by Name. A method with a context has the type key, a dot and the
	// name of the method here, for its asynchronous form.
	Global string
	// Doc is the doc comment that other languages see.
	Doc string
	// Params are the names of the parameters.
	Params []string
	// Optional is the number of parameters with a default, and Variadic is set if the last
	// parameter takes any number of arguments.
	Optional int
	Variadic bool
	// Func is the Go func, or a func with the signature that other languages see.
	Func any
	// Signature is the signature that other languages see if no Go func has it. It has
	// the form of tvmffi.Signature.
	Signature string
	// Origin is the Go func if Func is another one.
	Origin any
	// Call reads the arguments, calls the Go func and returns its result.
	Call func(*bindrt.Args) error
	// Context is set if Call ends with Interruptible, because the Go func takes a context.
	Context bool
}

// Exports lists what a Go package offers to other languages.
type Exports struct {
	// Name is the name of the shared library, without lib and .so.
	Name string
	// Prefix precedes the names of functions in the registry, such as "golib.".
	Prefix string
	// Types are the object types of the package.
	Types []Type
	// Functions are the functions of the package.
	Functions []Function
	// Methods are the methods with a context. The types have them too.
	Methods []Function
	// Errors are the error types of the package.
	Errors []ErrorType
	// Enums are its types with exported constants.
	Enums []Enum
	// Goexit is set if the package or one that it imports uses runtime.Goexit. In a shared
	// library, Go funcs that become functions of other languages at run time are contained
	// then, like the funcs with Contained.
	Goexit bool
	// Includes are packages whose functions and types this package offers too, under
	// the names that they have in the registry.
	Includes []*Exports

	mu   sync.Mutex
	done bool
	err  error
}

// Register registers the functions and types, so that all languages of the process can use
// them. If one cannot be registered, Register removes the functions that it registered
// before and returns the error. A second call returns the result of the first. Register
// registers the included packages first; each is registered only once. It may be called
// from any goroutine.
func (l *Exports) Register() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.register()
}

func (l *Exports) register() error {
	if !l.done {
		l.err, l.done = l.attempt(), true
	}
	return l.err
}

func (l *Exports) attempt() (err error) {
	// User code or this package may panic. In a library that is being loaded, the panic
	// would end the host.
	defer func() {
		if p := recover(); p != nil {
			err = failure.Recovered(p, "the registration of "+l.Name)
		}
	}()
	if err := tvmffi.Load(); err != nil {
		return err
	}
	for _, in := range l.Includes {
		if err := in.Register(); err != nil {
			return err
		}
	}
	if err := l.declareErrors(); err != nil {
		return err
	}
	for _, e := range l.Enums {
		codec.SetEnum(e.t, e.name)
	}
	functions := l.functions()
	for _, f := range functions {
		name := l.global(f)
		if err := registry.Taken(name); err != nil {
			return failure.Explain(err, "%s cannot be registered: the global function %s already exists. "+
				"If the same library was loaded under another name, load it only once. "+
				"Otherwise set another name with --prefix of export, or with register of a kernel", l.Name, name)
		}
	}
	for _, t := range l.Types {
		if err := t.Register(); err != nil {
			return err
		}
	}
	for i, f := range functions {
		if err := l.registerGlobal(f); err != nil {
			for _, before := range functions[:i] {
				_, _ = tvmffi.Unregister(l.global(before))
			}
			return err
		}
	}
	return nil
}

// functions returns the functions of the package itself, with the one that starts
// asynchronous calls if there is something to start.
func (l *Exports) functions() []*Function {
	var all []*Function
	for i := range l.Functions {
		all = append(all, &l.Functions[i])
	}
	if len(l.Methods) > 0 || slices.ContainsFunc(all, func(f *Function) bool { return f.Context }) {
		all = append(all, l.async())
	}
	return all
}

// global returns the name of f in the registry.
func (l *Exports) global(f *Function) string {
	if f.Global != "" {
		return f.Global
	}
	return l.Prefix + f.Name
}

// named returns the functions by name, also of included packages.
func (l *Exports) named() map[string]*Function {
	all := map[string]*Function{}
	for _, in := range l.Includes {
		maps.Copy(all, in.named())
	}
	for i := range l.Functions {
		all[l.Functions[i].Name] = &l.Functions[i]
	}
	all[asyncName] = l.async()
	return all
}

// registerGlobal registers f as a global function.
func (l *Exports) registerGlobal(f *Function) error {
	name := l.global(f)
	if err := registry.CheckName("the name of a global function", name); err != nil {
		return err
	}
	doc, metadata, err := f.describe()
	if err != nil {
		return failure.Errorf(failure.KindType, "%s: %w", name, err)
	}
	fn := objects.Own(callbacks.NewDescribed(f.Call, f.origin(), f.about()))
	defer fn.Release()
	return registry.SetGlobalMethod(&registry.Method{Name: name, Doc: doc, Metadata: metadata, Function: fn}, false)
}

// about describes f for the errors about its arguments.
func (f *Function) about() *callbacks.About {
	return &callbacks.About{Name: f.Name, Params: f.Params, Optional: f.Optional, Variadic: f.Variadic}
}

// describe returns the doc comment with the parameters, and the JSON text with the signature.
func (f *Function) describe() (doc, metadata string, err error) {
	r := codec.Registration{Doc: f.Doc}
	for _, name := range f.Params {
		r.Params = append(r.Params, [2]string{name, ""})
	}
	t := codec.FuncType(f.Func)
	if f.Signature != "" {
		r.Signature = &f.Signature
	} else if t != nil && !codec.IsPacked(t) {
		if _, err := codec.SignatureOf(t); err != nil {
			return "", "", err
		}
	}
	return r.Describe(t, "")
}

// origin returns the address of the code of the Go func, for backtraces.
func (f *Function) origin() uintptr {
	if f.Origin != nil {
		return reflect.ValueOf(f.Origin).Pointer()
	}
	return reflect.ValueOf(f.Func).Pointer()
}

// Method returns the option of define.Method with the code that reads the arguments of a
// method. f.Name has the names of the type and the method, such as Point.move.
func Method(f Function) tvmffi.RegisterOption {
	about := f.about()
	about.Method = true
	return func(r *codec.Registration) { r.Call, r.Origin, r.About = f.Call, f.origin(), about }
}
