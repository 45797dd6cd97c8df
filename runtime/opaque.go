package tvmffi

import (
	"runtime"

	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// GoValue is an object that carries a Go value through native code: containers,
// fields and functions of any language hold it, and [Unwrap] gives the very value
// back. The value lives until the last reference to the object ends. Other
// languages see an object without fields, which no other Go runtime in the process
// takes for its own.
type GoValue struct{ objectBase }

var typeGoValue = core.Type{Key: "go.Value", Resolve: failure.ValueType}

// TVMFFIType identifies the type to the runtime.
func (*GoValue) TVMFFIType(*GoValue) *core.Type { return &typeGoValue }

// Wrap makes an object that carries v.
func Wrap(v any) (*GoValue, error) {
	if err := Load(); err != nil {
		return nil, err
	}
	handle, err := failure.NewValue(v)
	if err != nil {
		return nil, err
	}
	return codec.Wrap[*GoValue](objects.Own(handle)), nil
}

// Unwrap returns the Go value that x carries, if it is a V.
func Unwrap[V any](x ObjectRef) (V, bool) {
	s := objects.StateOf(x)
	value, _ := failure.GoValue(s.Handle())
	runtime.KeepAlive(s)
	v, ok := value.(V)
	return v, ok
}
