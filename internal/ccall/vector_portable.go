//go:build !((linux || darwin) && (amd64 || arm64)) || tvmffi_portable

package ccall

import (
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// SetAllocator does nothing: arrays are not built in place on this path.
func SetAllocator(_, _ uintptr) {}

// Allocate returns 0: there is no memory for arrays on this path.
func Allocate(uintptr) uintptr { return 0 }

// ReleaseArray is 0: arrays cannot be built in place, because a deleter must not
// enter Go.
func ReleaseArray() uintptr { return 0 }

// CallAll makes the calls of v, in order, up to the first that fails.
func CallAll(v *Vector) {
	v.Left, v.RC, v.Err = v.N, 0, 0
	// The error slot belongs to the OS thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for at := v.Records; v.Left > 0; at += unsafe.Sizeof(Record{}) {
		r := (*Record)(pointer(at))
		rc, _, _ := purego.SyscallN(r.Fn, r.Handle, r.Args, r.N, r.Res)
		if v.RC = int64(int32(rc)); v.RC != 0 {
			purego.SyscallN(errorMove, uintptr(unsafe.Pointer(&v.Err)))
			return
		}
		v.Left--
	}
}
