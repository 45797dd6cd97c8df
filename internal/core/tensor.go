package core

import (
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
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

// fewDims is the number of dimensions that have room in a node.
const fewDims = 4

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
	if n > fewDims {
		dims = make([]int64, 2*n)
		if more == nil {
			more = new(held)
		}
		more.value = [2]any{dims, more.value}
	}
	at := newNode(more, spec.Data)
	node := At[node](at)
	if n <= fewDims {
		dims = node.dims[:]
	}
	copy(dims, shape)
	if strides != nil {
		copy(dims[n:], strides)
	} else {
		RowMajor(shape, dims[n:2*n])
	}
	*At[tensorObject](at) = tensorObject{
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

// first is the handle or pointer that a C function wrote where the tag of a value
// would be.
func first(out abi.Any) uintptr { return uintptr(*(*uint64)(unsafe.Pointer(&out))) }

// RowMajor fills in the strides, in elements, of a dense tensor.
func RowMajor(shape, strides []int64) {
	step := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = step
		step *= max(shape[i], 1)
	}
}

// prototype is pooled memory for the description of a tensor that C copies.
type prototype struct {
	tensor abi.DLTensor
	dims   [2 * fewDims]int64
	more   []int64
	out    uintptr
}

var prototypes = sync.Pool{New: func() any { return new(prototype) }}

// set describes a tensor; strides may be nil.
func (p *prototype) set(t abi.DLTensor, shape, strides []int64) {
	n := len(shape)
	dims := p.dims[:]
	if n > fewDims {
		p.more = make([]int64, 2*n)
		dims = p.more
	}
	p.tensor = t
	p.tensor.NDim = int32(n)
	copy(dims, shape)
	p.tensor.Shape = uintptr(unsafe.Pointer(unsafe.SliceData(dims)))
	p.tensor.Strides = 0
	if strides != nil {
		copy(dims[n:], strides)
		p.tensor.Strides = uintptr(unsafe.Pointer(&dims[:n+1][n]))
		if n == 0 {
			p.tensor.Strides = p.tensor.Shape
		}
	}
}

func (p *prototype) free() {
	p.more = nil
	prototypes.Put(p)
}

// ViewTensor makes a Tensor object that shares the memory of source, which it
// keeps alive, and returns its only reference. t holds the data address, the
// data type and the device.
func ViewTensor(source uintptr, t abi.DLTensor, shape, strides []int64) (uintptr, error) {
	p := prototypes.Get().(*prototype)
	p.set(t, shape, strides)
	_, err := invoke(API.TensorCreateUnsafeView, source, uintptr(unsafe.Pointer(&p.tensor)), uintptr(unsafe.Pointer(&p.out)))
	handle := p.out
	p.free()
	if err != nil {
		return 0, err
	}
	return handle, nil
}

// EnvTensor asks the allocator of the environment for a tensor and returns its
// only reference; strides may be nil.
func EnvTensor(t abi.DLDataType, d abi.DLDevice, shape, strides []int64) (uintptr, error) {
	p := prototypes.Get().(*prototype)
	p.set(abi.DLTensor{DType: t, Device: d}, shape, strides)
	out, err := invokeResult(API.EnvTensorAlloc, uintptr(unsafe.Pointer(&p.tensor)))
	p.free()
	if err != nil {
		return 0, err
	}
	return first(out), nil
}

// ImportDLPack makes a Tensor object of a struct of DLPack, which it takes over,
// and returns its only reference.
func ImportDLPack(managed uintptr, versioned bool, alignment int32, contiguous bool) (uintptr, error) {
	fn := API.TensorFromDLPackUnversioned
	if versioned {
		fn = API.TensorFromDLPack
	}
	var flag uintptr
	if contiguous {
		flag = 1
	}
	out, err := invoke(fn, managed, uintptr(alignment), flag)
	return first(out), err
}

// ExportDLPack makes a struct of DLPack, which the caller owns and which holds a
// reference to the tensor.
func ExportDLPack(tensor uintptr, versioned bool) (uintptr, error) {
	fn := API.TensorToDLPackUnversioned
	if versioned {
		fn = API.TensorToDLPack
	}
	out, err := invokeResult(fn, tensor)
	return first(out), err
}
