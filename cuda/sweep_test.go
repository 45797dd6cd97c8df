package cuda_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// closers closes what a scenario has made, last first.
type closers []func() error

func (c *closers) add(f func() error) { *c = append(*c, f) }

func (c *closers) close(err *error) {
	for _, f := range slices.Backward(*c) {
		failed := f()
		if failed != nil {
			_ = f() // what could not be closed for want of a device can be now
		}
		if *err == nil {
			*err = failed
		}
	}
}

// scenarios use the package as careful programs do: they free what they made, in whatever order their calls fail.
// Together they call every function of the driver.
var scenarios = map[string]func(*closers){"most": scenario, "questions": questions}

// closing returns a func that runs a scenario.
func closing(f func(*closers)) func() error {
	return func() (err error) {
		var c closers
		defer c.close(&err)
		return caught(func() { f(&c) })
	}
}

// destroying are the functions whose failure leaves something behind that is not for the caller to free any more. What
// happens to the thread when the context cannot be restored has a test of its own.
var destroying = []string{"cuMemFree_v2", "cuMemFreeHost", "cuStreamDestroy_v2", "cuEventDestroy_v2", "cuModuleUnload", "cuGraphDestroy",
	"cuGraphExecDestroy", "cuMemPoolDestroy", "cuStreamEndCapture", "cuMemHostUnregister", "cuCtxSetCurrent"}

// optional reports whether the calls of a scenario succeed without a function. Without cuEventQuery a
// stream keeps values longer.
func optional(scenario, symbol string) bool {
	return slices.Contains([]string{"cuFuncGetParamInfo"}, symbol) || symbol == "cuEventQuery" && scenario == "most"
}

// replaced are the functions without which the package does something else.
var replaced = []string{"cuDeviceGetUuid_v2", "cuPointerGetAttributes", "cuStreamGetFlags"}

// elsewhere are the functions that no scenario calls, with tests of their own: those of the first use (TestNoDriver), what is read once (TestPriorities), and loading inside Capture (TestLoadsInCapture).
var elsewhere = []string{"cuInit", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString", "cuDeviceGet", "cuDeviceGetCount",
	"cuCtxGetStreamPriorityRange", "cuThreadExchangeStreamCaptureMode"}

func scenario(c *closers) {
	const d = cuda.Device(1)
	needs(cuda.WithDevice(0, func() error {
		m := need(d.LoadModule([]byte(ptx)))
		c.add(m.Close)
		k := need(m.Kernel("saxpy"))
		st := need(d.NewStream(cuda.Blocking()))
		c.add(st.Close)
		from := need(d.NewEvent(cuda.Timing()))
		c.add(from.Close)
		x := need(cuda.AllocOf(d, []float32{1, 2}))
		c.add(x.Free)
		y := need(d.AllocAsync(8, st))
		c.add(y.Free)
		h := need(cuda.AllocHost[float32](d, 2))
		c.add(h.Free)
		launch := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32), Stream: st, Shared: 50000}
		needs(from.Record(st))
		needs(cuda.Fill(y, uint32(0), st))
		needs(k.Launch(launch, int32(2), float32(3), x, y))
		launch.Programmatic = true
		needs(k.Launch(launch, int32(2), float32(3), x, y))
		needs(cuda.CopyOutAsync(h, y, st))
		needs(cuda.CopyInAsync(y, h, st))
		needs(cuda.Copy(x, y, st))
		needs(st.Wait(from))
		need(st.Done())
		needs(st.Synchronize())
		needs(from.Synchronize())
		needs(k.Launch(launch, int32(2), float32(3), x, y))
		needs(st.Keep(x))
		needs(cuda.CopyOut(make([]float32, 2), x))
		needs(d.Synchronize())
		graph := need(st.Capture(func() error { return k.Launch(launch, int32(2), float32(3), x, y) }))
		c.add(graph.Close)
		pool := need(d.NewPool())
		c.add(pool.Close)
		z := need(pool.Alloc(8, st))
		c.add(z.Free)
		shared := need(d.DefaultPool())
		launch.Programmatic = false
		needs(graph.Launch(st))
		needs(pool.SetAttribute(cuda.PoolReleaseThreshold, 1<<20))
		need(pool.Attribute(cuda.PoolUsed))
		needs(pool.AllowAccess(0))
		needs(pool.Trim(0))
		needs(shared.Trim(0))
		call := need(st.Call(func() error { return nil }))
		<-call.Done()
		return call.Err()
	}))
}

