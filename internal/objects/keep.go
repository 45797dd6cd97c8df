package objects

import (
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// kept is the value of a node with owners, which live as long as the node. value is what it had before.
type kept struct {
	owners []*Object
	value  any
}

// IsNode reports whether an object is in a node: Go made it, and only its reference count ends it.
func IsNode(handle uintptr) bool {
	return capi.PointerTo[abi.Object](handle).Deleter == ccall.ReleaseObject()
}

// KeepWithNode keeps owners as long as the node of a Function or a Tensor lives, unless it keeps them already. The caller has
// a reference to the node.
func KeepWithNode(handle uintptr, owners []*Object) {
	s := slotOf(handle)
	var with held
	if h := s.Load(); h != nil {
		with = *h
	}
	if k, ok := with.value.(kept); ok && len(k.owners) > 0 && k.owners[0].handle == owners[0].handle {
		return
	}
	with.value = kept{owners, with.value}
	s.Store(&with)
}

// Shared reports whether others than the caller have references to an object.
func Shared(handle uintptr) bool {
	return uint32(atomic.LoadUint64(&capi.PointerTo[abi.Object](handle).RefCounts)) != 1
}

// MoveNodeTo makes memory of the Go heap that of a Tensor in a node. data has the elements in the places that the shape and the
// strides of the tensor name. Nobody else may use the tensor at that time.
func MoveNodeTo(handle uintptr, data unsafe.Pointer) {
	capi.PointerTo[tensorObject](handle).Data = uintptr(data)
	slotOf(handle).set(words{data: data})
}
