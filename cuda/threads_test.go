package cuda_test

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
)

func init() {
	children["graph of several goroutines"] = graphOfGoroutines
	children["FreeAsync twice"] = freeAsyncTwice
}

// slowly runs a program of children on a driver of which one function is slow, so that goroutines meet there.
func slowly(t *testing.T, name, slow string) {
	t.Helper()
	load(t)
	child(t, name, "TVMFFI_CUDA_LIBRARY="+os.Getenv("TVMFFI_CUDA_LIBRARY"), "FAKECUDA_ABORT=1", "FAKECUDA_SLEEP="+slow)
}

// graphOfGoroutines launches one graph on several goroutines, and closes it meanwhile.
func graphOfGoroutines() error {
	const d = cuda.Device(0)
	st := need(d.NewStream(cuda.Blocking()))
	m := need(d.Alloc(16))
	graph := need(st.Capture(func() error { return cuda.Fill(m, uint8(1), st) }))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 3 {
				_ = graph.Launch(st)
			}
		})
	}
	err := graph.Close()
	all.Wait()
	return errors.Join(err, st.Synchronize(), m.Free(), st.Close())
}

// TestGraphOfGoroutines launches a graph on several goroutines. NVIDIA's "Graph object thread safety" demands that calls for
// one graph do not meet, also those that only read, and cuGraphLaunch has the note.
func TestGraphOfGoroutines(t *testing.T) {
	for _, slow := range []string{"cuGraphLaunch=3", "cuGraphExecDestroy=3"} {
		slowly(t, "graph of several goroutines", slow)
	}
}

// TestFreeAsyncOfGoroutines frees memory on two goroutines at once: it is freed once.
func TestFreeAsyncOfGoroutines(t *testing.T) { slowly(t, "FreeAsync twice", "cuCtxGetCurrent=3") }

func freeAsyncTwice() error {
	const d = cuda.Device(0)
	st := need(d.NewStream(cuda.Blocking()))
	for range 5 {
		m := need(d.AllocAsync(16, st))
		var all sync.WaitGroup
		var failed [3]error
		for i := range failed {
			all.Go(func() { failed[i] = m.FreeAsync(st) })
		}
		all.Wait()
		needs(errors.Join(failed[:]...))
	}
	if l := d.Live(); l.Allocations != 0 {
		return fmt.Errorf("%+v is live", l)
	}
	return errors.Join(st.Synchronize(), st.Close())
}
