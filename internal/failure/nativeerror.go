package failure

import (
	"errors"
	"runtime"
	"sync"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/objects"

	"github.com/ebitengine/purego"
)

// Backtraces guards the backtraces of Error objects. One thread may read a backtrace while
// the same error passes through another thread, which adds to it.
var Backtraces sync.Mutex

// NewError makes an Error object and returns its only reference. The object keeps cause and
// context, which are objects or 0.
func NewError(kind, message, backtrace string, cause, context uintptr) (uintptr, error) {
	c := &struct { // one allocation
		kind, message, backtrace abi.ByteArray
		out                      uintptr
	}{*capi.ByteArray(kind), *capi.ByteArray(message), *capi.ByteArray(backtrace), 0}
	rc, _, _ := purego.SyscallN(capi.API.ErrorCreate, capi.Address(&c.kind), capi.Address(&c.message), capi.Address(&c.backtrace), cause, context, capi.Address(&c.out))
	capi.KeepAlive(&c.kind, kind)
	capi.KeepAlive(&c.message, message)
	capi.KeepAlive(&c.backtrace, backtrace)
	handle := c.out
	if int32(rc) != 0 || handle == 0 {
		return 0, errors.New("TVMFFIErrorCreateWithCauseAndExtraContext failed")
	}
	return handle, nil
}

// AppendBacktrace adds text to the backtrace of an Error object.
func AppendBacktrace(o *objects.Object, text string) {
	Backtraces.Lock()
	defer Backtraces.Unlock()
	cell := capi.PointerTo[abi.ErrorCell](o.Addr() + abi.ObjectSize)
	array := capi.ByteArray(text)
	purego.SyscallN(cell.UpdateBacktrace, o.Addr(), capi.Address(array), abi.BacktraceAppend)
	capi.KeepAlive(array, text)
	runtime.KeepAlive(o)
}
