package core

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// TensorSpec describes memory for NewTensor.
type TensorSpec struct {
	Data    unsafe.Pointer
	Shape   []int64
	Strides []int64 // in elements
	Type    abi.DLDataType
	Device  abi.DLDevice
	// Keep is kept alive until native code has released the tensor; it must hold
	// what Data points to, if that is Go memory.
	Keep any
}

// lent is what a tensor keeps alive: the memory and its description.
type lent struct {
	spec TensorSpec
	data unsafe.Pointer
}

// NewTensor makes a Tensor object over existing memory, without a copy, and
// returns its only reference. Go memory is safe there because the heap does not
// move and the slot of the node refers to it until the deleter has run.
func NewTensor(spec TensorSpec) (uintptr, error) {
	escape(spec.Data)
	n := newNode(&held{value: &lent{spec: spec, data: spec.Data}})
	At[ccall.Released](n).Managed = abi.DLManagedTensorVersioned{
		Version: abi.DLPackVersion{Major: abi.DLPackMajor, Minor: abi.DLPackMinor},
		Deleter: ccall.Release(),
		Tensor: abi.DLTensor{
			Data: uintptr(spec.Data), Device: spec.Device, NDim: int32(len(spec.Shape)), DType: spec.Type,
			Shape:   uintptr(unsafe.Pointer(unsafe.SliceData(spec.Shape))),
			Strides: uintptr(unsafe.Pointer(unsafe.SliceData(spec.Strides))),
		},
	}
	out, err := invoke(API.TensorFromDLPack, n, 0, 0)
	if err != nil {
		ccall.PutReleased(n)
		return 0, err
	}
	return uintptr(*(*uint64)(unsafe.Pointer(&out))), nil
}
