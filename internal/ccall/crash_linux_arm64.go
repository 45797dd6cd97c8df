//go:build !tvmffi_portable && !msan && !asan

package ccall

// The layout of what asmcgocall keeps on the stack of the g0.
const (
	crossingSize  = 16
	crossingDepth = 8
	crossingG     = 0
)
