//go:build (linux || darwin) && (amd64 || arm64) && !tvmffi_portable

package ccall

import "unsafe"

// estimated is the size of the stack that the Go runtime assumes for a thread whose bounds
// it cannot get. It is not a multiple of the size of a page, as stacks are.
const estimated = 33 << 10

// FullStack returns the size of the C stack of the calling thread if the rest of it is too
// small for one more callback: below an eighth, or a quarter of a megabyte. Otherwise it
// returns 0.
//
// f lies on that stack, and f.Stack is the g to which the stack belongs. That g begins with
// the bounds that the Go runtime knows, and lives as long as the thread is in Go or in C that
// Go called. Programs may switch stacks in C, so an f beyond the bounds says nothing.
func (f *CallbackFrame) FullStack() uintptr {
	if f.Stack == 0 {
		return 0 // the thread calls Go for the first time
	}
	stack := (*struct{ low, high uintptr })(pointer(f.Stack))
	if rest := uintptr(unsafe.Pointer(f)) - stack.low; rest < mostReserve {
		if size := stack.high - stack.low; rest < size/8 && size != estimated {
			return size
		}
	}
	return 0
}
