//go:build !tvmffi_debug

package objects

import "github.com/tvmffi-go/tvmffi/internal/abi"

// Tracking reports whether the program was built with the tag tvmffi_debug. With the tag,
// every wrapper that owns a reference is listed with the stack that made it.
const Tracking = false

// Tracked is a live wrapper.
type Tracked struct {
	Type  abi.TypeIndex
	Stack []uintptr
}

func track(*Object) {}

func untrack(*Object) {}

// LiveHandles returns no wrappers without the tag tvmffi_debug.
func LiveHandles() []Tracked { return nil }
