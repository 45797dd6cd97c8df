package cuda_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestForeignPlaces gives FromPointer and TensorMemory memory that is not what they say.
func TestForeignPlaces(t *testing.T) {
	f := load(t)
	loadTVMFFI(t)
	m := onDevice(t, 1, numbered(64, 0))
	address := m.Pointer().Address
	called := 0
	free := func() error { called++; return nil }
	_, err := cuda.FromPointer(0, m.Pointer(), 8, free)
	wantError(t, err, tvmffi.ErrValue, "is on cuda:1, not on cuda:0")
	_, err = cuda.FromPointer(1, tvmffi.Pointer{Address: address + 60}, 8, free)
	wantError(t, err, tvmffi.ErrValue, "of 8 bytes on cuda:1: its allocation ends after 4 bytes")
	part := must[*cuda.Memory](t)(cuda.FromPointer(1, tvmffi.Pointer{Address: address + 60}, 4, free))
	wantBytes(t, part, nil, []byte{60, 61, 62, 63})
	ok(t, part.Free())
	empty := must[*cuda.Memory](t)(cuda.FromPointer(0, m.Pointer(), 0, nil))
	ok(t, empty.Free())
	unknown := must[*cuda.Memory](t)(cuda.FromPointer(0, tvmffi.Pointer{Address: 1 << 44}, 8, nil)) // of another driver
	ok(t, unknown.Free())
	if called != 1 {
		t.Errorf("the owner was called %d times, want once", called)
	}
	managed := must[*cuda.Memory](t)(cuda.Device(0).AllocManaged(16))
	there := must[*cuda.Memory](t)(cuda.FromPointer(1, managed.Pointer(), 16, nil))
	if s := must[[]byte](t)(cuda.ManagedSlice[byte](there)); len(s) != 16 {
		t.Errorf("the slice has %d bytes, want 16", len(s))
	}
	lie := must[*tvmffi.Tensor](t)(tvmffi.FromPointer(m.Pointer(), tvmffi.Uint8, tvmffi.CUDA(0), nil, 8))
	defer lie.Release()
	_, err = cuda.TensorMemory(lie)
	wantError(t, err, tvmffi.ErrValue, "the tensor: the memory", "is on cuda:1, not on cuda:0")
	x := must[*tvmffi.Tensor](t)(managed.Tensor(tvmffi.Uint8, 16))
	v := must[*cuda.Memory](t)(cuda.TensorMemory(x))
	must[[]byte](t)(cuda.ManagedSlice[byte](v)) // it is known to be managed
	x.Release()
	ok(t, managed.Free())
	f.failing("cuPointerGetAttributes", 999, 0)
	_, err = cuda.FromPointer(1, m.Pointer(), 8, free)
	wantDriverError(t, err, cuda.ErrUnknown, "cuPointerGetAttributes")
}
