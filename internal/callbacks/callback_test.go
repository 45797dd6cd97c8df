package callbacks_test

import (
	"runtime"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	_ "github.com/tvmffi-go/tvmffi/internal/testkit/machinetest" // has the type of the errors
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestCallbacksAreFreed: callbacks leave neither nodes nor Go memory behind.
func TestCallbacksAreFreed(t *testing.T) {
	library, err := dynlib.Open(nativetest.Library(t))
	if err != nil {
		t.Fatal(err)
	}
	if missing := capi.Attach(library, callbacks.Install); missing != nil {
		t.Fatal("the library lacks", missing)
	}
	runtime.GC()
	before, memory := objects.LiveCallbacks(), uint64(0)
	nodes, few := map[uintptr]bool{}, 0 // all that a callback had
	var stats runtime.MemStats
	for i := range int64(100_000) {
		f := objects.Own(callbacks.New(func(a *callbacks.Args) error { return a.ReturnInt(int64(a.Value(0).Bits) + i) }))
		nodes[f.Handle()] = true
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
			memory, few = stats.HeapAlloc, len(nodes)
		}
	}
	if n := len(nodes); n != few {
		t.Errorf("the nodes grew from %d to %d", few, n)
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
