package cuda_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

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

func TestStreamsAndEvents(t *testing.T) {
	f := load(t)
	a := closes[*cuda.Stream](t)(cuda.Device(0).NewStream(cuda.Blocking()))
	b := must[*cuda.Stream](t)(cuda.Device(1).NewStream(cuda.Blocking()))
	from := closes[*cuda.Event](t)(cuda.Device(0).NewEvent(cuda.Timing()))
	to := closes[*cuda.Event](t)(cuda.Device(0).NewEvent(cuda.Timing(), cuda.BlockingSync()))
	plain := closes[*cuda.Event](t)(cuda.Device(0).NewEvent())
	got := only(f.calls(), "cuEventCreate")
	if len(got) != 3 || got[0].args != "0" || got[1].args != "1" || got[2].args != "2" {
		t.Errorf("the calls are %v, want arguments 0, 1, 2", got)
	}
	ok(t, from.Record(a))
	ok(t, to.Record(a))
	ok(t, to.Synchronize())
	if d := must[time.Duration](t)(cuda.Elapsed(from, to)); d != 1500*time.Microsecond {
		t.Errorf("elapsed %v, want 1.5ms", d)
	}
	ok(t, b.Wait(to)) // an event of the other device
	f.failing("cuEventQuery", 600, 0)
	if done := must[bool](t)(to.Done()); done {
		t.Error("done, but the driver says not ready")
	}
	if done := must[bool](t)(to.Done()); !done {
		t.Error("not done")
	}
	f.failing("cuStreamQuery", 600, 0)
	if done := must[bool](t)(a.Done()); done {
		t.Error("done, but the driver says not ready")
	}
	f.failing("cuStreamQuery", 700, 0)
	_, err := a.Done()
	wantDriverError(t, err, cuda.ErrIllegalAddress, "cuStreamQuery")
	_, err = cuda.Elapsed(from, plain)
	wantError(t, err, tvmffi.ErrValue, "cuda.Timing()")
	wantError(t, from.Record(b), tvmffi.ErrValue, "the stream is of cuda:1")
	ok(t, b.Close())
	ok(t, b.Close())
	wantError(t, b.Synchronize(), tvmffi.ErrValue, "the stream of cuda:1 is closed")
	wantError(t, b.Wait(to), tvmffi.ErrValue, "is closed")
	var none *cuda.Stream
	wantError(t, none.Synchronize(), tvmffi.ErrValue, "nil")
	wantError(t, a.Wait(nil), tvmffi.ErrValue, "nil")
	def := must[*cuda.Stream](t)(cuda.Device(1).DefaultStream())
	ok(t, def.Synchronize())
	ok(t, def.Close())
	ok(t, def.Synchronize())
	if def.Pointer().Address != 0 || def.Device() != 1 {
		t.Errorf("the default stream is %v of %s", def.Pointer(), def.Device())
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

// TestKeepInCapture keeps a value for a stream beside the one that is captured. The driver refuses to ask for the event
// in a capture, which would fail.
func TestKeepInCapture(t *testing.T) {
	load(t)
	const d = cuda.Device(0)
	st := closes[*cuda.Stream](t)(d.NewStream())
	other := closes[*cuda.Stream](t)(d.NewStream())
	graph, err := st.Capture(func() error { return other.Keep(new(int)) })
	ok(t, errors.Join(err, graph.Close(), other.Synchronize()))
}

// TestFailedCallEnds lets the driver refuse a function for a stream: the package forgets it.
func TestFailedCallEnds(t *testing.T) {
	f := load(t)
	st := closes[*cuda.Stream](t)(cuda.Device(0).NewStream(cuda.Blocking()))
	ended := make(chan bool, 1)
	func() {
		held := new([64]byte)
		runtime.AddCleanup(held, func(int) { ended <- true }, 0)
		f.failing("cuLaunchHostFunc", int(cuda.ErrUnknown), 0)
		_, err := st.Call(func() error { held[0]++; return nil })
		wantError(t, err, cuda.ErrUnknown)
	}()
	if !collected(ended, nativetest.Patience(5*time.Second)) {
		t.Error("what the function uses is kept")
	}
}

// owned is what a tensor over memory of a device keeps alive.
type owned struct{ _ [64]byte }

// heldTensor returns a tensor and whether the collector has ended what it keeps.
//
//go:noinline
func heldTensor(t *testing.T, m *cuda.Memory) (*tvmffi.Tensor, func() bool) {
	o, ended := new(owned), new(atomic.Bool)
	runtime.AddCleanup(o, func(b *atomic.Bool) { b.Store(true) }, ended)
	tensor := must[*tvmffi.Tensor](t)(tvmffi.FromPointer(m.Pointer(), tvmffi.Float32, tvmffi.CUDA(0), o, 4))
	return tensor, func() bool {
		for range 5 {
			runtimetest.RunCleanups()
		}
		return ended.Load()
	}
}

// TestKeep releases tensors that queued work uses.
func TestKeep(t *testing.T) {
	f := load(t)
	loadTVMFFI(t)
	o := newOnes(t, 0)
	st := newStream(t, 0)
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32), Stream: st}
	for name, wait := range map[string]func() error{
		"Synchronize":            st.Synchronize,
		"Synchronize of cuda:0":  cuda.Device(0).Synchronize,
		"the next Keep, a while": func() error { return errors.Join(cuda.CopyOut(make([]float32, 4), o.a), st.Synchronize(), st.Keep()) },
	} {
		tensor, ended := heldTensor(t, o.a)
		ok(t, o.k.Launch(c, tensor, o.b, 4))
		ok(t, st.Keep(tensor, 1, nil, o.b))
		tensor.Release()
		if ended() {
			t.Errorf("%s: the tensor has ended before the kernel", name)
		}
		ok(t, wait())
		if !ended() {
			t.Errorf("%s: the tensor is still kept", name)
		}
	}
	tensor, ended := heldTensor(t, o.a)
	view := must[*cuda.Memory](t)(cuda.TensorMemory(tensor))
	ok(t, cuda.Fill(view, float32(1), st))
	ok(t, st.Keep(view))
	wantError(t, cuda.Device(0).Release(), tvmffi.ErrValue, "in use")
	tensor.Release()
	if ended() {
		t.Error("the tensor of the view has ended before the kernel")
	}
	ok(t, st.Synchronize())
	runtime.KeepAlive(view)

	released, _ := heldTensor(t, o.a)
	released.Release()
	f.calls()
	wantError(t, st.Keep(1, released), tvmffi.ErrValue, "value 1 to keep: the tensor was released")
	var none *cuda.Stream
	wantError(t, none.Keep(1), tvmffi.ErrValue, "the stream is nil")
	wantError(t, new(cuda.Stream).Keep(1), tvmffi.ErrValue, "a zero Stream stands for nothing, in the call of Stream.Keep")
	f.expect()
	ok(t, st.Synchronize())
	if n := testing.AllocsPerRun(20, func() { ok(t, o.on(st)) }); n != 0 && !raceEnabled {
		t.Errorf("a launch allocates %v times", n)
	}
}

