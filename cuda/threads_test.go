package cuda_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/fakecuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func init() {
	children["graph of several goroutines"] = graphOfGoroutines
	children["FreeAsync twice"] = freeAsyncTwice
	children["one Staging"] = oneStaging
	children["copies and Close"] = copiesAndClose
	children["copies and captures"] = copiesAndCaptures
	children["a capture that does not begin"] = captureNotBegun
	children["Staging that waits"] = stagingThatWaits
	children["Staging without an event"] = stagingWithoutEvent
	children["green Close"] = greenClose
	children["two devices and waits"] = twoDevicesAndWaits
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
	st, err := d.NewStream()
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
	st, err := d.NewStream()
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

// TestStagingOfGoroutines copies different slices through one Staging on several goroutines.
func TestStagingOfGoroutines(t *testing.T) { slowly(t, "one Staging", "cuMemcpyHtoDAsync_v2=1") }

func oneStaging() error {
	const d, n = cuda.Device(0), 300
	via, err := d.NewStaging(256)
	if err != nil {
		return err
	}
	return errors.Join(together(4, func(i int) error {
		st, err := d.NewStream(cuda.NonBlocking())
		if err != nil {
			return err
		}
		m, err := d.Alloc(n)
		if err != nil {
			return err
		}
		src, got := bytes.Repeat([]byte{byte(i)}, n), make([]byte, n)
		for range 5 {
			if err := errors.Join(cuda.CopyInVia(via, m, 0, src, st), st.Synchronize(), cuda.CopyOut(got, m)); err != nil {
				return err
			}
			if !bytes.Equal(got, src) {
				return fmt.Errorf("goroutine %d has got %v", i, got)
			}
		}
		return errors.Join(m.Free(), st.Close())
	}), via.Close())
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
			st, err := d.NewStream()
			if err == nil {
				err = errors.Join(cuda.Fill(m, uint8(1), st), st.Close())
			}
			if err != nil {
				return err
			}
		}
		if i > 0 {
			return m.Free()
		}
		defer ended.Store(true)
		st, err := d.NewStream()
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
			} else if err = d.Synchronize(); errors.Is(err, tvmffi.ErrValue) { // captures begin when it has ended
				err = nil
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

// TestCaptureBesideCopies begins captures of a stream while goroutines copy all the time. Each copy asks whether
// the stream is captured, so some copy always does; the capture begins all the same.
func TestCaptureBesideCopies(t *testing.T) {
	load(t)
	const many = 1_000_000 // copies, before which 20 captures are to be done: they need about a tenth
	o, st := newOnes(t, 0), newStream(t, 0)
	var copies atomic.Int64
	var ended atomic.Bool
	copied := make(chan error, 1)
	go func() {
		copied <- together(8, func(int) error {
			got := make([]float32, 4)
			for !ended.Load() && copies.Add(1) < many {
				if err := cuda.CopyOut(got, o.a); err != nil {
					return err
				}
			}
			return nil
		})
	}()
	for range 20 {
		for was := copies.Load(); copies.Load() < min(was+100, many); {
			runtime.Gosched() // until all copy
		}
		graph, err := st.Capture(func() error { return o.on(st) })
		ok(t, errors.Join(err, graph.Close()))
	}
	ended.Store(true)
	ok(t, <-copied)
	if n := copies.Load(); n >= many {
		t.Errorf("%d copies and more came before 20 captures had begun", many)
	}
}

// TestCaptureNotBegun ends a capture while another one on the device fails to begin: the default stream can be used
// after that.
func TestCaptureNotBegun(t *testing.T) {
	slowly(t, "a capture that does not begin", "cuStreamBeginCapture_v2=100")
}

func captureNotBegun() error {
	const d = cuda.Device(0)
	f, err := fakecuda.Open(os.Getenv("TVMFFI_CUDA_LIBRARY"))
	if err != nil {
		return err
	}
	var st [3]*cuda.Stream
	for i := range st {
		if st[i], err = d.NewStream(); err != nil {
			return err
		}
	}
	m, err := d.Alloc(16)
	if err != nil {
		return err
	}
	event, err := d.NewEvent()
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	graph, err := st[0].Capture(func() error {
		err := errors.Join(event.Record(st[0]), st[1].Wait(event), event.Record(st[1]), st[0].Wait(event))
		f.Fail("cuStreamBeginCapture_v2", int(cuda.ErrUnknown), 0)
		go func() {
			_, err := st[2].Capture(func() error { return nil })
			failed <- err
		}()
		for strings.Count(f.Log(), "cuStreamBeginCapture_v2") < 2 {
			runtime.Gosched() // it sleeps in the driver then
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := <-failed; !errors.Is(err, cuda.ErrUnknown) {
		return fmt.Errorf("the second capture: %v", err)
	}
	def, err := d.DefaultStream()
	if err != nil {
		return err
	}
	return errors.Join(cuda.Fill(m, uint8(1), def), graph.Close(), event.Close(), m.Free(), st[0].Close(), st[1].Close(), st[2].Close())
}

// newStages makes staging memory of four parts of 64 bytes, a stream, and memory of n bytes to copy to.
func newStages(d cuda.Device, n int64) (*cuda.Staging, *cuda.Stream, *cuda.Memory, error) {
	via, err := d.NewStaging(4 * 64)
	if err != nil {
		return nil, nil, nil, err
	}
	st, err := d.NewStream(cuda.NonBlocking())
	if err != nil {
		return nil, nil, nil, err
	}
	m, err := d.Alloc(n)
	return via, st, m, err
}

// TestStagingWithoutEvent lets the record of an event fail behind a copy, and begins a capture of the stream while the copy
// is waited for in place of the event: the capture is not disturbed.
func TestStagingWithoutEvent(t *testing.T) {
	slowly(t, "Staging without an event", "cuStreamSynchronize=100")
}

func stagingWithoutEvent() error {
	const d = cuda.Device(0)
	f, err := fakecuda.Open(os.Getenv("TVMFFI_CUDA_LIBRARY"))
	if err != nil {
		return err
	}
	via, st, m, err := newStages(d, 64)
	if err != nil {
		return err
	}
	f.Fail("cuEventRecord", int(cuda.ErrUnknown), 0)
	copied := make(chan error, 1)
	go func() { copied <- cuda.CopyInVia(via, m, 0, numbered(64, 1), st) }()
	untilIn("(*Staging).queue", "driver.CallWith")
	graph, err := st.Capture(func() error { return cuda.Fill(m, uint8(2), st) })
	if err := errors.Join(err, graph.Launch(st), st.Synchronize()); err != nil {
		return err
	}
	if err := <-copied; !errors.Is(err, cuda.ErrUnknown) {
		return fmt.Errorf("the copy: %v", err)
	}
	f.Fail("cuEventRecord", int(cuda.ErrUnknown), 0)
	f.Fail("cuStreamSynchronize", int(cuda.ErrUnknown), 0)
	if err := cuda.CopyInVia(via, m, 0, numbered(64, 1), st); !errors.Is(err, cuda.ErrUnknown) {
		return fmt.Errorf("the copy whose end nobody knows: %v", err)
	}
	if err := cuda.CopyInVia(via, m, 0, numbered(64, 1), st); !errors.Is(err, tvmffi.ErrValue) {
		return fmt.Errorf("a copy after that: %v", err)
	}
	return errors.Join(graph.Close(), via.Close(), m.Free(), st.Close())
}

// TestStagingWaitsForItsOwn lets a copy wait for a part of a Staging that a copy on the same stream has, while a stream
// that waits long takes parts. The part that becomes free is not taken by that stream.
func TestStagingWaitsForItsOwn(t *testing.T) {
	slowly(t, "Staging that waits", "cuEventSynchronize=100")
}

func stagingThatWaits() error {
	const d = cuda.Device(0)
	via, st, m, err := newStages(d, 256)
	if err != nil {
		return err
	}
	stuck, err := d.NewStream(cuda.NonBlocking())
	if err != nil {
		return err
	}
	goOn := make(chan bool)
	if _, err := stuck.Call(func() error { <-goOn; return nil }); err != nil {
		return err
	}
	copied := make(chan error, 1)
	go func() { copied <- cuda.CopyInVia(via, m, 0, make([]byte, 4*64), st) }()
	untilIn("(*Staging).take", "driver.CallWith") // for the fourth part
	err = errors.Join(st.Synchronize(), cuda.CopyInVia(via, m, 0, make([]byte, 2*64), stuck))
	select {
	case late := <-copied:
		err = errors.Join(err, late)
		close(goOn)
	case <-time.After(5 * time.Second):
		err = errors.Join(err, errors.New("the copy waits for a stream that it does not use"))
		close(goOn)
		<-copied
	}
	return errors.Join(err, via.Close(), m.Free(), st.Close(), stuck.Close())
}

// TestGreenCloseOfGoroutines closes a green context on one goroutine as soon as another one closes its stream.
func TestGreenCloseOfGoroutines(t *testing.T) { slowly(t, "green Close", "cuStreamDestroy_v2=3") }

func greenClose() error {
	const d = cuda.Device(0)
	all, err := d.SMs()
	if err != nil {
		return err
	}
	for range 5 {
		c, err := d.NewGreenContext(all)
		if err != nil {
			return err
		}
		st, err := c.NewStream()
		if err != nil {
			return err
		}
		err = together(2, func(i int) error {
			if i == 0 {
				return st.Close()
			}
			for c.Close() != nil { // an error while the stream is open
				runtime.Gosched()
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// TestCaptureOfTwoDevicesBesideWaits lets a stream of a second device join a capture while other goroutines wait for that
// device and free memory of it. The waits that have begun end before, and later ones are refused.
func TestCaptureOfTwoDevicesBesideWaits(t *testing.T) {
	slowly(t, "two devices and waits", "cuStreamWaitEvent=2")
}

func twoDevicesAndWaits() error {
	var st [2]*cuda.Stream
	var e [2]*cuda.Event
	for d := range cuda.Device(2) {
		var err, failed error
		st[d], err = d.NewStream(cuda.NonBlocking())
		if e[d], failed = d.NewEvent(); err != nil || failed != nil {
			return errors.Join(err, failed)
		}
	}
	var ended atomic.Bool
	err := together(3, func(i int) error {
		for ; i > 0 && !ended.Load(); runtime.Gosched() {
			m, err := cuda.Device(1).Alloc(16)
			if err == nil {
				err = m.Free()
			}
			if err != nil {
				return err
			}
			if err := cuda.Device(1).Synchronize(); err != nil && !errors.Is(err, tvmffi.ErrValue) {
				return err
			}
		}
		if i > 0 {
			return nil
		}
		defer ended.Store(true)
		for range 10 {
			graph, err := st[0].Capture(func() error {
				return errors.Join(e[0].Record(st[0]), st[1].Wait(e[0]), e[1].Record(st[1]), st[0].Wait(e[1]))
			})
			if err != nil {
				return err
			}
			if err := graph.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	err = errors.Join(err, cuda.Device(1).Synchronize())
	if l := cuda.Device(1).Live(); l.Allocations != 0 {
		err = errors.Join(err, fmt.Errorf("left: %v", l))
	}
	return err
}
