//go:build !tvmffi_portable

package dynlib

import (
	"runtime/debug"
	"slices"
)

// A fault on a thread that C++ made, and that never called Go, ends the process without a
// word: Go's handler has no goroutine to show there. The handler of libtvm_ffi prints the
// frames of C++. The func fault in assembly passes such a fault to it, and every other
// fault to Go. A thread of C++ that has called Go still has a g, so Go gets its faults, and
// ends the process without a word.

// goHandler and nativeHandler are the handlers of Go and of libtvm_ffi. They are set before
// fault is installed and never change.
var (
	//lint:ignore U1000 read by the assembly
	goHandler uintptr
	//lint:ignore U1000 read by the assembly
	nativeHandler uintptr
)

// isLibrary reports whether this code is in a library that a program of another language loads.
func isLibrary() bool {
	info, ok := debug.ReadBuildInfo()
	return !ok || slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool {
		return s.Key == "-buildmode" && (s.Value == "c-shared" || s.Value == "c-archive")
	})
}

func faultAddress() uintptr

// shareFaults makes before, the action of Go, pass faults on foreign threads to the handler
// of libtvm_ffi. In a shared library that another language loaded Go passes them to
// the handlers of that program, so nothing changes there.
func shareFaults(before *sigaction, native uint64) {
	if isLibrary() || uintptr(before[0]) == faultAddress() {
		return
	}
	if goHandler == 0 {
		goHandler, nativeHandler = uintptr(before[0]), uintptr(native)
	}
	if goHandler == uintptr(before[0]) {
		before[0] = uint64(faultAddress())
	}
}
