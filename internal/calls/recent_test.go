package calls_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/machinetest"
)

// Wrappers are released while another goroutine gives them their cleanups: each
// reference is dropped once, by its owner.
func TestReleaseDuringGuard(t *testing.T) {
	load(t)
	objects.GuardRecent()
	dropGarbage(t)
	before := live(t)
	collected := objects.Collected.Load()
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				objects.GuardRecent()
				runtime.Gosched()
			}
		}
	}()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var held [7]*objects.Object
			for i := range 3000 {
				b, err := newBox(int64(i))
				if err != nil {
					t.Error(err)
					return
				}
				held[i%7].Release()
				held[i%7].Release()
				held[i%7] = b
			}
			for _, b := range held {
				b.Release()
			}
		})
	}
	wg.Wait()
	close(stop)
	<-done
	if n := live(t); n != before {
		t.Errorf("%d boxes are left", n-before)
	}
	machinetest.RunCleanups()
	machinetest.RunCleanups()
	if n := objects.Collected.Load() - collected; n != 0 {
		t.Errorf("the collector released %d handles that had been released", n)
	}
}

// The rings keep few wrappers, and none after a collection.
func TestRecentWrappersAreCollected(t *testing.T) {
	load(t)
	objects.GuardRecent()
	dropGarbage(t)
	before := live(t)
	const made = 10_000
	for i := range made {
		if _, err := newBox(int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := live(t) - before; n < 1 {
		t.Fatalf("%d boxes live", n)
	}
	machinetest.Collect(t, "what lies in the rings", func() bool { return live(t) <= before })
}

// An object that holds much memory waits in no ring: the first collection finds it.
func TestHeavyWrappersAreCollectedAtOnce(t *testing.T) {
	inPlace(t)
	objects.GuardRecent()
	dropGarbage(t)
	collected := objects.Collected.Load()
	fresh(func() bool {
		handle, items := objects.NewArray(5000)
		for i := range items {
			items[i] = abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(i)}
		}
		return objects.Own(handle) != nil
	})
	machinetest.RunCleanups()
	if objects.Collected.Load() == collected {
		t.Error("the first collection did not find the array")
	}
}
