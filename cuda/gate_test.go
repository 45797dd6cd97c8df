package cuda_test

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
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
	case <-time.After(20 * time.Second):
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
		untilSoMany(len(waits), "(*guard).wait", "sync.(*Cond).Wait")
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

// TestJoins lets streams wait for an event of a capture: one of another device, and one that the default stream waits for,
// are refused, and the capture goes on.
func TestJoins(t *testing.T) {
	load(t)
	const d = cuda.Device(1)
	o, st, blocking, there := newOnes(t, d), newStream(t, d), newStream(t, d, cuda.Blocking()), newStream(t, 0)
	event := closes[*cuda.Event](t)(d.NewEvent())
	graphOf(t, o, st, func() {
		ok(t, event.Record(st))
		wantError(t, there.Wait(event), tvmffi.ErrValue, "the event was recorded in a capture on cuda:1, the stream is of cuda:0: a capture stays on one device")
		wantError(t, blocking.Wait(event), tvmffi.ErrValue, "the default stream of cuda:1 waits for this stream: only streams that were not made with Blocking can join")
		beside(func() { ok(t, cuda.Fill(o.b, float32(1), nil)) }) // which can be used still
	})
	ok(t, event.Record(st))
	ok(t, errors.Join(there.Wait(event), blocking.Wait(event)))
	ok(t, errors.Join(there.Synchronize(), blocking.Synchronize()))
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

// TestThreadStream uses handle 2, which is another stream on each OS thread, inside WithDevice alone.
func TestThreadStream(t *testing.T) {
	load(t)
	loadTVMFFI(t)
	o := newOnes(t, 1)
	st := must[*cuda.Stream](t)(cuda.StreamFromPointer(1, tvmffi.Pointer{Address: 2}))
	for what, use := range map[string]func() error{"a launch": func() error { return o.on(st) }, "Synchronize": st.Synchronize, "Fill": func() error { return cuda.Fill(o.b, float32(0), st) }} {
		if err := use(); err == nil {
			t.Errorf("%s: no error", what)
		} else {
			wantError(t, err, tvmffi.ErrValue, "default stream of an OS thread (handle 2)", "use it inside WithDevice or WithStream")
		}
	}
	work := func() error { return errors.Join(o.on(st), st.Synchronize()) }
	ok(t, cuda.WithDevice(0, work))
	ok(t, cuda.WithStream(st, work))
	wantFloats(t, o.b, 2, 3, 4, 5)
	if p := st.Pointer(); p.Address != 2 {
		t.Errorf("the handle is %d", p.Address)
	}
}

// TestCopyOnEither copies between devices on a stream of the source and on one of the destination.
func TestCopyOnEither(t *testing.T) {
	load(t)
	from, to := must[*cuda.Memory](t)(cuda.AllocOf(0, []float32{1, 2})), must[*cuda.Memory](t)(cuda.AllocOf(1, []float32{0, 0}))
	defer func() { ok(t, errors.Join(from.Free(), to.Free())) }()
	for d := range cuda.Device(2) {
		st := newStream(t, d)
		ok(t, cuda.CopyIn(to, []float32{0, 0}))
		ok(t, cuda.Copy(to, from, st))
		ok(t, st.Synchronize())
		wantFloats(t, to, 1, 2)
	}
}
