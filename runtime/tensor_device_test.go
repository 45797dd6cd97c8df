package tvmffi_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestDeviceWithoutLibrary copies to and from devices that no loaded library knows.
// TestTVMDevice has the library.
func TestDeviceWithoutLibrary(t *testing.T) {
	runtimetest.Load(t)
	must := runtimetest.Must[*tvmffi.Tensor](t)
	at := func(device tvmffi.Device, shape ...int64) *tvmffi.Tensor {
		x := must(tvmffi.FromPointer(tvmffi.Pointer{Address: 4096}, tvmffi.Float32, device, nil, shape...))
		t.Cleanup(x.Release)
		return x
	}
	for device, want := range map[tvmffi.Device]string{{Type: 129}: "remote[0]-cpu:0", {Type: 258, ID: 3}: "remote[1]-cuda:3", {Type: 127}: "device127:0"} {
		if got := device.String(); got != want {
			t.Errorf("device type %d is %q, want %q", device.Type, got, want)
		}
	}
	remote, vulkan := at(tvmffi.Device{Type: 129}, 3), at(tvmffi.Device{Type: tvmffi.DeviceVulkan, ID: 2}, 3)
	local := must(tvmffi.FromSlice([]float32{1, 2, 3}))
	defer local.Release()
	const to, from, between = "runtime.TVMTensorCopyToBytes", "runtime.TVMTensorCopyFromBytes", "runtime.TVMTensorCopyFromTo"
	for i, test := range []struct {
		err  error
		name string
	}{
		{tvmffi.CopyTo(remote, make([]float32, 3)), to},
		{runtimetest.ErrorOf(tvmffi.ReadSlice[float32](vulkan)), to},
		{runtimetest.ErrorOf(tvmffi.ToFloat32(vulkan)), to},
		{runtimetest.ErrorOf(remote.Clone()), to},
		{tvmffi.Copy(local, remote), to},
		{tvmffi.Copy(vulkan, remote), to},
		{tvmffi.CopyFrom(remote, make([]float32, 3)), from},
		{tvmffi.Copy(remote, local), from},
		{tvmffi.Copy(remote, at(tvmffi.Device{Type: 129}, 3)), between},
	} {
		if test.err == nil {
			t.Errorf("copy %d: there is no error", i)
			continue
		}
		runtimetest.WantError(t, test.err, tvmffi.ErrValue, "no loaded library has the function "+test.name+" that copies it: load the runtime of TVM")
	}
	small := make([]byte, 1)
	for _, err := range []error{
		runtimetest.ErrorOf(remote.Bytes()), runtimetest.ErrorOf(tvmffi.Slice[float32](vulkan)), runtimetest.ErrorOf(tvmffi.ElementsOf[float32](remote)),
		runtimetest.ErrorOf(remote.ReadAt(small, 0)), runtimetest.ErrorOf(remote.WriteAt(small, 0)),
	} {
		runtimetest.WantError(t, err, tvmffi.ErrValue, "its memory is not on the host: Clone or ReadSlice copies it there")
	}
	cuda := at(tvmffi.CUDA(0), 3)
	for _, err := range []error{tvmffi.Copy(cuda, local), tvmffi.Copy(remote, cuda), tvmffi.CopyFrom(cuda, make([]float32, 3))} {
		runtimetest.WantError(t, err, tvmffi.ErrValue, "tensor on cuda:0: its memory is not on the host")
	}
}

// TestCopyAllocations pins that a slice for a tensor on the host may stay on the stack: only
// copies with devices need it on the heap.
func TestCopyAllocations(t *testing.T) {
	runtimetest.Load(t)
	x := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.Float32, 4))
	defer x.Release()
	if n := testing.AllocsPerRun(100, func() { // 14 with checkptr, else none
		in := [4]float32{1, 2, 3, 4}
		var out [4]float32
		if tvmffi.CopyFrom(x, in[:]) != nil || tvmffi.CopyTo(x, out[:]) != nil || out != in {
			t.Fatal(out)
		}
	}); n != 0 && n != 14 {
		t.Errorf("CopyFrom and CopyTo allocate %v times", n)
	}
}

func BenchmarkCopyFrom(b *testing.B) {
	runtimetest.Load(b)
	x := runtimetest.Must[*tvmffi.Tensor](b)(tvmffi.NewTensor(tvmffi.Float32, 4))
	defer x.Release()
	b.ReportAllocs()
	for b.Loop() {
		in := [4]float32{1, 2, 3, 4}
		if err := tvmffi.CopyFrom(x, in[:]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSlice(b *testing.B) {
	runtimetest.Load(b)
	x := runtimetest.Must[*tvmffi.Tensor](b)(tvmffi.NewTensor(tvmffi.Float32, 4))
	defer x.Release()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tvmffi.Slice[float32](x); err != nil {
			b.Fatal(err)
		}
	}
}
