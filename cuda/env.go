package cuda

import (
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/ebitengine/purego"
)

// The functions of libtvm_ffi for the stream of a thread, 0 until that
// library is loaded.
var envGet, envSet atomic.Uintptr

// findEnv looks for the functions if libtvm_ffi is loaded.
func findEnv() bool {
	if envGet.Load() != 0 {
		return true
	}
	if !capi.Attached() {
		return false
	}
	h, err := dynlib.Loaded(tvmffi.LibraryPath())
	if err != nil {
		return false
	}
	get, err := h.Symbol("TVMFFIEnvGetStream")
	if err != nil {
		return false
	}
	set, err := h.Symbol("TVMFFIEnvSetStream")
	if err != nil {
		return false
	}
	envSet.Store(set)
	envGet.Store(get)
	return true
}

// envStream returns the environment stream of the calling thread, 0 without one.
func (g *guard) envStream() uintptr {
	if !findEnv() {
		return 0
	}
	args := g.within.Args[:2] // on the heap already
	args[0], args[1] = abi.DLCUDA, uintptr(g.p.device)
	h, _, _ := purego.SyscallN(envGet.Load(), args...)
	return h
}

// setEnvStream sets the environment stream of the calling thread and returns the
// one before.
func setEnvStream(d Device, h uintptr) (before uintptr, err error) {
	old := new(uintptr)
	rc, _, _ := purego.SyscallN(envSet.Load(), abi.DLCUDA, uintptr(d), h, uintptr(unsafe.Pointer(old)))
	if int32(rc) != 0 {
		return 0, tvmffi.NewError("RuntimeError", "TVMFFIEnvSetStream failed for "+d.String())
	}
	return *old, nil
}
