package objects_test

import (
	"runtime"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// TestCallbacksAreFreed: callbacks leave neither nodes nor Go memory behind.
func TestCallbacksAreFreed(t *testing.T) {
	load(t)
	runtime.GC()
	before, memory, nodes := objects.LiveCallbacks(), uint64(0), 0
	var stats runtime.MemStats
	for i := range int64(100_000) {
		f := objects.Own(callbacks.New(func(a *callbacks.Args) error { return a.ReturnInt(int64(a.Value(0).Bits) + i) }))
		if i%10 == 0 {
			v, err := failure.Apply(f.Handle(), []abi.Any{{TypeIndex: abi.TypeInt, Bits: 1}})
			if err != nil || int64(v.Bits) != 1+i {
				t.Fatal(v, err)
			}
		}
		f.Release()
		if i == 10_000 {
			runtime.GC()
			runtime.ReadMemStats(&stats)
			memory, nodes = stats.HeapAlloc, objects.Nodes()
		}
	}
	if n := objects.Nodes(); n != nodes {
		t.Errorf("the nodes grew from %d to %d", nodes, n)
	}
	if n := objects.LiveCallbacks(); n > before {
		t.Errorf("%d callbacks are left", n-before)
	}
	runtime.GC()
	runtime.ReadMemStats(&stats)
	if stats.HeapAlloc > memory+1<<20 {
		t.Errorf("the heap grew from %d to %d", memory, stats.HeapAlloc)
	}
}
