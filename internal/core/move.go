package core

import (
	"runtime"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"

	"github.com/ebitengine/purego"
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

// NewFunction makes a Function object of a C function of the type
// TVMFFISafeCallType, and returns its only reference. self is its first argument,
// which deleter, unless 0, gets when the last reference goes.
func NewFunction(self, call, deleter uintptr) (uintptr, error) {
	out, err := failure.Invoke(capi.API.FunctionCreate, self, call, deleter)
	return first(out), err
}

// packedCall is what a C function of the packed form of MLIR gets: addresses of the
// arguments of a call.
type packedCall struct {
	at     [5]uintptr
	handle uintptr
	args   uintptr
	result uintptr
	n      int32
	rc     int32
}

// CallPacked passes the arguments of a callback to a C function of the form
// void f(void **args), and takes its result.
func (a *Args) CallPacked(f uintptr) error {
	c := &packedCall{args: a.frame.Args, n: int32(a.frame.N), result: a.frame.Res}
	c.at = [5]uintptr{capi.Address(&c.handle), capi.Address(&c.args), capi.Address(&c.n), capi.Address(&c.result), capi.Address(&c.rc)}
	purego.SyscallN(f, capi.Address(&c.at))
	rc := c.rc
	runtime.KeepAlive(c)
	if rc == 0 {
		return nil
	}
	// A callback stays on the thread that it was called on.
	raised := new(uintptr)
	purego.SyscallN(capi.API.ErrorMoveFromRaised, capi.Address(raised))
	return failure.OfCall(int64(rc), *raised)
}
