package kernelrt

import "github.com/tvmffi-go/tvmffi/internal/callbacks"

// Args are the arguments of a call from another language.
type Args = callbacks.Args

// Values returns the arguments in the form in which a launch checks them. Objects are
// borrowed until the call ends.
func Values(a *Args) []Value {
	args := make([]Value, a.Len())
	for i := range args {
		args[i] = a.Value(i)
	}
	return args
}
