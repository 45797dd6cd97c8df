package cuda_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// stuck is a stream that waits for the program, whose queue holds little work.
type stuck struct {
	t    *testing.T
	st   *cuda.Stream
	goOn func()
}

// newStuck makes a stream that waits. It goes on when the test ends, if not before.
func newStuck(t *testing.T, d cuda.Device, options ...cuda.StreamOption) *stuck {
	t.Helper()
	gate := make(chan struct{})
	s := &stuck{t, newStream(t, d, options...), sync.OnceFunc(func() { close(gate) })}
	t.Cleanup(s.goOn)
	must[*cuda.HostCall](t)(s.st.Call(func() error { <-gate; return nil }))
	return s
}

// queue lets a stream take so much work before a call that queues more blocks.
func (f *fake) queue(n int) {
	f.Queue(n)
	f.t.Cleanup(func() { f.Queue(0) })
}

// inTime fails where f has not returned after a while; the stream goes on then.
func (s *stuck) inTime(what string, f func() error) {
	s.t.Helper()
	result := make(chan error, 1)
	go func() { result <- f() }()
	select {
	case err := <-result:
		if err != nil {
			s.t.Errorf("%s: %v", what, err)
		}
	case <-time.After(nativetest.Patience(5 * time.Second)):
		stack := make([]byte, 1<<16)
		s.t.Errorf("%s waits for a stream that it does not use:\n%s", what, stack[:runtime.Stack(stack, true)])
		s.goOn()
		<-result
	}
}

// TestFullQueue lets a copy wait in the driver for a stream whose queue is full, and uses
// everything else meanwhile. The copy must hold no lock that they need.
func TestFullQueue(t *testing.T) {
	f := load(t)
	const d = cuda.Device(0)
	o, p, q := newOnes(t, d), newOnes(t, d), newOnes(t, d)
	free := newStream(t, d)
	captured, joined := newStream(t, d, cuda.Blocking()), newStream(t, d, cuda.Blocking())
	event := must[*cuda.Event](t)(d.NewEvent())
	t.Cleanup(func() { ok(t, event.Close()) })
	f.queue(4)
	s := newStuck(t, d, cuda.Blocking())
	for range 3 {
		ok(t, o.on(s.st))
	}
	copied := make(chan error, 1)
	got := make([]float32, 4)
	go func() { copied <- cuda.CopyOut(got, o.b) }()
	untilIn("(*guard).copyOn", "driver.CallWith")
	graph := func(st *cuda.Stream, f func() error) func() error {
		return func() error {
			gr, err := st.Capture(f)
			return errors.Join(err, gr.Close())
		}
	}
	s.inTime("NewStream", func() error {
		st, err := d.NewStream(cuda.Blocking())
		return errors.Join(err, st.Close())
	})
	s.inTime("a launch", func() error { return errors.Join(p.on(free), free.Synchronize(), free.Keep(1)) })
	s.inTime("Capture", graph(free, func() error { return p.on(free) }))
	s.inTime("Capture of a stream that copies wait for", graph(captured, func() error {
		return errors.Join(q.on(captured), event.Record(captured), joined.Wait(event), q.on(joined), event.Record(joined), captured.Wait(event))
	}))
	s.inTime("Close of a stream with work", func() error { return errors.Join(q.on(joined), joined.Close()) })
	s.inTime("a copy on another stream", func() error { return cuda.CopyInAt(p.a, 0, []float32{1, 2, 3, 4}, free) })
	s.inTime("Close of the stream", s.st.Close)
	select {
	case err := <-copied:
		t.Fatalf("the copy does not wait for the stream: %v", err)
	default:
	}
	s.goOn()
	ok(t, <-copied)
	if got[3] != 5 {
		t.Errorf("copied %v, want [2 3 4 5]", got)
	}
}

// TestCopyBesideCopy copies inside WithStream of a stream that waits, and beside that as usual. The
// second copy need not wait for that stream.
func TestCopyBesideCopy(t *testing.T) {
	load(t)
	loadTVMFFI(t)
	o := newOnes(t, 0)
	s := newStuck(t, 0)
	copied := make(chan error, 1)
	go func() {
		copied <- cuda.WithStream(s.st, func() error { return cuda.CopyOut(make([]float32, 4), o.a) })
	}()
	untilIn("(*guard).copyOn", "driver.CallWith")
	s.inTime("a copy", func() error { return cuda.CopyIn(o.b, []float32{1}) })
	s.goOn()
	ok(t, <-copied)
}

// TestImageBesideClose uses an image on one device while Close waits for the other one.
func TestImageBesideClose(t *testing.T) {
	load(t)
	im := cuda.NewImage([]byte(ptx))
	for d := range cuda.Device(2) {
		must[*cuda.Kernel](t)(im.Kernel(d, "add_one"))
	}
	s := newStuck(t, 0)
	closed := make(chan error, 1)
	go func() { closed <- im.Close() }()
	untilIn("(*Image).Close", "(*guard).whenDone", "driver.CallWith")
	s.inTime("a kernel on another device", func() error {
		_, err := im.Kernel(1, "add_one")
		return err
	})
	s.goOn()
	ok(t, <-closed)
	ok(t, im.Close())
}
