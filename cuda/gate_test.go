package cuda_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// callFake calls a function of the driver as another library would.
func callFake(t *testing.T, name string, args ...uintptr) {
	t.Helper()
	h := must[dynlib.Handle](t)(dynlib.Open(os.Getenv("TVMFFI_CUDA_LIBRARY")))
	f := must[uintptr](t)(h.Symbol(name))
	if rc, _, _ := purego.SyscallN(f, args...); int32(rc) != 0 {
		t.Fatalf("%s: %d", name, int32(rc))
	}
}

// foreignStream is a stream of another library, made as cudaStreamCreate makes it.
func foreignStream(t *testing.T, d cuda.Device) *cuda.Stream {
	t.Helper()
	out := must[*cuda.Host[uint64]](t)(cuda.AllocHost[uint64](d, 1)) // memory that does not move
	defer out.Free()
	address := must[*cuda.Memory](t)(out.Mapped(d)).Pointer().Address
	ok(t, cuda.WithDevice(d, func() error {
		callFake(t, "cuStreamCreateWithPriority", address, 0, 0)
		return nil
	}))
	h := uintptr(out.Slice()[0])
	t.Cleanup(func() { callFake(t, "cuStreamDestroy_v2", h) })
	return must[*cuda.Stream](t)(cuda.StreamFromPointer(d, tvmffi.Pointer{Address: h}))
}

// TestCopiesWaitForForeign copies beside the work of blocking streams, of which 64 belong to another library. Each copy comes
// after that work, by the same number of calls whatever is open.
func TestCopiesWaitForForeign(t *testing.T) {
	f := load(t)
	const d = cuda.Device(1)
	o := newOnes(t, d)
	ok(t, cuda.CopyIn(o.b, make([]float32, 4))) // which makes the stream of copies
	for _, open := range []int{0, 1, 64} {
		streams := []*cuda.Stream{newStream(t, d, cuda.Blocking())}
		for range open {
			streams = append(streams, foreignStream(t, d))
		}
		for i, st := range streams[max(0, len(streams)-2):] {
			ok(t, cuda.CopyIn(o.a, []float32{1, 2, 3, float32(i)}))
			ok(t, o.on(st))
			wantFloats(t, o.b, 2, 3, 4, float32(i+1))
			ok(t, o.on(st))
			ok(t, cuda.CopyIn(o.a, []float32{5, 6, 7, 8})) // which the kernel must not see
			wantFloats(t, o.b, 2, 3, 4, float32(i+1))
		}
		f.calls()
		ok(t, cuda.CopyOut(make([]float32, 4), o.b))
		f.expect("cuCtxGetCurrent", "cuCtxSetCurrent", "cuEventRecord", "cuStreamWaitEvent", "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize", "cuCtxSetCurrent")
	}
}

// returns waits for a result for a while.
func returns(t *testing.T, what string, result <-chan error) {
	t.Helper()
	select {
	case err := <-result:
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	case <-time.After(nativetest.Patience(20 * time.Second)):
		t.Fatalf("%s does not return", what)
	}
}

// TestWaitsBesideCapture lets goroutines wait for the device while another one captures. They wait for the end of the
// capture, which goes on, also with another capture inside.
func TestWaitsBesideCapture(t *testing.T) {
	load(t)
	const d = cuda.Device(1)
	o, st, inner := newOnes(t, d), newStream(t, d), newStream(t, d)
	m := must[*cuda.Memory](t)(d.Alloc(16))
	h := must[*cuda.Host[int8]](t)(cuda.AllocHost[int8](d, 4))
	module := must[*cuda.Module](t)(d.LoadModule([]byte(ptx)))
	live := d.Live()
	waits := map[string]func() error{"Free": m.Free, "Host.Free": h.Free, "Close": module.Close, "Synchronize": d.Synchronize}
	results := map[string]chan error{}
	graphOf(t, o, st, func() {
		for what, wait := range waits {
			result := make(chan error, 1) // the goroutines must not read the map while it grows
			results[what] = result
			go func() { result <- wait() }()
		}
		untilSoMany(len(waits), "(*gate).wait", "sync.(*Cond).Wait")
		graph, err := inner.Capture(func() error { return o.on(inner) })
		ok(t, errors.Join(err, graph.Close()))
		for what, result := range results {
			select {
			case err := <-result:
				t.Errorf("%s returns %v before the end of the capture", what, err)
			default:
			}
		}
		if now := d.Live(); now.Allocations != live.Allocations || now.Modules != live.Modules {
			t.Errorf("live: %+v, before %+v", now, live)
		}
	})
	for what, result := range results {
		returns(t, what, result)
	}
}

