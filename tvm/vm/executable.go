package vm

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/generated/tvm/vm"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Executable is a compiled model: the code of its functions, its constants, and the kernels
// that it calls.
type Executable struct {
	module *tvmffi.Module
	name   string
}

// Load loads a model from a file, such as a shared library of TVM's export_library. The options
// say where libtvm_runtime is; by default it is found as for every generated package. The code in
// the file stays loaded until the process ends. The caller owns the executable.
func Load(path string, options ...tvmffi.LoadOption) (*Executable, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fail("load", path, err)
	}
	if err := vm.Load(options...); err != nil {
		return nil, fail("load", path, fmt.Errorf("a Relax executable needs libtvm_runtime: %w", err))
	}
	module, err := tvmffi.LoadModule(path)
	if err != nil {
		return nil, fail("load", path, err)
	}
	e, err := Of(module)
	if err != nil {
		module.Release()
		return nil, fail("load", path, err.(*Error).Err)
	}
	e.name = path
	return e, nil
}

// Of returns the executable in a module, such as one on the other side of an RPC session. The
// caller owns the executable, which takes over the module if there is no error.
func Of(module *tvmffi.Module) (*Executable, error) {
	kind, err := module.Kind()
	if err != nil {
		return nil, fail("use", "module", err)
	}
	if has, err := module.Has("vm_load_executable"); err != nil || !has {
		if err == nil {
			err = fmt.Errorf("it is a module of kind %s without a Relax executable: compile a model with relax.build, and export what that returns", kind)
		}
		return nil, fail("use", "module", err)
	}
	return &Executable{module, kind}, nil
}

// Release ends the executable. Its machines stay usable.
func (e *Executable) Release() { e.module.Release() }

// Text returns the instructions of all functions in a readable form.
func (e *Executable) Text() (string, error) {
	text, err := call[string](e.module, "as_text")
	return text, fail("text of", e.name, err)
}

// Signatures returns the signatures of the executable's functions, sorted by name, without
// kernels and functions of the runtime.
func (e *Executable) Signatures() ([]Signature, error) {
	text, err := e.Text()
	if err != nil {
		return nil, err
	}
	machine, err := call[*tvmffi.Module](e.module, "vm_load_executable") // knows the parameters
	if err != nil {
		return nil, fail("signatures of", e.name, err)
	}
	defer machine.Release()
	var all []Signature
	for _, name := range functionNames(text) {
		s, err := signatureOf(machine, name)
		if err != nil {
			return nil, fail("signature of", name, err)
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Signature) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// call calls a function of a module and returns its result as a T.
func call[T any](module *tvmffi.Module, name string, args ...any) (T, error) {
	var zero T
	f, err := module.Function(name)
	if err != nil {
		return zero, err
	}
	defer f.Release()
	v, err := f.Call(args...)
	if err != nil {
		return zero, err
	}
	return tvmffi.As[T](v)
}
