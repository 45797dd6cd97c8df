package cuda_test

import (
	"testing"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// markedPTX has kernels whose parameters say what they are, in the form of LLVM, and some traps for a reader.
const markedPTX = `
.version 8.0
.target sm_70
.address_size 64
// .entry mixed(.param .u64 p, .param .u64 .ptr n)
.visible .entry mixed(
	.param .u64 .ptr .global .align 16 mixed_param_0,
	.param .u64 mixed_param_1,
	.param .align 8 .b8 mixed_param_2[16],
	.param .u64 .ptr .align 1 mixed_param_3
)
.maxntid 64
{ ret; }
.visible .entry nothing { ret; }
.visible .entry remark(.param .u64 .ptr a /* ), .param .u64 b */) { ret; }
.visible .entry plain(.param .u64 a, .param .u64 b) { ret; }
`

// TestPointerParameters passes numbers where PTX says that the kernel has a pointer: each is refused before the driver sees it.
func TestPointerParameters(t *testing.T) {
	f := load(t)
	m := closes[*cuda.Module](t)(cuda.Device(0).LoadModule([]byte(markedPTX)))
	x := frees[*cuda.Memory](t)(cuda.AllocOf(0, make([]float32, 4)))
	mapped := frees[*cuda.Host[float32]](t)(cuda.AllocHost[float32](0, 4, cuda.HostMapped()))
	address := x.Pointer().Address
	k, remark, plain := kernel(t, m, "mixed"), kernel(t, m, "remark"), kernel(t, m, "plain")
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1)}
	two := [2]int64{1, 2}
	for _, arg := range []any{x, x.Pointer(), mapped, tvmffi.Pointer{}} {
		ok(t, k.Launch(c, arg, int64(7), two, arg))
		ok(t, plain.Launch(c, arg, arg))
	}
	f.calls()
	wrong := map[string]any{"int64": int64(address), "uint64": uint64(address), "int": int(address), "uint": uint(address), "uintptr": address, "float64": float64(1),
		"[8]uint8": [8]byte{}, "complex64": complex64(1), "unsafe.Pointer": unsafe.Pointer(nil)}
	for name, arg := range wrong {
		says := "the parameter is a pointer and " + name + " is not: pass device memory, or the address as a tvmffi.Pointer"
		if name == "unsafe.Pointer" {
			says = "a unsafe.Pointer cannot be the parameter of a kernel"
		}
		wantError(t, k.Launch(c, arg, int64(7), two, x), tvmffi.ErrType, `launch of "mixed": argument 0: `+says)
		wantError(t, k.Launch(c, x, int64(7), two, arg), tvmffi.ErrType, `launch of "mixed": argument 3: `+says)
	}
	wantError(t, k.Launch(c, uint(1<<63), 7, two, x), tvmffi.ErrType, "the parameter is a pointer and uint is not")
	wantError(t, k.Launch(c, x, 7, x, x), tvmffi.ErrType, "argument 2: the parameter has 16 bytes and *cuda.Memory has 8")
	wantError(t, k.Launch(c, x, int32(7), two, x), tvmffi.ErrType, "argument 1: the parameter has 8 bytes and int32 has 4")
	if calls := only(f.calls(), "cuLaunchKernel"); len(calls) != 0 {
		t.Errorf("the driver has launched: %q", calls)
	}
	// What the text does not tell is taken as it is.
	ok(t, remark.Launch(c, uint64(address)))
	ok(t, plain.Launch(c, int64(1), 2))
	if n := testing.AllocsPerRun(100, func() { ok(t, k.Launch(c, x, int64(7), two, x)) }); n > 3 && !raceEnabled { // of the array
		t.Errorf("%v allocations", n)
	}
	ok(t, cuda.Device(0).Synchronize())
}
