package core

import (
	"runtime"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"

	"github.com/ebitengine/purego"
)

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
