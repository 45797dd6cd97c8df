//go:build !tvmffi_liveness

package ccall

// Liveness reports whether the program was built with the tag tvmffi_liveness, which is for
// tests. With the tag, everything unreachable ends where native memory is reached: at every
// crossing, and where the handle of an object is read. An object that its user does not keep
// alive is gone then.
const Liveness = false

// Collect does nothing without the tag tvmffi_liveness.
func Collect() {}
