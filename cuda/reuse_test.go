package cuda_test

import (
	"sync"
	"testing"
	"testing/fstest"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestRefusedRelease asks for the release of a device again and again while others use it. It is refused, and they see nothing
// of it.
func TestRefusedRelease(t *testing.T) {
	load(t)
	x, y := must[*cuda.Memory](t)(cuda.AllocOf(0, []float32{1, 2})), must[*cuda.Memory](t)(cuda.AllocOf(1, []float32{3, 4}))
	defer x.Free()
	defer y.Free()
	ok(t, cuda.WithDevice(0, func() error {
		stop := make(chan struct{})
		var g sync.WaitGroup
		for d := range cuda.Device(2) {
			g.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						wantError(t, d.Release(), tvmffi.ErrValue, "is in use")
					}
				}
			})
		}
		defer g.Wait()
		defer close(stop)
		for range 300 {
			if d, found, err := cuda.CurrentDevice(); d != 0 || !found || err != nil {
				t.Errorf("the current device is %s, %t, %v", d, found, err)
			}
			if err := cuda.Copy(y, x, nil); err != nil {
				return err
			}
		}
		return cuda.Device(1).Synchronize()
	}))
	ok(t, cuda.Device(0).Synchronize())
}

// TestReleasedTensor uses memory of a tensor after the release of the tensor.
func TestReleasedTensor(t *testing.T) {
	loadTVMFFI(t)
	const d = cuda.Device(0)
	st := newStream(t, d, cuda.Blocking())
	m := frees[*cuda.Memory](t)(cuda.AllocOf(d, []float32{1, 2}))
	x := must[*tvmffi.Tensor](t)(m.Tensor(tvmffi.Float32, 2))
	v := must[*cuda.Memory](t)(cuda.TensorMemory(x))
	ok(t, cuda.Fill(v, float32(3), st))
	ok(t, st.Synchronize())
	x.Release()
	for name, err := range map[string]error{
		"Keep": st.Keep(v), "Fill": cuda.Fill(v, float32(4), st), "CopyIn": cuda.CopyIn(v, []float32{5, 6}), "CopyOut": cuda.CopyOut(make([]float32, 2), v),
	} {
		if err == nil {
			t.Errorf("%s takes memory of a tensor that was released", name)
			continue
		}
		wantError(t, err, nil, "released")
	}
}

// TestPartOfTensor launches on another device with a part of the memory of a tensor.
func TestPartOfTensor(t *testing.T) {
	loadTVMFFI(t)
	m0 := module(t, 0)
	k := kernel(t, m0, "add_one")
	pool := closes[*cuda.Pool](t)(cuda.Device(1).NewPool())
	ok(t, pool.AllowAccess(0))
	far := newStream(t, 1, cuda.Blocking())
	m := must[*cuda.Memory](t)(pool.Alloc(32, far))
	ok(t, cuda.Fill(m, float32(1), far))
	ok(t, far.Synchronize())
	x := must[*tvmffi.Tensor](t)(m.Tensor(tvmffi.Float32, 8))
	defer x.Release()
	v := must[*cuda.Memory](t)(cuda.TensorMemory(x))
	part := must[*cuda.Memory](t)(v.Part(8, 16))
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32)}
	ok(t, k.Launch(c, v, v, 4))
	ok(t, k.Launch(c, part, part, 4))
	ok(t, cuda.Device(0).Synchronize())
	ok(t, m.Free())
}

// TestReusedOptions changes a slice that the program has given to an image.
func TestReusedOptions(t *testing.T) {
	load(t)
	options := []cuda.ModuleOption{cuda.MaxRegisters(32)}
	images := []*cuda.Image{
		cuda.NewImage([]byte(ptx), options...),
		must[*cuda.Image](t)(cuda.ImageFS(fstest.MapFS{"a.ptx": {Data: []byte(ptx)}}, "*.ptx", options...)),
	}
	options[0] = nil
	for _, im := range images {
		must[*cuda.Module](t)(im.Module(0))
		ok(t, im.Close())
	}
}