// TestBesideCapture uses the device from another goroutine while one captures. While the default stream waits for the
// captured stream, each use of it is refused, and the capture goes on.
func TestBesideCapture(t *testing.T) {
	f := load(t)
	const d = cuda.Device(1)
	for _, options := range [][]cuda.StreamOption{{cuda.Blocking()}, nil} {
		o, p := newOnes(t, d), newOnes(t, d)
		st, second, joined := newStream(t, d, options...), newStream(t, d), newStream(t, d, options...)
		def := must[*cuda.Stream](t)(d.DefaultStream())
		fork := closes[*cuda.Event](t)(d.NewEvent())
		plain := closes[*cuda.Event](t)(d.NewEvent())
		slice := make([]float32, 4)
		freed := must[*cuda.Memory](t)(d.Alloc(16))
		usual := map[string]func() error{
			"a launch":    func() error { return p.on(second) },
			"a copy":      func() error { return cuda.CopyInAt(p.a, 0, []float32{1, 2, 3, 4}, second) },
			"Synchronize": func() error { return errors.Join(second.Synchronize(), second.Keep(1)) },
			"memory": func() error {
				m, err := d.Alloc(16)
				return errors.Join(err, m.FreeAsync(second))
			},
			"ordered memory": func() error {
				m, err := d.AllocAsync(16, second)
				return errors.Join(err, m.FreeAsync(second))
			},
			"a module": func() error {
				module, err := d.LoadModule([]byte(ptx))
				t.Cleanup(func() { ok(t, module.Close()) })
				return err
			},
			"another device": cuda.Device(0).Synchronize,
		}
		def2 := map[string]func() error{
			"a launch there": func() error { return p.on(def) },
			"without stream": func() error { return p.on(nil) },
			"Fill":           func() error { return cuda.Fill(p.b, float32(2), nil) },
			"CopyIn":         func() error { return cuda.CopyIn(p.b, slice) },
			"CopyOut":        func() error { return cuda.CopyOut(slice, p.b) },
			"AllocOf": func() error {
				m, err := cuda.AllocOf(d, slice)
				if err == nil {
					err = m.FreeAsync(second)
				}
				return err
			},
			"CopyInAt":        func() error { return cuda.CopyInAt(p.b, 0, slice, def) },
			"Record":          func() error { return plain.Record(def) },
			"Wait":            func() error { return def.Wait(plain) },
			"Call":            func() error { _, err := def.Call(func() error { return nil }); return err },
			"AllocAsync":      func() error { m, err := d.AllocAsync(16, nil); return errors.Join(err, m.FreeAsync(def)) },
			"its Synchronize": def.Synchronize,
			"its Done":        func() error { _, err := def.Done(); return err },
		}
		captured := map[string]func(st *cuda.Stream) error{
			"Synchronize": (*cuda.Stream).Synchronize, "Done": func(st *cuda.Stream) error { _, err := st.Done(); return err },
			"Keep": func(st *cuda.Stream) error { return st.Keep(1) }, "Call": func(st *cuda.Stream) error { _, err := st.Call(func() error { return nil }); return err },
			"Close":      (*cuda.Stream).Close,
			"AllocAsync": func(st *cuda.Stream) error { _, err := d.AllocAsync(4, st); return err },
		}
		graphOf(t, o, st, func() {
			ok(t, errors.Join(fork.Record(st), joined.Wait(fork))) // joined is captured too
			beside(func() {
				for what, use := range usual {
					if err := use(); err != nil {
						t.Errorf("%s: %v", what, err)
					}
				}
				if err := second.Synchronize(); err != nil { // the launch may have come after the other Synchronize
					t.Error(err)
				}
				for what, call := range captured {
					for _, st := range []*cuda.Stream{st, joined} {
						wantError(t, call(st), tvmffi.ErrValue, what+" for a stream of cuda:1 that is captured")
					}
				}
				wantError(t, freed.FreeAsync(st), tvmffi.ErrValue, "FreeAsync for a stream of cuda:1 that is captured") // Free still ends it
				for what, use := range def2 {
					err := use()
					if options == nil && err != nil {
						t.Errorf("%s: %v", what, err)
					}
					if options != nil {
						wantError(t, err, tvmffi.ErrValue, "the default stream of cuda:1 cannot be used while a stream that it waits for is captured", "Blocking")
					}
				}
			})
			ok(t, errors.Join(fork.Record(joined), st.Wait(fork)))
		})
		live := d.Live().Allocations
		ok(t, freed.Free())
		if left := d.Live().Allocations; left != live-1 {
			t.Errorf("%d allocations are left, want %d", left, live-1)
		}
		f.reset()
		ok(t, d.Synchronize())
		wantFloats(t, p.a, 1, 2, 3, 4)
	}
}

