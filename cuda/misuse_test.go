package cuda_test

import (
	"errors"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestZeroGraphNodes uses nodes that no graph has.
func TestZeroGraphNodes(t *testing.T) {
	load(t)
	const d = cuda.Device(0)
	k := kernel(t, module(t, d), "nothing")
	b := must[*cuda.GraphBuilder](t)(d.NewGraph())
	defer b.Close()
	n := must[*cuda.GraphNode](t)(b.After().Empty())
	gr := must[*cuda.Graph](t)(b.Instantiate())
	defer gr.Close()
	e := must[*cuda.Event](t)(d.NewEvent())
	defer e.Close()
	m := must[*cuda.Memory](t)(d.Alloc(8))
	defer m.Free()
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1)}
	zero := &cuda.GraphNode{}
	for _, f := range []func() error{
		func() error { _, err := b.After(zero).Empty(); return err },
		func() error { _, err := b.After(zero).Kernel(k, c); return err },
		func() error { return n.DependOn(zero) },
		func() error { return zero.DependOn(n) },
		func() error { return gr.SetKernel(zero, k, c) },
		func() error { return gr.SetEvent(zero, e) },
		func() error { return gr.SetChild(zero, b) },
		func() error { return gr.Enable(zero, true) },
		func() error { return cuda.SetFill(gr, zero, m, uint8(0)) },
	} {
		wantError(t, f(), tvmffi.ErrValue)
	}
}

// TestHugeElements asks for a tensor whose size no number of 63 bits holds.
func TestHugeElements(t *testing.T) {
	load(t)
	loadTVMFFI(t)
	m := must[*cuda.Memory](t)(cuda.Device(0).Alloc(64))
	defer m.Free()
	wide := tvmffi.Float64
	wide.Lanes = 1024
	for _, shape := range [][]int64{{1 << 56}, {1 << 28, 1 << 28}, {1 << 50}} {
		_, err := m.Tensor(wide, shape...)
		wantError(t, err, tvmffi.ErrValue, "tensor")
	}
	wide.Lanes = 0xfffc // a vector whose length only the hardware knows
	_, err := m.Tensor(wide, 1)
	wantError(t, err, tvmffi.ErrValue)
}

// TestEmptyArguments passes arguments without bytes to a kernel of which an old driver does not report the parameters. In C
// no parameter is that small: the driver would read behind the arguments.
func TestEmptyArguments(t *testing.T) {
	f := load(t)
	m := module(t, 0)
	defer driver.Remove(driver.FuncGetParamInfo)()
	k := kernel(t, m, "small")
	f.calls()
	for _, arg := range []any{struct{}{}, [0]int32{}, struct{ _ [0]uint8 }{}} {
		err := k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1)}, arg)
		wantError(t, err, tvmffi.ErrType, `launch of "small": argument 0`, "has no bytes")
	}
	if calls := only(f.calls(), "cuLaunchKernel"); len(calls) > 0 {
		t.Errorf("the driver got %q", calls)
	}
}

// TestCopiesOverlap copies parts of memory onto themselves. The driver copies in no certain order, so CopyRange and
// CopyBox refuse it; so do their siblings.
func TestCopiesOverlap(t *testing.T) {
	f := load(t)
	const d = cuda.Device(0)
	m := must[*cuda.Memory](t)(cuda.AllocOf(d, make([]byte, 64)))
	defer m.Free()
	part := func(from, n int64) *cuda.Memory { return must[*cuda.Memory](t)(m.Part(from, n)) }
	b := must[*cuda.GraphBuilder](t)(d.NewGraph())
	defer b.Close()
	n := must[*cuda.GraphNode](t)(b.After().Copy(part(32, 32), part(0, 32)))
	gr := must[*cuda.Graph](t)(b.Instantiate())
	defer gr.Close()
	f.calls()
	for _, c := range []struct{ to, from *cuda.Memory }{{part(0, 32), part(16, 32)}, {part(16, 32), part(0, 32)}, {m, m}, {m, part(63, 1)}, {part(0, 64), part(0, 1)}} {
		bad := c.to.Pointer() == c.from.Pointer() || c.from.Size() > 1
		_, err := b.After().Copy(c.to, c.from)
		for _, err := range []error{cuda.Copy(c.to, c.from, nil), err, gr.SetCopy(n, c.to, c.from)} {
			if bad {
				wantError(t, err, tvmffi.ErrValue, "overlap: copy through other memory")
			} else {
				ok(t, err)
			}
		}
	}
	ok(t, cuda.Copy(part(0, 16), part(16, 16), nil))
	ok(t, cuda.Copy(part(16, 16), part(0, 16), nil))
}

// TestRowsOfOnePlane copies one plane with a number of rows from one plane to the next, which then has no meaning: NVIDIA's
// function for peers refuses a number below the height, and a pitch that is too large for one row.
func TestRowsOfOnePlane(t *testing.T) {
	load(t)
	var m [2]*cuda.Memory
	for d := range cuda.Device(2) {
		m[d] = must[*cuda.Memory](t)(cuda.AllocOf(d, make([]byte, 64)))
		defer m[d].Free()
	}
	for _, from := range []int{0, 1} {
		ok(t, cuda.CopyBox(cuda.Region{Memory: m[0], Offset: 32, Rows: 1}, cuda.Region{Memory: m[from], Rows: 2}, cuda.Extent{Width: 4, Height: 4}, nil))
		ok(t, cuda.CopyBox(cuda.Region{Memory: m[0], Offset: 32, Pitch: 1 << 40}, cuda.Region{Memory: m[from]}, cuda.Extent{Width: 4}, nil))
	}
	b := must[*cuda.GraphBuilder](t)(cuda.Device(0).NewGraph())
	_, err := b.After().CopyBox(cuda.Region{Memory: m[0], Offset: 32, Rows: 1}, cuda.Region{Memory: m[1], Rows: 2}, cuda.Extent{Width: 4, Height: 4})
	ok(t, errors.Join(err, b.Close()))
}

// TestGraphClosedInUpdate closes a graph inside Update: the driver must not see a graph that it has destroyed.
func TestGraphClosedInUpdate(t *testing.T) {
	f := load(t)
	st := newStream(t, 0)
	gr := must[*cuda.Graph](t)(st.Capture(func() error { return nil }))
	f.calls()
	wantError(t, gr.Update(st, gr.Close), tvmffi.ErrValue, "the graph on cuda:0 is closed")
	if calls := only(f.calls(), "cuGraphExecUpdate"); len(calls) != 0 {
		t.Errorf("%v of a graph that is destroyed", calls)
	}
}
