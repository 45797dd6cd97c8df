//go:build !linux

package disco

// supported is false where the workers of one process are not distinguished.
const supported = false

func threadID() int { return 0 }

func widen(uintptr) {}