// TestCapturesBesideQueues begins captures of a blocking stream while goroutines use the default stream all the
// time. No capture fails: a use of the default stream is done before it begins, or refused.
func TestCapturesBesideQueues(t *testing.T) {
	f := load(t)
	const d = cuda.Device(0)
	o, p, st := newOnes(t, d), newOnes(t, d), newStream(t, d, cuda.Blocking())
	def := must[*cuda.Stream](t)(d.DefaultStream())
	f.Queue(8)
	defer f.Queue(0)
	stop, left := make(chan struct{}), make(chan error, 4)
	for i := range cap(left) {
		go func() {
			for {
				select {
				case <-stop:
					left <- nil
					return
				default:
				}
				var err error
				switch i {
				case 0:
					err = p.on(nil)
				case 1:
					err = cuda.CopyOut(make([]float32, 4), p.a)
				case 2:
					err = def.Synchronize()
				case 3:
					_, err = def.Done()
				}
				var refused *tvmffi.Error
				if err != nil && !errors.As(err, &refused) {
					left <- fmt.Errorf("goroutine %d: %w", i, err)
					return
				}
			}
		}()
	}
	for range 20 {
		graph, err := st.Capture(func() error { return o.on(st) })
		ok(t, errors.Join(err, graph.Close()))
	}
	close(stop)
	for range cap(left) {
		returns(t, "a goroutine", left)
	}
	f.calls()
	ok(t, def.Synchronize())
	if waits := only(f.calls(), "cuStreamSynchronize"); len(waits) != 1 || waits[0].args == "0" {
		t.Errorf("%v: the driver waits for the default stream, and a capture that begins meanwhile fails", waits)
	}
	ok(t, d.Synchronize())
}

// beside calls f on a goroutine of its own and waits for it.
func beside(f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	<-done
}

// untilIn waits until a goroutine is in all of the functions.
func untilIn(functions ...string) { untilSoMany(1, functions...) }

// untilSoMany waits until n goroutines or more are in all of the functions. After two minutes, or more on a busy machine, it panics.
func untilSoMany(n int, functions ...string) {
	late := time.Now().Add(nativetest.Patience(2 * time.Minute))
	for stack := make([]byte, 1<<20); ; runtime.Gosched() {
		in := 0
		for one := range strings.SplitSeq(string(stack[:runtime.Stack(stack, true)]), "\n\n") {
			missing := func(f string) bool { return !strings.Contains(one, f+"(") }
			if !slices.ContainsFunc(functions, missing) {
				in++
			}
		}
		if in >= n {
			return
		}
		if time.Now().After(late) {
			panic(fmt.Sprintf("%d goroutines are in %q, want %d", in, functions, n))
		}
	}
}

// busy queues a function on a stream of a device, which runs until end is called.
func busy(t *testing.T, d cuda.Device) (end func()) {
	t.Helper()
	block := make(chan bool)
	must[*cuda.HostCall](t)(newStream(t, d).Call(func() error { <-block; return nil }))
	return func() { close(block) }
}

// TestCopyBesideWaits copies while one goroutine waits for the device and another one for
// that, to begin a capture. The copy waits for neither: the device may wait for what the
// program does after it.
func TestCopyBesideWaits(t *testing.T) {
	load(t)
	o := newOnes(t, 0)
	st := newStream(t, 0)
	end := busy(t, 0)
	results := make(chan error, 2)
	go func() { results <- cuda.Device(0).Synchronize() }()
	untilIn("(*gate).wait", "driver.CallWith")
	go func() {
		graph, err := st.Capture(func() error { return o.on(st) })
		results <- errors.Join(err, graph.Close())
	}()
	untilIn("(*gate).begin", "sync.(*Cond).Wait")
	wantFloats(t, o.a, 1, 2, 3, 4)
	end()
	ok(t, errors.Join(<-results, <-results))
}

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
	untilIn("(*Image).Close", "(*gate).whenDone", "driver.CallWith")
	s.inTime("a kernel on another device", func() error {
		_, err := im.Kernel(1, "add_one")
		return err
	})
	s.goOn()
	ok(t, <-closed)
	ok(t, im.Close())
}

