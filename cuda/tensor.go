package cuda

import (
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// DeviceOf returns the device that holds the memory of a tensor.
func DeviceOf(t *tvmffi.Tensor) (Device, error) {
	c, err := cell(t)
	if err != nil {
		return 0, err
	}
	d := c.Device
	runtime.KeepAlive(t)
	if d.Type == abi.DLCUDA || d.Type == abi.DLCUDAManaged {
		return Device(d.ID), nil
	}
	return 0, valueError("the tensor is on %s, not on a CUDA device: copy it there first", tvmffi.Device(d))
}

// cell returns the DLTensor of a tensor that is neither nil nor released.
func cell(t *tvmffi.Tensor) (*abi.DLTensor, error) {
	if t == nil {
		return nil, valueError("the tensor is nil: pass a tensor, to a kernel tvmffi.Pointer{} for a null pointer")
	}
	// Every object type has the layout of objects.Object.
	h := (*objects.Object)(unsafe.Pointer(t)).Handle()
	if h == 0 {
		return nil, valueError("the tensor was released: release it after its last use")
	}
	return capi.PointerTo[abi.DLTensor](h + abi.ObjectSize), nil
}

// reference makes another reference to a tensor that was not released.
func reference(t *tvmffi.Tensor) *objects.Object {
	// Every object type has the layout of objects.Object.
	return (*objects.Object)(unsafe.Pointer(t)).Retain()
}
