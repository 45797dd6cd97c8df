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

// scenarios use the package as careful programs do: they free what they made, in whatever order their calls fail. A file
// of tests adds its own. Together they call every function of the driver.
var scenarios = map[string]func() error{"most": scenario, "questions": questions}

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

func scenario() (err error) {
	const d = cuda.Device(1)
	var c closers
	defer c.close(&err)
	return cuda.WithDevice(0, func() error {
		m, err := d.LoadModule([]byte(ptx))
		if err != nil {
			return err
		}
		c.add(m.Close)
		k, err := m.Kernel("saxpy")
		if err != nil {
			return err
		}
		st, err := d.NewStream(cuda.Blocking())
		if err != nil {
			return err
		}
		c.add(st.Close)
		from, err := d.NewEvent(cuda.Timing())
		if err != nil {
			return err
		}
		c.add(from.Close)
		x, err := cuda.AllocOf(d, []float32{1, 2})
		if err != nil {
			return err
		}
		c.add(x.Free)
		y, err := d.AllocAsync(8, st)
		if err != nil {
			return err
		}
		c.add(y.Free)
		h, err := cuda.AllocHost[float32](d, 2)
		if err != nil {
			return err
		}
		c.add(h.Free)
		launch := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32), Stream: st, Shared: 50000}
		for _, f := range []func() error{
			func() error { return from.Record(st) },
			func() error { return cuda.Fill(y, uint32(0), st) },
			func() error { return k.Launch(launch, int32(2), float32(3), x, y) },
			func() error { launch.Programmatic = true; return k.Launch(launch, int32(2), float32(3), x, y) },
			func() error { return cuda.CopyOutAsync(h, y, st) },
			func() error { return cuda.CopyInAsync(y, h, st) },
			func() error { return cuda.Copy(x, y, st) },
			func() error { return st.Wait(from) },
			func() error { _, err := st.Done(); return err },
			st.Synchronize,
			from.Synchronize,
			func() error { return k.Launch(launch, int32(2), float32(3), x, y) },
			func() error { return st.Keep(x) },
			func() error { return cuda.CopyOut(make([]float32, 2), x) },
			d.Synchronize,
		} {
			if err := f(); err != nil {
				return err
			}
		}
		graph, err := st.Capture(func() error { return k.Launch(launch, int32(2), float32(3), x, y) })
		if err != nil {
			return err
		}
		c.add(graph.Close)
		pool, err := d.NewPool()
		if err != nil {
			return err
		}
		c.add(pool.Close)
		z, err := pool.Alloc(8, st)
		if err != nil {
			return err
		}
		c.add(z.Free)
		shared, err := d.DefaultPool()
		if err != nil {
			return err
		}
		launch.Programmatic = false
		for _, f := range []func() error{
			func() error { return graph.Launch(st) },
			func() error { return pool.SetAttribute(cuda.PoolReleaseThreshold, 1<<20) },
			func() error { _, err := pool.Attribute(cuda.PoolUsed); return err },
			func() error { return pool.AllowAccess(0) },
			func() error { return pool.Trim(0) },
			func() error { return shared.Trim(0) },
			func() error {
				call, err := st.Call(func() error { return nil })
				if err != nil {
					return err
				}
				<-call.Done()
				return call.Err()
			},
		} {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	})
}

// questions asks about devices, memory, events and kernels, and uses both devices.
func questions() (err error) {
	const d = cuda.Device(1)
	var c closers
	defer c.close(&err)
	c.add(cuda.Device(0).Release) // so that the context is retained again
	m, err := d.LoadModule([]byte(ptx))
	if err != nil {
		return err
	}
	c.add(m.Close)
	k, err := m.Kernel("nothing")
	if err != nil {
		return err
	}
	clustered, err := cuda.Device(0).LoadModule([]byte(ptx))
	if err != nil {
		return err
	}
	c.add(clustered.Close)
	wide, err := clustered.Kernel("nothing")
	if err != nil {
		return err
	}
	from, err := d.NewEvent(cuda.Timing())
	if err != nil {
		return err
	}
	c.add(from.Close)
	to, err := d.NewEvent(cuda.Timing())
	if err != nil {
		return err
	}
	c.add(to.Close)
	x, err := d.AllocManaged(64)
	if err != nil {
		return err
	}
	c.add(x.Free)
	y, err := cuda.Device(0).Alloc(64)
	if err != nil {
		return err
	}
	c.add(y.Free)
	z, err := d.AllocAsync(64, nil)
	if err != nil {
		return err
	}
	c.add(z.Free) // if FreeAsync fails
	h, err := cuda.PinHost(d, make([]float32, 8), cuda.HostMapped())
	if err != nil {
		return err
	}
	c.add(h.Free)
	st, err := d.NewStream(cuda.Blocking())
	if err != nil {
		return err
	}
	c.add(st.Close)
	same, err := cuda.StreamFromPointer(d, st.Pointer())
	if err != nil {
		return err
	}
	for _, f := range []func() error{
		func() error { _, err := d.Properties(); return err },
		func() error { _, err := d.Attribute(cuda.Attribute(38)); return err },
		func() error { _, _, err := d.MemoryInfo(); return err },
		func() error { _, err := d.CanAccessPeer(0); return err },
		func() error { return d.EnablePeerAccess(0) },
		func() error { return from.Record(nil) },
		func() error { return cuda.Fill(x, uint8(1), nil) },
		func() error { return cuda.Fill(x, uint64(1), nil) },
		func() error { _, err := cuda.FromPointer(d, x.Pointer(), 64, nil); return err },
		func() error { _, err := st.Priority(); return err },
		func() error {
			graph, err := same.Capture(func() error { return nil })
			if err == nil {
				c.add(graph.Close)
			}
			return err
		},
		func() error { return cuda.Fill(z, uint16(1), nil) },
		d.Synchronize,
		func() error { return cuda.Copy(y, x, nil) },
		func() error { return z.FreeAsync(nil) },
		func() error { return to.Record(nil) },
		to.Synchronize,
		func() error { _, err := to.Done(); return err },
		func() error { _, err := cuda.Elapsed(from, to); return err },
		func() error { _, err := m.Global("table"); return err },
		func() error { _, err := k.MaxActiveBlocks(32, 0); return err },
		func() error { _, _, err := k.SuggestBlock(0, 0); return err },
		func() error {
			_, err := wide.MaxActiveClusters(cuda.LaunchConfig{Grid: cuda.Dim(2), Block: cuda.Dim(32), Cluster: cuda.Dim(2)})
			return err
		},
		d.Synchronize,
	} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// TestEveryCallFails lets each call that a scenario makes of the driver fail once:
// the error is typed, nothing is left, and the device is the one of before.
func TestEveryCallFails(t *testing.T) {
	f := load(t)
	retain(t, f)
	pinThread(t, f)
	failed := 0
	for _, name := range slices.Sorted(maps.Keys(scenarios)) {
		run := scenarios[name]
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
		run := scenarios[name]
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
