package fields

import (
	"sync/atomic"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/libraries"
	"github.com/tvmffi-go/tvmffi/internal/registry"
)

// Type is an object type that generated code knows, resolved on first use.
type Type struct {
	// Library is what must be loaded before the key is registered; nil for the
	// types of libtvm_ffi.
	Library *libraries.Library
	Key     string
	// Resolve, if it is set, returns the index of a type that this program makes,
	// and makes it first where needed.
	Resolve func() (abi.TypeIndex, error)

	info atomic.Pointer[abi.TypeInfo]
}

// Info returns the entry of the type table.
func (t *Type) Info() (*abi.TypeInfo, error) {
	if info := t.info.Load(); info != nil {
		return info, nil
	}
	index, err := t.index()
	if err != nil {
		return nil, err
	}
	info := capi.InfoOfRegistered(index)
	t.info.Store(info)
	return info, nil
}

func (t *Type) index() (abi.TypeIndex, error) {
	if t.Resolve != nil {
		return t.Resolve()
	}
	if err := t.Library.Ensure(); err != nil {
		return 0, err
	}
	index, err := registry.IndexOfKey(t.Key)
	if err != nil {
		d := &Difference{Item: "type " + t.Key, Want: "an object type", Got: "no such type", Cause: err}
		return 0, Differs(failure.KindAttr, d.Item+" is not registered: "+t.Library.Lacks(), d)
	}
	return index, nil
}

// Is reports whether an object of the given type is a t and of no type that derives from it. It may be false before the
// first use of t even then.
func (t *Type) Is(index abi.TypeIndex) bool {
	info := t.info.Load()
	return info != nil && info.TypeIndex == index
}

// Accepts reports whether an object of the given type is a t.
func (t *Type) Accepts(index abi.TypeIndex) (bool, error) {
	if t.Is(index) {
		return true, nil
	}
	info, err := t.Info()
	if err != nil {
		return false, err
	}
	return capi.Derives(index, info), nil
}
