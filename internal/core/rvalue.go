package core

import (
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// moved is where a callee finds the handle of an object that it may take; it leaves
// null behind then. It lies on the heap, which does not move, until the call is over.
type moved struct{ handle uintptr }

// newMoved makes the value of an object that a call may take, whose reference it
// takes over.
func newMoved(handle uintptr) (*moved, abi.Any) {
	m := &moved{handle}
	return m, abi.Any{TypeIndex: abi.TypeObjectRValueRef, Bits: uint64(capi.Address(m))}
}

// end drops the reference that nobody took.
func (m *moved) end() {
	if m.handle != 0 {
		objects.DecRef(m.handle)
	}
}
