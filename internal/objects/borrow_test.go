package objects_test

import (
	"sync"
	"testing"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// A Function that the caller moved may be released while other goroutines hold it: each gets
// a reference of its own, or learns that it has ended.
func TestHold_released(t *testing.T) {
	load(t)
	for range 1000 {
		nobody := func() { t.Error("somebody called the Function") }
		handle := objects.NewFunctionNode(*(*unsafe.Pointer)(unsafe.Pointer(&nobody)), 0, nil)
		var scope objects.BorrowScope
		scope.Take(handle)
		f := scope.Borrow(handle)
		var all sync.WaitGroup
		started := make(chan struct{}, 2)
		for range 2 {
			all.Go(func() {
				started <- struct{}{}
				for range 2000 {
					held := f.Hold()
					if held == 0 {
						return
					}
					if held != handle {
						t.Errorf("the handle is %#x, want %#x", held, handle)
					}
					objects.DecRef(held)
				}
			})
		}
		<-started
		f.Release()
		all.Wait()
		if why, _ := f.Ended(); why != "was released" {
			t.Errorf("the Function %q", why)
		}
		scope.End()
	}
}
