package kernelrt

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/core"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Function is a kernel as other languages see it.
type Function struct {
	// Name is the name in the registry.
	Name, Doc string
	// Params are the names of the parameters, Signature their types.
	Params    []string
	Signature string
	// Launch checks the arguments and launches.
	Launch func(args []Value) error
}

// Register makes kernels global functions, all or none.
func Register(functions ...Function) error {
	if err := tvmffi.Load(); err != nil {
		return err
	}
	for i := range functions {
		if err := functions[i].register(); err != nil {
			for j := range i {
				_, _ = tvmffi.Unregister(functions[j].Name)
			}
			return err
		}
	}
	return nil
}

func (f *Function) register() error {
	launch := f.Launch
	handle := core.NewCallback(func(a *core.Args) error {
		args := make([]Value, a.Len())
		for i := range args {
			args[i] = a.Value(i)
		}
		return launch(args)
	})
	// Every object type has the layout of core.Object.
	fn := (*tvmffi.Function)(unsafe.Pointer(core.Own(handle)))
	defer fn.Release()
	options := []tvmffi.RegisterOption{tvmffi.Doc(f.Doc), tvmffi.Signature(f.Signature)}
	for _, name := range f.Params {
		options = append(options, tvmffi.Param(name, ""))
	}
	return tvmffi.Register(f.Name, fn, options...)
}
