package tvmffi

import (
	"runtime"

	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// Moved is an argument that gives its reference away. [Move] makes one.
type Moved struct{ object ObjectRef }

// Move returns an argument that passes x as an RValueRef, like std::move in C++. The call
// takes the reference of x over: x ends when the call is made, as after Release. If that
// was the only reference, the callee may change the object in place instead of copying it.
// Move is for parameters of type Any, and for parameters of type RValueRef in a call by name, such
// as [Function.Call]: a generated func has an object type there. Other parameters of C++
// functions return an error of kind ErrType. A Go func gets a moved argument as an object
// that is borrowed, like all its arguments. It may move it on.
//
// As the result of a callback, Move(x) gives the reference of x to the caller. Without Move,
// x has a second reference, which the garbage collector releases later. To release x with
// defer would be too early: the result is read after the func has returned.
func Move(x ObjectRef) Moved { return Moved{x} }

func (m Moved) encode(*codec.Nest) (values.AnyView, error) {
	o := objects.StateOf(m.object)
	t, err := codec.EncodeObject(o)
	if err != nil || !t.Value.TypeIndex.IsObject() {
		return t, err // None, or a borrowed tensor
	}
	objects.IncRef(uintptr(t.Value.Bits))
	o.Release()
	runtime.KeepAlive(m.object)
	return values.AnyView{Value: t.Value, Owned: true, Moved: true}, nil
}
