package tvmffi

import (
	"runtime"

	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// Opaque is an object that carries a Go value through native code. Containers, fields
// and functions of any language can hold it, and [OpaqueAs] returns the value. The value
// lives until the last reference to the object ends. Other languages see an object
// without fields. If the process has another Go runtime, OpaqueAs reports false there.
type Opaque struct {
	_ [0]*Opaque // see Object
	objectBase
}

var typeOpaque = fields.Type{Key: "go.Value", Resolve: failure.ValueType}

// TVMFFIType identifies the type to the runtime.
func (*Opaque) TVMFFIType(*Opaque) *fields.Type { return &typeOpaque }

// NewOpaque returns a new object that carries v. The caller owns the reference.
func NewOpaque(v any) (*Opaque, error) {
	if err := Load(); err != nil {
		return nil, err
	}
	handle, err := failure.NewValue(v)
	if err != nil {
		return nil, err
	}
	return codec.Wrap[*Opaque](objects.Own(handle)), nil
}

// OpaqueAs returns the Go value that x carries. It reports false if x carries no Go value,
// or if the value is not a V.
func OpaqueAs[V any](x ObjectRef) (V, bool) {
	s := objects.StateOf(x)
	value, _ := failure.GoValue(s.Handle())
	runtime.KeepAlive(s)
	v, ok := value.(V)
	return v, ok
}
