package kernelrt_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/cuda/kernelrt"
)

// TestKeep: generated code lends an argument by its address, and keeps it by Keep.
func TestKeep(t *testing.T) {
	lost := make(chan bool, 1)
	x := new([64]byte)
	runtime.AddCleanup(x, func(lost chan bool) { lost <- true }, lost)
	for range 3 {
		runtime.GC()
		select {
		case <-lost:
			t.Fatal("what is kept was collected")
		case <-time.After(5 * time.Millisecond):
		}
	}
	kernelrt.Keep(x)
}
