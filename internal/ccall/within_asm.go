//go:build (linux || darwin) && (amd64 || arm64) && !tvmffi_portable

package ccall

import "unsafe"

//go:linkname _callWithin tvmffi_callWithin
var _callWithin byte

// CallWithin makes the call of w.
func CallWithin(w *Within) {
	Collect()
	w.Step, w.RC, w.Back, w.Before = AtGet, 0, 0, w.Want
	cgocall(uintptr(unsafe.Pointer(&_callWithin)), unsafe.Pointer(w))
}
