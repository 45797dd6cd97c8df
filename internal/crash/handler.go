//go:build linux && (amd64 || arm64) && !tvmffi_portable && !msan && !asan

package crash

// The linker allows 792 bytes of stack on a way of nosplit funcs, of which a signal stack has 32 kB. A program that is built
// for a debugger needs more. So long ways go through variables, behind which the linker begins anew.
var (
	placing     = place
	symbolizing = symbolize
	walking     = callers
)

// system makes a system call. The result is negative if that fails.
func system(number, a, b, c, d uintptr) int

// textRange is where the code of Go is.
func textRange() (low, high uintptr)
