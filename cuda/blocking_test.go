package cuda_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/cuda"
)

// stuck is a stream that waits for a word of the host, whose queue holds little work.
type stuck struct {
	t    *testing.T
	st   *cuda.Stream
	word *cuda.Host[uint32]
}

// newStuck makes a stream that waits. It goes on when the test ends, if not before.
func newStuck(t *testing.T, d cuda.Device, options ...cuda.StreamOption) *stuck {
	t.Helper()
	s := &stuck{t, newStream(t, d, options...), must[*cuda.Host[uint32]](t)(cuda.AllocHost[uint32](d, 1))}
	s.word.Slice()[0] = 0
	t.Cleanup(func() {
		s.goOn()
		ok(t, s.word.Free())
	})
	ok(t, cuda.WaitValue(s.word, 0, uint32(1), cuda.WaitEqual, s.st))
	return s
}

func (s *stuck) goOn() { atomic.StoreUint32(&s.word.Slice()[0], 1) }

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
	case <-time.After(5 * time.Second):
		stack := make([]byte, 1<<16)
		s.t.Errorf("%s waits for a stream that it does not use:\n%s", what, stack[:runtime.Stack(stack, true)])
		s.goOn()
		<-result
	}
}

// TestFullQueue lets a copy block in the driver, because the queue of a stream is full, and uses
// everything else meanwhile. The copy must hold no lock that they need.
func TestFullQueue(t *testing.T) {
	f := load(t)
	f.seed(1)
	defer f.unseed()
	const d = cuda.Device(0)
	o := newOnes(t, d)
	free := newStream(t, d, cuda.NonBlocking())
	captured, joined := newStream(t, d), newStream(t, d)
	event := must[*cuda.Event](t)(d.NewEvent())
	t.Cleanup(func() { ok(t, event.Close()) })
	f.queue(4)
	s := newStuck(t, d)
	for range 3 {
		ok(t, o.on(s.st))
	}
	copied := make(chan error, 1)
	got := make([]float32, 4)
	go func() { copied <- cuda.CopyOut(got, o.b) }()
	untilIn("(*guard).mark", "driver.CallWith")
	graph := func(st *cuda.Stream, f func() error) func() error {
		return func() error {
			gr, err := st.Capture(f)
			return errors.Join(err, gr.Close())
		}
	}
	s.inTime("NewStream", func() error {
		st, err := d.NewStream()
		return errors.Join(err, st.Close())
	})
	s.inTime("a launch", func() error { return errors.Join(o.on(free), free.Synchronize(), free.Keep(1)) })
	s.inTime("Capture", graph(free, func() error { return o.on(free) }))
	s.inTime("Capture of a stream that copies wait for", graph(captured, func() error {
		return errors.Join(o.on(captured), event.Record(captured), joined.Wait(event), o.on(joined), event.Record(joined), captured.Wait(event))
	}))
	s.inTime("Close of a stream with work", func() error { return errors.Join(o.on(joined), joined.Close()) })
	s.inTime("a copy on another stream", func() error { return cuda.CopyInAt(o.a, 0, []float32{1, 2, 3, 4}, free) })
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
	f := load(t)
	f.seed(1)
	defer f.unseed()
	loadTVMFFI(t)
	o := newOnes(t, 0)
	s := newStuck(t, 0, cuda.NonBlocking())
	copied := make(chan error, 1)
	go func() {
		copied <- cuda.WithStream(s.st, func() error { return cuda.CopyOut(make([]float32, 4), o.a) })
	}()
	untilIn("(*guard).copyOn", "driver.CallWith")
	s.inTime("a copy", func() error { return cuda.CopyIn(o.b, []float32{1}) })
	s.goOn()
	ok(t, <-copied)
}

