package memstat

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// Tracking says that the program is built with the tag tvmffi_debug, with which
// [LiveHandles] knows every handle. It makes each new handle slower by about a
// microsecond.
const Tracking = objects.Tracking

// Handle is a live reference to a native object that Go owns.
type Handle struct {
	// TypeKey is the type of the object.
	TypeKey string
	// Stack is the call stack that made the handle, one "function file:line" for
	// each frame, innermost first.
	Stack []string
}

// String returns the type and the stack, one frame a line.
func (h Handle) String() string {
	return fmt.Sprintf("%s made by\n\t%s", h.TypeKey, strings.Join(h.Stack, "\n\t"))
}

// LiveHandles lists the handles that were neither released nor collected, by
// type. It needs the build tag tvmffi_debug; without it the list is empty.
func LiveHandles() []Handle {
	var list []Handle
	for _, t := range objects.LiveHandles() {
		h := Handle{TypeKey: capi.KeyOf(t.Type)}
		for frames := runtime.CallersFrames(t.Stack); ; {
			f, more := frames.Next()
			if f.Function != "" {
				h.Stack = append(h.Stack, fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line))
			}
			if !more {
				break
			}
		}
		list = append(list, h)
	}
	slices.SortStableFunc(list, func(a, b Handle) int { return cmp.Compare(a.TypeKey, b.TypeKey) })
	return list
}
