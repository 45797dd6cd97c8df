//go:build linux && (amd64 || arm64) && !tvmffi_portable && tvmffi_nobind

package ccall

// Binds says whether threads of C++ keep their M.
const Binds = false

// Bound reports whether the runtime knows the key that keeps an M.
func Bound() bool { return false }
