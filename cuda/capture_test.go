package cuda_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestBrokenCaptures does in captures what they do not allow. The error names the rule, the capture has ended, nothing is
// left, and the next capture of the same stream works.
func TestBrokenCaptures(t *testing.T) {
	f := load(t)
	retain(t, f)
	pinThread(t, f)
	k := kernel(t, module(t, 0), "add_one")
	x := frees[*cuda.Memory](t)(cuda.AllocOf(0, []float32{1, 2, 3, 4}))
	st := closes[*cuda.Stream](t)(cuda.Device(0).NewStream(cuda.Blocking()))
	other := closes[*cuda.Stream](t)(cuda.Device(0).NewStream(cuda.Blocking()))
	done := closes[*cuda.Event](t)(cuda.Device(0).NewEvent())
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32), Stream: st}
	onOther := c
	onOther.Stream = other
	launch := func() error { return k.Launch(c, x, x, 4) }
	for _, bad := range []struct {
		name string
		f    func() error
		code cuda.Code // 0 where this package refuses the call
		says string
	}{
		{"a wait for an event of before", func() error {
			return errors.Join(done.Record(other), st.Wait(done))
		}, cuda.ErrCaptureIsolation, "wait for it before Capture"},
		{"another stream that does not come back", func() error {
			return errors.Join(launch(), done.Record(st), other.Wait(done), k.Launch(onOther, x, x, 4))
		}, cuda.ErrCaptureUnjoined, "let the captured stream wait for an event of it"},
		{"a capture in a capture", func() error { _, err := st.Capture(launch); return err }, 0, "Capture for a stream of cuda:0 that is captured"},
		{"work after a mistake", func() error { _ = errors.Join(done.Record(other), st.Wait(done)); return launch() }, cuda.ErrCaptureInvalidated, "cuLaunchKernel"},
	} {
		t.Run(bad.name, func(t *testing.T) {
			before, live := f.left(), cuda.Device(0).Live()
			graph, err := st.Capture(bad.f)
			wantError(t, err, nil, bad.says)
			if graph != nil {
				t.Error("there is a graph")
			}
			if bad.code != 0 {
				wantError(t, err, bad.code)
			}
			var ours *tvmffi.Error
			var driver *cuda.Error
			if !errors.As(err, &ours) && !errors.As(err, &driver) {
				t.Errorf("%T has no type", err)
			}
			if left := f.left(); left != before || cuda.Device(0).Live() != live {
				t.Errorf("left: %v and %+v, before %v and %+v", left, cuda.Device(0).Live(), before, live)
			}
			if d, set, err := cuda.CurrentDevice(); err != nil || set {
				t.Errorf("%s is left current (%v)", d, err)
			}
			ok(t, cuda.CopyIn(x, []float32{1, 2, 3, 4}))
			graph = must[*cuda.Graph](t)(st.Capture(launch))
			ok(t, errors.Join(graph.Launch(st), st.Synchronize(), graph.Close()))
			got := make([]float32, 4)
			ok(t, cuda.CopyOut(got, x))
			if !slices.Equal(got, []float32{2, 3, 4, 5}) {
				t.Errorf("the next graph makes %v, want [2 3 4 5]", got)
			}
		})
	}
}

// TestCutImages loads each beginning of a cubin and a fatbin, and images with each byte of the header changed: what
// the driver would read beyond its end never reaches it.
func TestCutImages(t *testing.T) {
	f := load(t)
	elf := smallCubin()
	fat := fatbin(fatImage{kind: fatCubin, arch: 90, data: elf})
	for name, image := range map[string][]byte{"cubin": elf, "fatbin": fat} {
		for n := range len(image) {
			_, err := cuda.Device(0).LoadModule(image[:n:n])
			wantDriverError(t, err, cuda.ErrInvalidImage, "cuModuleLoadDataEx")
		}
		f.expect()
		for at := range image {
			for _, b := range []byte{0, 1, 0x7f, 0x80, 0xff} {
				changed := slices.Clone(image)
				changed[at] = b
				m, err := cuda.Device(0).LoadModule(changed)
				if err == nil {
					err = m.Close()
				}
				var e *cuda.Error
				if err != nil && !errors.As(err, &e) {
					t.Errorf("%s with %#x at %d: %v", name, b, at, err)
				}
			}
		}
		f.reset()
	}
}

// TestEventsThatWereNotRecorded waits for, asks and measures events that nothing has recorded, and events whose work is
// not done.
func TestEventsThatWereNotRecorded(t *testing.T) {
	load(t)
	st := closes[*cuda.Stream](t)(cuda.Device(0).NewStream(cuda.Blocking()))
	var e [3]*cuda.Event
	for i := range e {
		e[i] = closes[*cuda.Event](t)(cuda.Device(0).NewEvent(cuda.Timing()))
	}
	ok(t, st.Wait(e[0]))
	ok(t, e[0].Synchronize())
	if !must[bool](t)(e[0].Done()) {
		t.Error("an event that was never recorded is not done")
	}
	ok(t, e[1].Record(st))
	for _, pair := range [][2]int{{0, 1}, {1, 0}, {0, 0}} {
		_, err := cuda.Elapsed(e[pair[0]], e[pair[1]])
		wantError(t, err, cuda.ErrInvalidHandle, "cuEventElapsedTime", "two events of cuda:0, of which one was never recorded: call Record of both first")
	}
	ok(t, e[2].Record(st))
	_, err := cuda.Elapsed(e[1], e[2])
	wantError(t, err, cuda.ErrNotReady, "cuEventElapsedTime", "of which one is not done: call Synchronize of the later one first")
	ok(t, e[2].Synchronize())
	if d, err := cuda.Elapsed(e[1], e[2]); err != nil || d <= 0 {
		t.Errorf("Elapsed is %v, %v", d, err)
	}
	ok(t, e[1].Close())
	wantError(t, st.Wait(e[1]), tvmffi.ErrValue, "the event of cuda:0 is closed")
	wantError(t, e[1].Record(st), tvmffi.ErrValue, "is closed")
	var none *cuda.Event
	for i, err := range []error{none.Record(st), none.Synchronize(), st.Wait(nil), func() error { _, err := none.Done(); return err }(),
		func() error { _, err := cuda.Elapsed(none, e[0]); return err }()} {
		wantError(t, err, tvmffi.ErrValue, "the event is nil")
		if err == nil {
			t.Error(fmt.Sprint("call ", i))
		}
	}
}

// TestCapturedEvents looks at events that were last recorded in a capture, which is an error until they are recorded again.
func TestCapturedEvents(t *testing.T) {
	load(t)
	st := newStream(t, 0)
	e := closes[*cuda.Event](t)(cuda.Device(0).NewEvent(cuda.Timing()))
	graph := must[*cuda.Graph](t)(st.Capture(func() error { return e.Record(st) }))
	ok(t, graph.Close())
	_, elapsed := cuda.Elapsed(e, e)
	wantDriverError(t, elapsed, cuda.ErrCapturedEvent, "cuEventElapsedTime")
	wantError(t, e.Synchronize(), cuda.ErrCapturedEvent, "whose work does not run: record it again outside")
	if strings.Contains(elapsed.Error(), "never recorded") {
		t.Error(elapsed)
	}
	ok(t, errors.Join(e.Record(st), e.Synchronize()))
}
