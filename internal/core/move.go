package core

import (
	"runtime"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"

	"github.com/ebitengine/purego"
)

// moved is where a callee finds the handle of an object that it may take; it leaves
// null behind then. It lies on the heap, which does not move, until the call is over.
type moved struct{ handle uintptr }

// newMoved makes the value of an object that a call may take, whose reference it
// takes over.
func newMoved(handle uintptr) (*moved, abi.Any) {
	m := &moved{handle}
	return m, abi.Any{TypeIndex: abi.TypeObjectRValueRef, Bits: uint64(address(m))}
}

// end drops the reference that nobody took.
func (m *moved) end() {
	if m.handle != 0 {
		DecRef(m.handle)
	}
}

// NewFunction makes a Function object of a C function of the form
// TVMFFISafeCallType, and returns its only reference. self is its first argument,
// which deleter, unless 0, gets when the last reference goes.
func NewFunction(self, call, deleter uintptr) (uintptr, error) {
	out, err := invoke(API.FunctionCreate, self, call, deleter)
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
	c.at = [5]uintptr{address(&c.handle), address(&c.args), address(&c.n), address(&c.result), address(&c.rc)}
	purego.SyscallN(f, address(&c.at))
	rc := c.rc
	runtime.KeepAlive(c)
	if rc == 0 {
		return nil
	}
	// A callback stays on the thread that it was called on.
	raised := new(uintptr)
	purego.SyscallN(API.ErrorMoveFromRaised, address(raised))
	return errorOf(int64(rc), *raised)
}

// hostError is the return code of a function that leaves its error with the host
// language, as Python does for KeyboardInterrupt.
const hostError = -2

// errorOf makes the error of a call that returned rc. raised, owned, was in the
// error slot of the thread; if the host has the error, it is of another call.
func errorOf(rc int64, raised uintptr) error {
	switch rc {
	case hostError:
		dropError(rc, raised)
		return Errorf(KindSignal, "the error of the function is with its host language, which was interrupted")
	case ccall.Thrown:
		return thrown("the function", raised)
	}
	return ErrorOf(raised)
}

// dropError drops what errorOf would make an error of.
func dropError(rc int64, raised uintptr) {
	if raised != 0 && rc != ccall.Thrown {
		DecRef(raised)
	}
}