// questions asks about devices, memory, events and kernels, and uses both devices.
func questions(c *closers) {
	const d = cuda.Device(1)
	c.add(cuda.Device(0).Release) // so that the context is retained again
	m := need(d.LoadModule([]byte(ptx)))
	c.add(m.Close)
	k := need(m.Kernel("nothing"))
	clustered := need(cuda.Device(0).LoadModule([]byte(ptx)))
	c.add(clustered.Close)
	wide := need(clustered.Kernel("nothing"))
	from := need(d.NewEvent(cuda.Timing()))
	c.add(from.Close)
	to := need(d.NewEvent(cuda.Timing()))
	c.add(to.Close)
	x := need(d.AllocManaged(64))
	c.add(x.Free)
	y := need(cuda.Device(0).Alloc(64))
	c.add(y.Free)
	z := need(d.AllocAsync(64, nil))
	c.add(z.Free) // if FreeAsync fails
	h := need(cuda.PinHost(d, make([]float32, 8), cuda.HostMapped()))
	c.add(h.Free)
	st := need(d.NewStream(cuda.Blocking()))
	c.add(st.Close)
	same := need(cuda.StreamFromPointer(d, st.Pointer()))
	need(d.Properties())
	need(d.Attribute(cuda.Attribute(38)))
	_, _, err := d.MemoryInfo()
	needs(err)
	need(d.CanAccessPeer(0))
	needs(d.EnablePeerAccess(0))
	needs(from.Record(nil))
	needs(cuda.Fill(x, uint8(1), nil))
	needs(cuda.Fill(x, uint64(1), nil))
	need(cuda.FromPointer(d, x.Pointer(), 64, nil))
	need(st.Priority())
	graph := need(same.Capture(func() error { return nil }))
	c.add(graph.Close)
	needs(cuda.Fill(z, uint16(1), nil))
	needs(d.Synchronize())
	needs(cuda.Copy(y, x, nil))
	needs(z.FreeAsync(nil))
	needs(to.Record(nil))
	needs(to.Synchronize())
	need(to.Done())
	need(cuda.Elapsed(from, to))
	need(m.Global("table"))
	need(k.MaxActiveBlocks(32, 0))
	_, _, err = k.SuggestBlock(0, 0)
	needs(err)
	need(wide.MaxActiveClusters(cuda.LaunchConfig{Grid: cuda.Dim(2), Block: cuda.Dim(32), Cluster: cuda.Dim(2)}))
	needs(d.Synchronize())
}

// TestEveryCallFails lets each call that a scenario makes of the driver fail once:
// the error is typed, nothing is left, and the device is the one of before.
func TestEveryCallFails(t *testing.T) {
	f := load(t)
	retain(t, f)
	pinThread(t, f)
	failed := 0
	for _, name := range slices.Sorted(maps.Keys(scenarios)) {
		run := closing(scenarios[name])
		ok(t, run()) // the limits of the device are read once
		release(t)
		f.reset()
		ok(t, run())
		calls, seen := f.calls(), map[string]int{}
		release(t)
		for _, c := range calls {
			skip := seen[c.name]
			seen[c.name]++
			if slices.Contains(destroying, c.name) {
				continue
			}
			f.failing(c.name, int(cuda.ErrUnknown), skip)
			err := run()
			f.reset()
			failed++
			what := fmt.Sprintf("%s, call %d of %s", name, skip, c.name)
			var e *cuda.Error
			switch {
			case optional(name, c.name):
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
			case !errors.As(err, &e) || !errors.Is(err, cuda.ErrUnknown) || !errors.Is(err, tvmffi.ErrRuntime):
				// WithDevice restores the device even if it cannot see what is current.
				if c.name != "cuCtxGetCurrent" || err != nil {
					t.Errorf("%s: the error is %v", what, err)
				}
			}
			f.clean(what)
		}
	}
	if failed < 100 {
		t.Errorf("only %d calls were made to fail", failed)
	}
}

// release ends what the package keeps for itself, so that the next call makes it again.
func release(t *testing.T) {
	t.Helper()
	for d := range cuda.Device(2) {
		ok(t, d.Release())
	}
}

// clean asserts that a scenario has left nothing, neither on the devices nor on the thread.
func (f *fake) clean(what string) {
	f.t.Helper()
	release(f.t)
	if left := f.left(); left != [7]int{} {
		f.t.Fatalf("%s: left are memory, bytes, streams, events, modules, graphs, pools = %v", what, left)
	}
	for d := range cuda.Device(2) {
		if l := d.Live(); l != (cuda.Live{}) {
			f.t.Fatalf("%s: live on %s are %+v", what, d, l)
		}
	}
	if d, set, err := cuda.CurrentDevice(); err != nil || set {
		f.t.Fatalf("%s: %s is left current (%v)", what, d, err)
	}
	if bad := f.violated(); bad != "" {
		f.t.Fatalf("%s: the work did what a device does not forgive:\n%s", what, bad)
	}
}

// TestEveryFunctionMissing takes each function away that the scenarios call, as a driver does that is too old for it:
// the error names the function and the version that brought it, nothing is left, and the device is the one of before.
func TestEveryFunctionMissing(t *testing.T) {
	f := load(t)
	retain(t, f)
	pinThread(t, f)
	called := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(scenarios)) {
		run := closing(scenarios[name])
		ok(t, run()) // the limits of the device are read once
		release(t)
		f.reset()
		ok(t, run())
		needed := map[string]bool{}
		for _, c := range f.calls() {
			needed[c.name] = true
		}
		release(t)
		for function := range driver.All() {
			symbol := function.Symbol()
			// Without cuCtxSynchronize, which all drivers have, nothing can be freed.
			if called[symbol] = called[symbol] || needed[symbol]; !needed[symbol] || slices.Contains(destroying, symbol) || symbol == "cuCtxSynchronize" {
				continue
			}
			back := driver.Remove(function)
			err := run()
			back()
			what := fmt.Sprintf("%s without %s", name, symbol)
			var e *cuda.Error
			switch {
			case optional(name, symbol) || slices.Contains(replaced, symbol):
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
			case !errors.As(err, &e) || e.Number != -1 || e.Call != function.String():
				t.Errorf("%s: the error is %v", what, err)
			default:
				wantError(t, err, tvmffi.ErrRuntime, "which came with CUDA "+function.Since()+": update the NVIDIA driver")
			}
			f.clean(what)
		}
	}
	for function := range driver.All() {
		if symbol := function.Symbol(); !called[symbol] && !slices.Contains(elsewhere, symbol) {
			t.Errorf("no scenario calls %s: add a call, or take it out of the table if nothing needs it", symbol)
		} else if called[symbol] && slices.Contains(elsewhere, symbol) {
			t.Errorf("a scenario calls %s: take it out of the list", symbol)
		}
	}
}