// TestKeepOfLostDevice lets values go when the device is lost.
func TestKeepOfLostDevice(t *testing.T) {
	f := load(t)
	m := must[*cuda.Module](t)(cuda.Device(0).LoadModule([]byte(ptx)))
	mem := must[*cuda.Memory](t)(cuda.Device(0).Alloc(16))
	st := must[*cuda.Stream](t)(cuda.Device(0).NewStream(cuda.Blocking()))
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1), Stream: st}
	ok(t, kernel(t, m, "crash").Launch(c))
	ok(t, st.Keep("a value"))
	wantError(t, cuda.Device(0).Synchronize(), cuda.ErrIllegalAddress)
	wantError(t, mem.Free(), cuda.ErrIllegalAddress) // and it is freed
	if l := cuda.Device(0).Live(); l.Allocations != 0 {
		t.Errorf("live: %+v", l)
	}
	f.reset()
	ok(t, errors.Join(m.Close(), st.Close()))
	ok(t, cuda.Device(0).Release()) // nothing is kept
}

func TestHostCalls(t *testing.T) {
	f := load(t)
	st := closes[*cuda.Stream](t)(cuda.Device(1).NewStream(cuda.Blocking()))
	f.calls()
	var order []int
	for i := range 100 {
		call := must[*cuda.HostCall](t)(st.Call(func() error {
			order = append(order, i)
			if i%2 == 1 {
				return fmt.Errorf("call %d", i)
			}
			return nil
		}))
		<-call.Done()
		if err := call.Err(); (err != nil) != (i%2 == 1) || err != nil && err.Error() != fmt.Sprintf("call %d", i) {
			t.Errorf("call %d returned %v", i, err)
		}
	}
	if len(order) != 100 || !slices.IsSorted(order) {
		t.Errorf("called in the order %v", order)
	}
	if n := len(only(f.calls(), "cuLaunchHostFunc")); n != 100 {
		t.Errorf("%d functions were queued", n)
	}
	panics := must[*cuda.HostCall](t)(st.Call(func() error { panic("of f") }))
	<-panics.Done()
	wantPanic(t, panics.Err(), "panic in a function that a stream called: of f", "TestHostCalls")

	_, err := st.Call(nil)
	wantError(t, err, tvmffi.ErrValue, "the function for the stream is nil")
	var none *cuda.Stream
	_, err = none.Call(func() error { return nil })
	wantError(t, err, tvmffi.ErrValue, "the stream is nil")
}

func TestPriorities(t *testing.T) {
	f := load(t)
	d := cuda.Device(0)
	least, greatest, err := d.PriorityRange()
	if least != 0 || greatest != -5 || err != nil {
		t.Errorf("priorities %d to %d (%v), want 0 to -5", greatest, least, err)
	}
	for _, c := range []struct{ asked, want int }{{0, 0}, {-3, -3}, {-100, -5}, {7, 0}} {
		st := must[*cuda.Stream](t)(d.NewStream(cuda.Priority(c.asked)))
		if got, err := st.Priority(); got != c.want || err != nil {
			t.Errorf("priority %d is %d (%v), want %d", c.asked, got, err, c.want)
		}
		ok(t, st.Close())
		_, err := st.Priority()
		wantError(t, err, tvmffi.ErrValue, "is closed")
	}
	st := must[*cuda.Stream](t)(d.DefaultStream())
	_, _, err = cuda.Device(4).PriorityRange()
	wantError(t, err, tvmffi.ErrValue, "there is no device")
	f.failing("cuStreamGetPriority", int(cuda.ErrUnknown), 0)
	_, err = st.Priority()
	wantDriverError(t, err, cuda.ErrUnknown, "cuStreamGetPriority")
}
