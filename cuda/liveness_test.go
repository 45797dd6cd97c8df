//go:build tvmffi_liveness

package cuda_test

import (
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func got[T any](v T, err error) T { return runtimetest.Got(v, err) }

//go:noinline
func numbers(n ...float32) []float32 { return append([]float32(nil), n...) }

//go:noinline
func memory(d cuda.Device, n ...float32) *cuda.Memory { return got(cuda.AllocOf(d, numbers(n...))) }

// owner frees its memory when it ends.
type owner struct{ memory *cuda.Memory }

// tensorOn is the tensor 0, 1, 2, ... of n numbers. Its memory ends with it.
//
//go:noinline
func tensorOn(d cuda.Device, n int) *tvmffi.Tensor {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(i)
	}
	o := &owner{memory(d, s...)}
	runtime.AddCleanup(o, func(m *cuda.Memory) { m.Free() }, o.memory)
	spec := objects.TensorSpec{Address: o.memory.Pointer().Address, Type: abi.DLDataType(tvmffi.Float32), Device: abi.DLDevice(tvmffi.CUDA(int(d))), Keep: o}
	// Every object type has the layout of objects.Object.
	return (*tvmffi.Tensor)(unsafe.Pointer(objects.Own(objects.NewTensor(spec, []int64{int64(n)}, nil))))
}

func out(m *cuda.Memory) any {
	s := make([]float32, m.Size()/4)
	got(0, cuda.CopyOut(s, m))
	return fmt.Sprint(s)
}

func TestLiveness(t *testing.T) {
	runtimetest.Load(t)
	load(t)
	m := module(t, 0)
	addOne, saxpy, many := kernel(t, m, "add_one"), kernel(t, m, "saxpy"), kernel(t, m, "many")
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32)}
	x := memory(0, 1, 2, 3)
	y := memory(0, 0, 0, 0)
	type pair struct {
		A uint8
		B float64
	}
	runtimetest.Alive(t, []runtimetest.Use{
		{"AllocOf and CopyOut", func() any { m := memory(0, 1, 2); defer m.Free(); return out(m) }, "[1 2]"},
		{"CopyIn", func() any { got(0, cuda.CopyIn(y, numbers(4, 5, 6))); return out(y) }, "[4 5 6]"},
		{"DeviceOf", func() any { return got(cuda.DeviceOf(tensorOn(1, 1))) }, cuda.Device(1)},
		{"TensorMemory", func() any { return out(got(cuda.TensorMemory(tensorOn(0, 2)))) }, "[0 1]"},
		{"CopyIn to a tensor", func() any { return cuda.CopyIn(got(cuda.TensorMemory(tensorOn(0, 2))), numbers(3, 4)) }, nil},
		{"Copy of tensors", func() any {
			return cuda.Copy(got(cuda.TensorMemory(tensorOn(0, 2))), got(cuda.TensorMemory(tensorOn(0, 2))), nil)
		}, nil},
		{"Copy between devices", func() any {
			source := got(cuda.TensorMemory(tensorOn(1, 2)))
			defer runtime.KeepAlive(source) // its device does not wait for the copy, which runs on the other one
			defer cuda.Device(0).Synchronize()
			return cuda.Copy(got(cuda.TensorMemory(tensorOn(0, 2))), source, nil)
		}, nil},
		{"Fill", func() any { return cuda.Fill(got(cuda.TensorMemory(tensorOn(0, 2))), float32(1), nil) }, nil},
		{"Part", func() any { return out(got(got(cuda.TensorMemory(tensorOn(0, 2))).Part(4, 4))) }, "[1]"},
		{"Memory.Tensor", func() any {
			tensor := got(x.Tensor(tvmffi.Float32, 3))
			return tensor.Shape()
		}, []int64{3}},
		{"Launch", func() any { got(0, addOne.Launch(c, x, y, 3)); return out(y) }, "[2 3 4]"},
		{"Launch with a tensor", func() any { got(0, addOne.Launch(c, tensorOn(0, 3), y, 3)); return out(y) }, "[1 2 3]"},
		{"Launch with a struct", func() any {
			return many.Launch(c, true, int16(-2), uint32(3), int64(-4), float32(1), 2.0, tensorOn(0, 1), pair{7, 1})
		}, nil},
		{"MaxActiveBlocks", func() any { return got(addOne.MaxActiveBlocks(32, 0)) > 0 }, true},
		{"MaxActiveClusters", func() any {
			clustered := c
			clustered.Grid, clustered.Cluster = cuda.Dim(2), cuda.Dim(2)
			_, err := addOne.MaxActiveClusters(clustered)
			return err
		}, nil},
		{"LoadModule", func() any {
			m := got(cuda.Device(0).LoadModule([]byte(ptx), cuda.LineInfo(), cuda.MaxRegisters(32)))
			defer m.Close()
			return got(m.Kernel("add_one")) != nil
		}, true},
		{"LoadModule of broken text", func() any { _, err := cuda.Device(0).LoadModule([]byte("broken text")); return err != nil }, true},
		{"Graph", func() any {
			st := got(cuda.Device(0).NewStream(cuda.Blocking()))
			defer st.Close()
			onStream := c
			onStream.Stream = st
			graph := got(st.Capture(func() error { return saxpy.Launch(onStream, 3, float32(2), x, y) }))
			defer graph.Close()
			got(0, cuda.CopyIn(y, numbers(0, 0, 0)))
			got(0, graph.Launch(st))
			got(0, graph.Launch(st))
			return out(y)
		}, "[4 8 12]"},
		{"Graph with a tensor", func() any {
			st := got(cuda.Device(0).NewStream(cuda.Blocking()))
			defer st.Close()
			onStream := c
			onStream.Stream = st
			source := tensorOn(0, 3)
			defer runtime.KeepAlive(source) // it must outlive the graph
			graph := got(st.Capture(func() error { return saxpy.Launch(onStream, 3, float32(10), source, y) }))
			defer graph.Close()
			got(0, cuda.CopyIn(y, numbers(0, 0, 0)))
			got(0, graph.Launch(st))
			return out(y)
		}, "[0 10 20]"},
		{"Host", func() any {
			h := got(cuda.AllocHost[float32](0, 3))
			defer h.Free()
			copy(h.Slice(), numbers(7, 8, 9))
			st := got(cuda.Device(0).NewStream(cuda.Blocking()))
			defer st.Close()
			got(0, cuda.CopyInAsync(y, h, st))
			got(0, st.Synchronize())
			return out(y)
		}, "[7 8 9]"},
		{"Stream.Keep", func() any {
			st := got(cuda.Device(0).NewStream(cuda.Blocking()))
			defer st.Close()
			onStream := c
			onStream.Stream = st
			tensor := tensorOn(0, 3)
			got(0, addOne.Launch(onStream, tensor, y, 3))
			got(0, st.Keep(tensor, got(cuda.TensorMemory(tensorOn(0, 2)))))
			tensor.Release()
			got(0, st.Synchronize())
			return out(y)
		}, "[1 2 3]"},
		{"Stream.Call", func() any {
			st := got(cuda.Device(0).NewStream(cuda.Blocking()))
			defer st.Close()
			text := ""
			got(st.Call(func() error { text = "called"; return nil }))
			got(0, st.Synchronize())
			return text
		}, "called"},
	})
	ok(t, x.Free())
	ok(t, y.Free())
	runtimetest.Collect(t, "the memory of the tensors", func() bool {
		return cuda.Device(0).Live() == cuda.Live{Modules: 1} && cuda.Device(1).Live() == cuda.Live{}
	})
}