// TestTogether lets goroutines call functions of Go on streams, capture, copy, free, keep and close at the
// same time on one device, with short queues, ten times. None waits for another forever, and the
// work uses nothing that has ended.
func TestTogether(t *testing.T) {
	f := load(t)
	defer f.Queue(0)
	const d = cuda.Device(0)
	var own [6]ones
	for i := range own {
		own[i] = newOnes(t, d)
	}
	for seed := range 10 {
		f.Queue(2 + seed%7)
		f.t = t
		results := make(chan error)
		list := []func(){
			func() { callsTogether(own[0], seed) },
			func() { callsTogether(own[1], seed+1) },
			func() { capturesTogether(own[2]) },
			func() { capturesTogether(own[3]) },
			func() { freesTogether(own[4]) },
			func() { closesTogether(own[5]) },
			func() {
				for range 4 {
					needs(d.Synchronize())
					runtime.Gosched()
				}
			},
		}
		for i, g := range list {
			go func() {
				err := caught(g)
				if err != nil {
					err = fmt.Errorf("goroutine %d: %w", i, err)
				}
				results <- err
			}()
		}
		limit := time.After(nativetest.Patience(time.Minute))
		for range list {
			select {
			case err := <-results:
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			case <-limit:
				stack := make([]byte, 1<<20)
				t.Fatalf("seed %d: the goroutines wait for each other:\n%s", seed, stack[:runtime.Stack(stack, true)])
			}
		}
		ok(t, d.Synchronize())
		if bad := f.violated(); bad != "" {
			t.Fatalf("seed %d: %s", seed, bad)
		}
	}
}

// callsTogether lets a stream call functions that lock, allocate and collect.
func callsTogether(o ones, n int) {
	st := need(cuda.Device(0).NewStream(options(n)...))
	var mu sync.Mutex
	var seen []int
	var calls []*cuda.HostCall
	for i := range 6 {
		calls = append(calls, need(st.Call(func() error {
			mu.Lock()
			defer mu.Unlock()
			seen = append(slices.Clone(seen), i)
			if i == 3 && n%10 == 0 {
				runtime.GC()
			}
			return nil
		})))
		needs(errors.Join(o.on(st), st.Keep(calls[i])))
	}
	<-calls[5].Done() // without waiting for the stream
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(seen, []int{0, 1, 2, 3, 4, 5}) {
		needs(fmt.Errorf("the calls came as %v", seen))
	}
	needs(errors.Join(calls[5].Err(), st.Close()))
}

// options makes every second stream one that the default stream waits for.
func options(n int) []cuda.StreamOption {
	if n%2 == 0 {
		return []cuda.StreamOption{cuda.Blocking()}
	}
	return nil
}

func capturesTogether(o ones) {
	const d = cuda.Device(0)
	st := need(d.NewStream())
	joined := need(d.NewStream())
	event := need(d.NewEvent())
	for range 3 {
		graph := need(st.Capture(func() error {
			return errors.Join(o.on(st), event.Record(st), joined.Wait(event), o.on(joined), event.Record(joined), st.Wait(event))
		}))
		call := need(st.Call(func() error { return nil }))
		needs(errors.Join(graph.Launch(st), graph.Close(), event.Record(st), joined.Wait(event), o.on(joined), event.Record(joined), st.Wait(event)))
		<-call.Done()
	}
	needs(errors.Join(joined.Close(), st.Close(), event.Close()))
}

func freesTogether(o ones) {
	const d = cuda.Device(0)
	st := need(d.NewStream(cuda.Blocking()))
	for range 3 {
		m := need(cuda.AllocOf(d, []float32{0, 0, 0, 0}))
		n := need(d.AllocAsync(16, st))
		got := make([]float32, 4)
		needs(errors.Join(ones{o.k, o.a, m}.on(st), ones{o.k, o.a, n}.on(st), n.FreeAsync(st), cuda.CopyOut(got, m), m.Free()))
		if !slices.Equal(got, []float32{2, 3, 4, 5}) {
			needs(fmt.Errorf("copied %v", got))
		}
	}
	needs(st.Close())
}

// closesTogether closes streams, modules and images whose work runs.
func closesTogether(o ones) {
	const d = cuda.Device(0)
	im := cuda.NewImage([]byte(ptx))
	for n := range 4 {
		st := need(d.NewStream(options(n)...))
		k := need(im.Kernel(d, "add_one"))
		need(st.Call(func() error { return nil }))
		m := need(d.AllocAsync(16, st))
		needs(errors.Join(ones{k, o.a, m}.on(st), m.FreeAsync(st), st.Close()))
		if n%2 == 1 {
			needs(im.Close())
		}
	}
}
