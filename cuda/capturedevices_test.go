package cuda_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// twoDevices has a stream and an event of each device, which a capture goes through.
type twoDevices struct {
	st [2]*cuda.Stream
	e  [2]*cuda.Event
	k  [2]*cuda.Kernel
	x  [2]*cuda.Memory
}

func newTwoDevices(t *testing.T, options ...cuda.StreamOption) *twoDevices {
	two := &twoDevices{}
	for d := range cuda.Device(2) {
		two.k[d] = kernel(t, module(t, d), "add_one")
		two.st[d] = must[*cuda.Stream](t)(d.NewStream(options...))
		t.Cleanup(func() { ok(t, two.st[d].Close()) })
		two.e[d] = must[*cuda.Event](t)(d.NewEvent())
		t.Cleanup(func() { ok(t, two.e[d].Close()) })
		two.x[d] = must[*cuda.Memory](t)(cuda.AllocOf(d, []float32{1, 2}))
		t.Cleanup(func() { ok(t, two.x[d].Free()) })
	}
	return two
}

func (two *twoDevices) launch(d cuda.Device) error {
	return two.k[d].Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32), Stream: two.st[d]}, two.x[d], two.x[d], 2)
}

// capture captures work of both devices, and calls f while the stream of the second one is in the capture.
func (two *twoDevices) capture(f func()) (*cuda.Graph, error) {
	return two.st[0].Capture(func() error {
		if err := errors.Join(two.launch(0), two.e[0].Record(two.st[0]), two.st[1].Wait(two.e[0]), two.launch(1)); err != nil {
			return err
		}
		f()
		return errors.Join(two.e[1].Record(two.st[1]), two.st[0].Wait(two.e[1]), two.launch(0))
	})
}

// elsewhereDo calls f on another goroutine, and waits for it.
func elsewhereDo(f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	<-done
}

// TestCaptureOfTwoDevices captures streams of two devices. NVIDIA's programming guide forbids to wait for a device, and to
// ask it, while any stream of it is in a capture, wherever that began, and to use the default stream beside it.
// So for the second device everything holds that holds for the first one.
func TestCaptureOfTwoDevices(t *testing.T) {
	load(t)
	two := newTwoDevices(t, cuda.NonBlocking())
	y := must[*cuda.Memory](t)(cuda.AllocOf(1, []float32{5, 6}))
	got := make([]float32, 2)
	graph, err := two.capture(func() {
		elsewhereDo(func() {
			wantError(t, cuda.Device(1).Synchronize(), tvmffi.ErrValue, "a stream of cuda:1 is captured")
			wantError(t, two.st[1].Synchronize(), tvmffi.ErrValue, "Synchronize for a stream of cuda:1 that is captured")
			_, err := two.st[1].Done()
			wantError(t, err, tvmffi.ErrValue, "Done for a stream of cuda:1 that is captured")
			wantError(t, two.st[1].Close(), tvmffi.ErrValue, "Close for a stream of cuda:1 that is captured")
			if err := errors.Join(cuda.CopyOut(got, y), y.Free()); err != nil || !slices.Equal(got, []float32{5, 6}) {
				t.Errorf("another goroutine copies %v and frees: %v", got, err)
			}
			if n := cuda.Device(1).Live().Allocations; n != 2 {
				t.Errorf("%d allocations of cuda:1 while it is captured, want 2: that of the capture and what is freed later", n)
			}
		})
	})
	ok(t, err)
	ok(t, cuda.Device(1).Synchronize()) // frees it
	if n := cuda.Device(1).Live().Allocations; n != 1 {
		t.Errorf("%d allocations of cuda:1 after the capture and Synchronize, want 1", n)
	}
	ok(t, errors.Join(graph.Launch(two.st[0]), two.st[0].Synchronize(), graph.Close()))
	for d, want := range [][]float32{{3, 4}, {2, 3}} {
		ok(t, cuda.CopyOut(got, two.x[d]))
		if !slices.Equal(got, want) {
			t.Errorf("cuda:%d has %v, want %v", d, got, want)
		}
	}
}

// TestCaptureOfTwoDevicesDefaultStream does the same with streams that the default streams wait for.
func TestCaptureOfTwoDevicesDefaultStream(t *testing.T) {
	load(t)
	two := newTwoDevices(t)
	def := must[*cuda.Stream](t)(cuda.Device(1).DefaultStream())
	graph, err := two.capture(func() {
		elsewhereDo(func() {
			wantError(t, cuda.Fill(two.x[1], uint8(0), def), tvmffi.ErrValue, "the default stream of cuda:1 cannot be used")
			ok(t, cuda.CopyIn(two.x[1], []float32{1, 2})) // the stream in the capture is not waited for
		})
	})
	ok(t, err)
	ok(t, cuda.Fill(two.x[1], uint8(0), def))
	ok(t, errors.Join(def.Synchronize(), graph.Close()))
	// A capture that another one does not touch leaves the second device alone.
	graph = must[*cuda.Graph](t)(two.st[0].Capture(func() error {
		elsewhereDo(func() { ok(t, cuda.Device(1).Synchronize()) })
		return two.launch(0)
	}))
	ok(t, graph.Close())
	// The end of one capture does not end what another one holds.
	other := must[*cuda.Stream](t)(cuda.Device(0).NewStream())
	defer other.Close()
	graph, err = two.capture(func() {
		elsewhereDo(func() {
			graph := must[*cuda.Graph](t)(other.Capture(func() error { return nil }))
			ok(t, graph.Close())
			wantError(t, cuda.Device(1).Synchronize(), tvmffi.ErrValue, "a stream of cuda:1 is captured")
		})
	})
	ok(t, errors.Join(err, graph.Close(), cuda.Device(1).Synchronize()))
}
