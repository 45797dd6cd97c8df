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
	Collect()
	v.RC, v.Err = 0, 0
	if !passes() {
		v.RC, v.Left = Ended, (v.End-v.Results)/resultSize
		return
	}
	// The error slot belongs to the OS thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	result := v.Results
	for at := v.Records; result != v.End; at += unsafe.Sizeof(Record{}) {
		r := (*Record)(pointer(at))
		args := r.Args
		for range r.Calls {
			rc, _, _ := purego.SyscallN(r.Fn, r.Handle, args, r.N, result)
			if v.RC = int64(int32(rc)); v.RC != 0 {
				purego.SyscallN(errorMove, uintptr(unsafe.Pointer(&v.Err)))
				v.Left = (v.End - result) / resultSize
				return
			}
			args += r.N * resultSize
			result += resultSize
		}
	}
	v.Left = 0
}
