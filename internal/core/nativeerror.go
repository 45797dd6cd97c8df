package core

import (
	"errors"
	"runtime"
	"sync"

	"github.com/tvmffi-go/tvmffi/internal/abi"

	"github.com/ebitengine/purego"
)

// Backtraces guards the backtraces of Error objects: they may be read by one
// thread while another, through which the same error passes, adds to them.
var Backtraces sync.Mutex

// NewError makes an Error object and returns its only reference. cause and
// context are objects that it keeps, or 0.
func NewError(kind, message, backtrace string, cause, context uintptr) (uintptr, error) {
	k, m, b, out := byteArray(kind), byteArray(message), byteArray(backtrace), new(uintptr)
	rc, _, _ := purego.SyscallN(API.ErrorCreate, address(k), address(m), address(b), cause, context, address(out))
	keepAlive(k, kind)
	keepAlive(m, message)
	keepAlive(b, backtrace)
	handle := *out
	if int32(rc) != 0 || handle == 0 {
		return 0, errors.New("TVMFFIErrorCreateWithCauseAndExtraContext failed")
	}
	return handle, nil
}

// AppendBacktrace adds text to the backtrace of an Error object.
func AppendBacktrace(o *Object, text string) {
	Backtraces.Lock()
	defer Backtraces.Unlock()
	cell := At[abi.ErrorCell](o.handle + abi.ObjectSize)
	array := byteArray(text)
	purego.SyscallN(cell.UpdateBacktrace, o.handle, address(array), abi.BacktraceAppend)
	keepAlive(array, text)
	runtime.KeepAlive(o)
}
