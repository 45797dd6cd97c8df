package memstat

import (
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// UseCount returns the number of strong references to the object of x, from all
// languages; 0 for nil and for an object that has ended. Another goroutine may
// change it at any time: it is for tests.
func UseCount(x tvmffi.ObjectRef) int { return objects.StateOf(x).UseCount() }

// Collected returns how many references the collector had to release so far
// because nobody had called Release. A test that compares it before and after
// finds handles that leaked. The collector only looks at handles that are not
// among the last few; a call of Collected ends that, so that the next collection
// finds all that were made before it.
func Collected() int64 {
	objects.GuardRecent()
	return objects.Collected.Load()
}
