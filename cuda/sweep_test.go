package cuda_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
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

// scenario uses most of the package as a careful program would.
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
		st, err := d.NewStream()
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
			func() error {
				return graph.Update(st, func() error { return k.Launch(launch, int32(1), float32(3), x, y) })
			},
			func() error {
				nodes, err := graph.Kernels(k)
				if err != nil {
					return err
				}
				again := launch
				again.Stream = nil
				return nodes[0].Set(again, int32(1), float32(3), x, y)
			},
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

// TestEveryCallFails lets each call that a scenario makes of the driver fail once:
// the error is typed, nothing is left, and the device is the one of before.
func TestEveryCallFails(t *testing.T) {
	f := load(t)
	retain(t, f)
	pinThread(t, f)
	ok(t, scenario()) // the limits of the device are read once
	f.reset()
	ok(t, scenario())
	calls := f.calls()
	// What these leave behind is not for the caller to free any more; what happens
	// to the thread when the context cannot be restored has a test of its own.
	destroying := []string{"cuMemFree_v2", "cuMemFreeHost", "cuStreamDestroy_v2", "cuEventDestroy_v2", "cuModuleUnload", "cuGraphDestroy", "cuGraphExecDestroy", "cuMemPoolDestroy", "cuStreamEndCapture", "cuCtxSetCurrent"}
	// The end of the list of parameters is an error by itself.
	optional := []string{"cuFuncGetParamInfo"}
	seen, failed := map[string]int{}, 0
	for _, c := range calls {
		skip := seen[c.name]
		seen[c.name]++
		if slices.Contains(destroying, c.name) {
			continue
		}
		f.failing(c.name, int(cuda.ErrUnknown), skip)
		err := scenario()
		f.reset()
		failed++
		var e *cuda.Error
		switch {
		case slices.Contains(optional, c.name):
			if err != nil {
				t.Errorf("call %d of %s: %v", skip, c.name, err)
			}
		case !errors.As(err, &e) || !errors.Is(err, cuda.ErrUnknown) || !errors.Is(err, tvmffi.ErrRuntime):
			// WithDevice restores the device even if it cannot see what is current.
			if c.name != "cuCtxGetCurrent" || err != nil {
				t.Errorf("call %d of %s: the error is %v", skip, c.name, err)
			}
		}
		if left := f.left(); left != [7]int{} {
			t.Fatalf("call %d of %s: left are memory, bytes, streams, events, modules, graphs, pools = %v", skip, c.name, left)
		}
		if l := cuda.Device(1).Live(); l != (cuda.Live{}) {
			t.Fatalf("call %d of %s: live are %+v", skip, c.name, l)
		}
		if d, set, err := cuda.CurrentDevice(); err != nil || set {
			t.Fatalf("call %d of %s: %s is left current (%v)", skip, c.name, d, err)
		}
	}
	for _, name := range []string{"cuMemPoolCreate", "cuMemPoolSetAttribute", "cuMemPoolGetAttribute", "cuMemPoolSetAccess", "cuMemPoolTrimTo", "cuMemAllocFromPoolAsync", "cuDeviceGetDefaultMemPool",
		"cuStreamIsCapturing", "cuLaunchHostFunc", "cuGraphExecUpdate", "cuGraphGetNodes", "cuGraphNodeGetType", "cuGraphKernelNodeGetParams", "cuGraphExecKernelNodeSetParams"} {
		if seen[name] == 0 {
			t.Errorf("%s was not made to fail", name)
		}
	}
	if failed < 100 {
		t.Errorf("only %d calls were made to fail", failed)
	}
}
