package define

import (
	"reflect"
	"runtime"
	"sync/atomic"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// State gives each object a Go value of type S, which starts as zero and which
// other languages do not see. [StateOf] returns it. A copy of the object starts
// with a new one. It is freed with the object, and that does not enter Go unless the
// type of the object was derived in another language.
func State[S any]() TypeOption {
	return typeOption(func(d *definition) { d.state = reflect.TypeFor[S]() })
}

// StateOf returns the Go value that the option [State] of its type gives x. The
// pointer is the same for all references to the object, and stays valid. The
// error is of kind ErrType if the type has no state, or one of another type.
func StateOf[S any](x tvmffi.ObjectRef) (*S, error) {
	p, err := stateValue(x, reflect.TypeFor[S](), func() any { return new(S) })
	if err != nil {
		return nil, err
	}
	return p.(*S), nil
}

// stateValue returns the Go value of an object by the option State.
func stateValue(x tvmffi.ObjectRef, t reflect.Type, fresh func() any) (any, error) {
	o, err := codec.Live(x)
	if err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(o)
	d := stateOwner(o.TypeIndex())
	if d == nil {
		return nil, failure.Errorf(failure.KindType, "objects of the type %s have no Go state: give it the option State", capi.KeyOf(o.TypeIndex()))
	}
	if d.state != t {
		return nil, failure.Errorf(failure.KindType, "the Go state of %s is a %s, not a %s", d.key, d.state, t)
	}
	slot := capi.PointerTo[uintptr](o.Handle() + uintptr(d.layout.State))
	for {
		if handle := atomic.LoadUintptr(slot); handle != 0 {
			value, _ := failure.GoValue(handle)
			return value, nil
		}
		handle, err := failure.NewValue(fresh())
		if err != nil {
			return nil, err
		}
		if !atomic.CompareAndSwapUintptr(slot, 0, handle) {
			objects.DecRef(handle)
			continue
		}
		objects.FreeState(o.Handle(), d.layout.State)
	}
}

// stateOwner finds the type with state among a type and its ancestors.
func stateOwner(index abi.TypeIndex) *definition {
	info := capi.InfoOf(index)
	for depth := info.Depth; ; depth-- {
		if d, ok := registered.Load(info.TypeIndex); ok && d.(*definition).state != nil {
			return d.(*definition)
		}
		if depth == 0 {
			return nil
		}
		info = capi.Ancestor(capi.InfoOf(index), depth-1)
	}
}
