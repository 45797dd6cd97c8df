package cuda_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
)

func init() {
	children["graph of several goroutines"] = graphOfGoroutines
	children["FreeAsync twice"] = freeAsyncTwice
	children["copies and Close"] = copiesAndClose
	children["copies and captures"] = copiesAndCaptures
}

// slowly runs a program of children on a driver of which one function is slow, so that goroutines meet there.
func slowly(t *testing.T, name, slow string) {
	t.Helper()
	load(t)
	child(t, name, "TVMFFI_CUDA_LIBRARY="+os.Getenv("TVMFFI_CUDA_LIBRARY"), "FAKECUDA_ABORT=1", "FAKECUDA_SLEEP="+slow)
}

// together calls f on n goroutines and returns their errors.
func together(n int, f func(i int) error) error {
	failed := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { failed[i] = f(i) })
	}
	all.Wait()
	return errors.Join(failed...)
}

// graphOfGoroutines launches one graph on several goroutines, and closes it meanwhile.
func graphOfGoroutines() error {
	const d = cuda.Device(0)
	st, err := d.NewStream(cuda.Blocking())
	if err != nil {
		return err
	}
	m, err := d.Alloc(16)
	if err != nil {
		return err
	}
	graph, err := st.Capture(func() error { return cuda.Fill(m, uint8(1), st) })
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 3 {
				_ = graph.Launch(st)
			}
		})
	}
	err = graph.Close()
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
	st, err := d.NewStream(cuda.Blocking())
	if err != nil {
		return err
	}
	for range 5 {
		m, err := d.AllocAsync(16, st)
		if err != nil {
			return err
		}
		if err := together(3, func(int) error { return m.FreeAsync(st) }); err != nil {
			return err
		}
	}
	if l := d.Live(); l.Allocations != 0 {
		return fmt.Errorf("%+v is live", l)
	}
	return errors.Join(st.Synchronize(), st.Close())
}

// TestCopiesBesideClose copies what a stream has filled while other goroutines close streams. The copies are to come after
// the work of all of these streams, also of those that are closed while a copy records an event there.
func TestCopiesBesideClose(t *testing.T) { slowly(t, "copies and Close", "cuEventRecord=1") }

func copiesAndClose() error {
	const d, n = cuda.Device(0), 16
	var ended atomic.Bool
	return together(3, func(i int) error {
		m, err := d.Alloc(n)
		if err != nil {
			return err
		}
		for i > 0 && !ended.Load() {
			st, err := d.NewStream(cuda.Blocking())
			if err == nil {
				err = errors.Join(cuda.Fill(m, uint8(1), st), m.FreeAsync(st), st.Close())
			}
			if err == nil {
				m, err = d.Alloc(n)
			}
			if err != nil {
				return err
			}
		}
		if i > 0 {
			return m.Free()
		}
		defer ended.Store(true)
		st, err := d.NewStream(cuda.Blocking())
		if err != nil {
			return err
		}
		got := make([]byte, n)
		for k := range byte(40) {
			if err := errors.Join(cuda.Fill(m, k, st), cuda.CopyOut(got, m)); err != nil {
				return err
			}
			if !bytes.Equal(got, bytes.Repeat([]byte{k}, n)) {
				return fmt.Errorf("the copy has got %v, want %d", got, k)
			}
		}
		return errors.Join(m.Free(), st.Close())
	})
}

// TestCopiesBesideCaptures copies on one goroutine while others capture streams, which other streams join: the event
// of the copies is never recorded in a capture.
func TestCopiesBesideCaptures(t *testing.T) {
	for _, slow := range []string{"cuStreamIsCapturing=1", "cuEventRecord=1", "cuStreamBeginCapture_v2=1"} {
		slowly(t, "copies and captures", slow)
	}
}

func copiesAndCaptures() error {
	const d = cuda.Device(0)
	m, err := cuda.AllocOf(d, make([]byte, 16))
	if err != nil {
		return err
	}
	var left atomic.Int32
	left.Store(3)
	return errors.Join(together(5, func(i int) error {
		for i < 2 && left.Load() > 0 {
			var err error
			if i == 0 {
				err = cuda.CopyIn(m, make([]byte, 16))
			} else {
				err = d.Synchronize()
			}
			if err != nil {
				return err
			}
		}
		if i < 2 {
			return nil
		}
		defer left.Add(-1)
		st, err := d.NewStream()
		if err != nil {
			return err
		}
		joined, err := d.NewStream()
		if err != nil {
			return err
		}
		event, err := d.NewEvent()
		if err != nil {
			return err
		}
		for range 50 {
			graph, err := st.Capture(func() error {
				return errors.Join(cuda.Fill(m, uint8(1), st), event.Record(st), joined.Wait(event), event.Record(joined), st.Wait(event))
			})
			if err != nil {
				return err
			}
			if err := graph.Close(); err != nil {
				return err
			}
		}
		return errors.Join(st.Close(), joined.Close(), event.Close())
	}), m.Free())
}
