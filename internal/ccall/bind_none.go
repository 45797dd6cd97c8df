//go:build (linux || darwin) && (amd64 || arm64) && !tvmffi_portable && tvmffi_nobind

package ccall

func bindThreads() {}