// TestStagingBesideStuck copies by one staging memory on streams that wait, and on one that does not.
func TestStagingBesideStuck(t *testing.T) {
	f := load(t)
	f.eachSeed(t, func(t *testing.T) {
		const d = cuda.Device(0)
		via := must[*cuda.Staging](t)(d.NewStaging(4 * 64))
		a, b, c := onDevice(t, d, make([]byte, 1000)), onDevice(t, d, make([]byte, 1000)), onDevice(t, d, make([]byte, 200))
		s := newStuck(t, d, cuda.NonBlocking())
		free := newStream(t, d, cuda.NonBlocking())
		copied := make(chan error, 3)
		go func() { copied <- cuda.CopyInVia(via, a, 0, numbered(1000, 1), s.st) }()
		untilIn("(*Staging).take", "driver.CallWith")
		s.inTime("a copy on another stream", func() error {
			return errors.Join(cuda.CopyInVia(via, b, 0, numbered(1000, 2), free), free.Synchronize())
		})
		wantBytes(t, b, free, numbered(1000, 2))

		// Two streams that wait have all parts: the third one waits for either of them.
		second := newStuck(t, d, cuda.NonBlocking())
		go func() { copied <- cuda.CopyInVia(via, c, 0, numbered(200, 3), second.st) }()
		untilSoMany(2, "(*Staging).take", "driver.CallWith")
		go func() { copied <- cuda.CopyInVia(via, b, 0, numbered(1000, 4), free) }()
		untilIn("(*Staging).take", "time.Sleep")
		second.goOn()
		ok(t, errors.Join(<-copied, <-copied)) // on the second stream and on the free one
		wantBytes(t, b, free, numbered(1000, 4))
		wantBytes(t, c, second.st, numbered(200, 3))
		closed := make(chan error, 1)
		go func() { closed <- via.Close() }() // waits for the copy that still runs
		untilIn("(*Staging).close", "sync.(*Cond).Wait")
		wantError(t, cuda.CopyInVia(via, c, 0, []byte{1}, free), nil, "was freed")
		s.goOn()
		ok(t, errors.Join(<-copied, <-closed))
		wantBytes(t, a, s.st, numbered(1000, 1))
	})
}

// TestStagingByMany copies by one staging memory from many goroutines, each on its own stream.
func TestStagingByMany(t *testing.T) {
	f := load(t)
	f.eachSeed(t, func(t *testing.T) {
		const d = cuda.Device(1)
		via := must[*cuda.Staging](t)(d.NewStaging(4 * 64))
		var all sync.WaitGroup
		for i := range 6 {
			m, st := onDevice(t, d, make([]byte, 700)), newStream(t, d, cuda.NonBlocking())
			all.Go(func() {
				for round := range 5 {
					want := numbered(700, byte(i+10*round))
					if err := cuda.CopyInVia(via, m, 0, want, st); err != nil {
						t.Error(err)
						return
					}
					wantBytes(t, m, st, want)
				}
			})
		}
		all.Wait()
		ok(t, via.Close())
	})
}

// TestStagingAllocatesNothing copies more than the staging memory holds.
func TestStagingAllocatesNothing(t *testing.T) {
	f := load(t)
	f.seed(0)
	defer f.unseed()
	via := must[*cuda.Staging](t)(cuda.Device(0).NewStaging(4 * 64))
	defer func() { ok(t, via.Close()) }()
	st := newStream(t, 0, cuda.NonBlocking())
	m := onDevice(t, 0, make([]byte, 1000))
	src := numbered(1000, 1)
	if n := testing.AllocsPerRun(100, func() { ok(t, cuda.CopyInVia(via, m, 0, src, st)) }); n != 0 && !raceEnabled {
		t.Errorf("a copy allocates %v times", n)
	}
}

// TestImageBesideClose uses an image on one device while Close waits for the other one.
func TestImageBesideClose(t *testing.T) {
	f := load(t)
	f.seed(1)
	defer f.unseed()
	im := cuda.NewImage([]byte(ptx))
	for d := range cuda.Device(2) {
		must[*cuda.Kernel](t)(im.Kernel(d, "add_one"))
	}
	s := newStuck(t, 0, cuda.NonBlocking())
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

// TestCaptureEndsBesideStuck ends a capture during which another goroutine has freed memory. Neither
// that capture nor the next one waits for the device.
func TestCaptureEndsBesideStuck(t *testing.T) {
	f := load(t)
	f.eachSeed(t, func(t *testing.T) {
		const d = cuda.Device(1)
		o := newOnes(t, d)
		m := must[*cuda.Memory](t)(d.Alloc(16))
		s, free := newStuck(t, d, cuda.NonBlocking()), newStream(t, d, cuda.NonBlocking())
		ok(t, ones{o.k, o.a, m}.on(s.st)) // when the stream goes on
		live := d.Live().Allocations
		s.inTime("Capture", func() error {
			graph, err := free.Capture(func() error {
				beside(func() { ok(t, m.Free()) })
				return o.on(free)
			})
			if err := errors.Join(err, graph.Close()); err != nil {
				return err
			}
			graph, err = free.Capture(func() error { return o.on(free) })
			return errors.Join(err, graph.Close())
		})
		if now := d.Live().Allocations; now != live {
			t.Errorf("%d allocations are live, want %d: the memory is in use", now, live)
		}
		s.goOn()
		ok(t, d.Synchronize())
		if now := d.Live().Allocations; now != live-1 {
			t.Errorf("%d allocations are live, want %d", now, live-1)
		}
	})
}
