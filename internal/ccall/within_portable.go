//go:build !((linux || darwin) && (amd64 || arm64)) || tvmffi_portable

package ccall

import (
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// CallWithin makes the call of w.
func CallWithin(w *Within) {
	Collect()
	w.Step, w.RC, w.Back, w.Before = AtGet, 0, 0, w.Want
	// The value belongs to the OS thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if w.Get != 0 {
		if w.RC = w.one(w.Get, uintptr(unsafe.Pointer(&w.Before))); w.RC != 0 {
			return
		}
	}
	if w.Before != w.Want {
		w.Step = AtSet
		if w.RC = w.one(w.Set, w.Want); w.RC != 0 {
			return
		}
	}
	w.Step = AtFn
	if w.Lookup != 0 {
		w.spare = w.LookupArgs
		found, _, _ := purego.SyscallN(w.Lookup, w.spare[:]...)
		*(*uintptr)(pointer(w.LookupTo)) = found
	}
	rc, _, _ := purego.SyscallN(w.Fn, w.Args[:]...)
	w.RC = int64(int32(rc))
	if w.Before != w.Want {
		w.Back = w.one(w.Set, w.Before)
	}
}

// one calls a function of one argument, without an allocation.
func (w *Within) one(fn, arg uintptr) int64 {
	w.spare[0] = arg
	rc, _, _ := purego.SyscallN(fn, w.spare[:1]...)
	return int64(int32(rc))
}
