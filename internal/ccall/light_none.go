//go:build !(linux && (amd64 || arm64)) || tvmffi_portable || race || msan || asan

package ccall

// StartLight reports that there are no light calls here.
func StartLight() bool { return false }

// StopLight does nothing.
func StopLight() {}

// Asked reports whether Light may be called.
func Asked() bool { return false }

// LightCalls reports whether there are light calls.
func LightCalls() bool { return false }

// Light is Call.
func Light(h *Head) (how uintptr) {
	Call(h)
	return Done
}

// finish is the rest of Light.
func finish(*Head, uintptr) bool { return false }

// Upgrades counts the calls of Light that became ordinary ones.
func Upgrades() uint64 { return 0 }

// lightHandle reports that no thread is in a light call.
//
//go:nosplit
//go:norace
func lightHandle(uintptr) (handle uintptr, light bool) { return 0, false }

var _ = lightHandle // for reports of faults
