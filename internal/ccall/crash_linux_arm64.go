//go:build !tvmffi_portable && !msan && !asan

package ccall

// What asmcgocall keeps on the stack of the g0.
const (
	crossingSize  = 16
	crossingDepth = 8
	crossingG     = 0
)
