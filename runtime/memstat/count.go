package memstat

import (
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

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
