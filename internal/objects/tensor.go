package objects

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// TensorSpec describes memory for NewTensor.
type TensorSpec struct {
	// Data is Go memory on the heap, which the tensor keeps alive. Without it,
	// Address is memory that Keep keeps alive.
	Data    unsafe.Pointer
	Address uintptr
	Type    abi.DLDataType
	Device  abi.DLDevice
	Keep    any
}

// FewDims is the number of dimensions that have room in a node.
const FewDims = 4

// NewTensor makes a Tensor object over existing memory, without a copy, and
// returns its only reference. It copies the shape, and the strides, which are in
// elements and may be nil for row-major order. The object is built in place, in a
// node in C memory that is used again, and the shape lies behind it: the library is
// not called. Go memory is safe because the heap does not move and the slot of the
// node refers to it until the deleter has run.
func NewTensor(spec TensorSpec, shape, strides []int64) uintptr {
	n := len(shape)
	var more *held
	if spec.Keep != nil {
		more = &held{value: spec.Keep}
	}
	data := spec.Address
	if spec.Data != nil {
		data = uintptr(spec.Data)
		if bytesOf(spec.Type, shape) >= smallest {
			if more == nil {
				more = new(held)
			}
			more.region = localRegion(data)
		}
	}
	var dims []int64
	if n > FewDims {
		dims = make([]int64, 2*n)
		if more == nil {
			more = new(held)
		}
		more.value = [2]any{dims, more.value}
	}
	at := newNode(more, words{data: spec.Data})
	node := capi.PointerTo[node](at)
	if n <= FewDims {
		dims = node.dims[:]
	}
	copy(dims, shape)
	if strides != nil {
		copy(dims[n:], strides)
	} else {
		RowMajor(shape, dims[n:2*n])
	}
	*capi.PointerTo[tensorObject](at) = tensorObject{
		abi.Object{RefCounts: oneReference, TypeIndex: abi.TypeTensor, Deleter: ccall.ReleaseObject()},
		abi.DLTensor{
			Data: data, Device: spec.Device, NDim: int32(n), DType: spec.Type,
			Shape: uintptr(unsafe.Pointer(unsafe.SliceData(dims))), Strides: uintptr(unsafe.Pointer(unsafe.SliceData(dims[n:]))),
		},
	}
	return at
}

// tensorObject is a Tensor object: what the library reads of any, and no more.
type tensorObject struct {
	abi.Object
	abi.DLTensor
}

// It lies in a node before what is the node's own.
const _ = unsafe.Offsetof(node{}.Next) - unsafe.Sizeof(tensorObject{})

// RowMajor fills in the strides, in elements, of a dense tensor.
func RowMajor(shape, strides []int64) {
	step := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = step
		step *= max(shape[i], 1)
	}
}
