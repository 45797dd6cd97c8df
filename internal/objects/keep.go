package objects

import (
	"slices"
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

// KeepWithNode keeps owners as long as the node of a Function or a Tensor lives, beside those that it keeps already. The
// caller has a reference to the node.
func KeepWithNode(handle uintptr, owners ...*Object) {
	s := slotOf(handle)
	for {
		before := s.Load()
		var with held
		if before != nil {
			with = *before
		}
		k, ok := with.value.(kept)
		if !ok {
			k.value = with.value
		}
		k.owners = slices.Clone(k.owners)
		for _, o := range owners {
			if !slices.ContainsFunc(k.owners, func(other *Object) bool { return other.handle == o.handle }) {
				k.owners = append(k.owners, o)
			}
		}
		with.value = k
		if s.CompareAndSwap(before, &with) {
			return
		}
	}
}

// MoveNodeTo makes memory of the Go heap that of a Tensor in a node. data has the elements in the places that the shape and the
// strides of the tensor name. Nobody else may use the tensor at that time.
func MoveNodeTo(handle uintptr, data unsafe.Pointer) {
	capi.PointerTo[tensorObject](handle).Data = uintptr(data)
	slotOf(handle).set(words{data: data})
}
