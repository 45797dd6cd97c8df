// Package memstat reports what a program keeps alive by its references to native objects:
// handles that were not released, reference counts, and the memory behind tensors. It is
// for tests and for tuning. A program that releases its objects does not need it.
package memstat

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/libraries"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Tracking reports whether the program was built with the tag tvmffi_debug. With the tag,
// [LiveHandles] lists every handle, and making a handle takes about a microsecond longer.
const Tracking = objects.Tracking

// Handle describes a reference to a native object that Go owns and has not released.
type Handle struct {
	// TypeKey is the type key of the object.
	TypeKey string
	// Stack is the call stack that made the handle, the innermost frame first. Each
	// frame is a "function file:line".
	Stack []string
}

// String returns the type key and the stack, one frame per line.
func (h Handle) String() string {
	return fmt.Sprintf("%s made by\n\t%s", h.TypeKey, strings.Join(h.Stack, "\n\t"))
}

// LiveHandles returns the handles that were neither released nor collected, sorted by type
// key. Without the build tag tvmffi_debug it returns none.
func LiveHandles() []Handle {
	var list []Handle
	for _, t := range objects.LiveHandles() {
		h := Handle{TypeKey: capi.KeyOf(t.Type)}
		for frames := runtime.CallersFrames(t.Stack); ; {
			f, more := frames.Next()
			h.Stack = append(h.Stack, fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line))
			if !more {
				break
			}
		}
		list = append(list, h)
	}
	slices.SortStableFunc(list, func(a, b Handle) int { return cmp.Compare(a.TypeKey, b.TypeKey) })
	return list
}

// UseCount returns the reference count of the object of x: the number of strong references
// from all languages. It is 0 for nil and for an object that has ended. It is for tests,
// because another goroutine may change it at any time.
func UseCount(x tvmffi.ObjectRef) int { return objects.StateOf(x).UseCount() }

// Collected returns the number of references that the garbage collector has released
// because the program did not call Release. A test that compares the number before and
// after finds handles that leaked. The collector does not release the handles that were
// made last. A call of Collected makes them known to it, so the next collection finds all
// handles that were made before the call.
func Collected() int64 {
	objects.GuardRecent()
	return objects.Collected.Load()
}

// SetForeignMemoryLimit sets the limit, in bytes, of the host memory behind the tensors
// that this program holds. Above the limit, each further 64 MB start a garbage collection.
// It returns the previous limit. A negative limit changes nothing.
//
// The garbage collector does not see that memory, so the runtime counts it. Below the
// limit, which is 1.5 GB at first, the runtime starts a collection when the memory has
// doubled since the last one and has grown by at least 512 MB. That matters only for
// tensors that the program did not release, because Release frees memory at once. The limit
// does not bound the memory in use. The environment variable TVMFFI_MEMORY_LIMIT sets the
// limit at the start of the program, in bytes or with a unit, such as 3GiB. math.MaxInt64,
// or the word off in the variable, ends these collections.
//
// The runtime counts the memory of each device separately. It may grow by a quarter, and by
// at least 512 MB, between collections. Tensors under 64 KB are not counted.
func SetForeignMemoryLimit(limit int64) int64 {
	libraries.EnvironmentLimit() // the environment variable is read first
	return objects.SetForeignLimit(limit)
}

// ForeignMemory returns the number of bytes on device behind the tensors that this program
// holds. It does not count tensors under 64 KB and tensors over memory of Go.
func ForeignMemory(device tvmffi.Device) int64 { return objects.ForeignMemory(abi.DLDevice(device)) }
