package tvmffi

import (
	"runtime"

	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// Moved is an argument that gives its object away; see [Move].
type Moved struct{ object ObjectRef }

// Move makes an argument of x that gives the reference of x away: x has ended when
// the call is made, as after Release, and the callee may be the only owner of the
// object, so that it can change it in place where it would copy it otherwise. It is
// for parameters of type Any and those that are rvalue references in C++
// (RValueRef); other parameters of C++ refuse it.
func Move(x ObjectRef) Moved { return Moved{x} }

func (m Moved) encode(*codec.Nest) (core.AnyView, error) {
	o := objects.StateOf(m.object)
	t, err := codec.EncodeObject(o)
	if err != nil || !t.Value.TypeIndex.IsObject() {
		return t, err // None, or a tensor that was lent
	}
	objects.IncRef(uintptr(t.Value.Bits))
	o.Release()
	runtime.KeepAlive(m.object)
	return core.AnyView{Value: t.Value, Owned: true, Moved: true}, nil
}
