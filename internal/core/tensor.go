package core

import (
	"runtime"
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

// tensorFrame is a call with the description of a tensor, which C copies.
type tensorFrame struct {
	head   ccall.Head
	tensor abi.DLTensor
	dims   [2 * fewDims]int64
}

// The block begins after the head, and the addresses of shape and strides are words of
// it.
const (
	_           = unsafe.Offsetof(tensorFrame{}.tensor) - ccall.HeadSize
	shapeAt     = unsafe.Offsetof(tensorFrame{}.dims) - ccall.HeadSize
	shapeWord   = unsafe.Offsetof(abi.DLTensor{}.Shape) / 8
	stridesWord = unsafe.Offsetof(abi.DLTensor{}.Strides) / 8
	tensorUnits = int(shapeAt) / 16 // without shape and strides, which take one for each dimension
)

// call calls fn with the description of a tensor, to which it adds shape and strides,
// and returns the handle that fn wrote; strides may be nil.
func (f *tensorFrame) call(fn uintptr, mode ccall.Mode, shape, strides []int64) (uintptr, error) {
	f.head.Fn, f.head.Mode = fn, mode
	n := len(shape)
	f.head.Units = uint32(tensorUnits + min(n, fewDims)) // which is enough for shape and strides
	f.tensor.NDim = int32(n)
	var more []int64
	if n <= fewDims {
		f.tensor.Shape = shapeAt
		f.head.Mask = 1 << shapeWord
		copy(f.dims[:], shape)
		if strides != nil {
			f.tensor.Strides = shapeAt + uintptr(n)*8
			f.head.Mask |= 1 << stridesWord
			copy(f.dims[n:], strides)
		}
	} else {
		more = append(append(make([]int64, 0, 2*n), shape...), strides...)
		escape(unsafe.Pointer(&more[0]))
		f.tensor.Shape = uintptr(unsafe.Pointer(&more[0]))
		if strides != nil {
			f.tensor.Strides = uintptr(unsafe.Pointer(&more[n]))
		}
	}
	ccall.Call(&f.head)
	runtime.KeepAlive(more)
	if f.head.RC != 0 {
		return 0, errorOf(f.head.RC, f.head.Err)
	}
	return first(f.head.Res), nil
}

// ViewTensor makes a Tensor object that shares the memory of source, which it
// keeps alive, and returns its only reference. t holds the data address, the
// data type and the device.
func ViewTensor(source uintptr, t abi.DLTensor, shape, strides []int64) (uintptr, error) {
	f := tensorFrame{tensor: t}
	f.head.Handle = source
	return f.call(API.TensorCreateUnsafeView, ccall.Middle, shape, strides)
}

// EnvTensor asks the allocator of the environment for a tensor and returns its
// only reference; strides may be nil.
func EnvTensor(t abi.DLDataType, d abi.DLDevice, shape, strides []int64) (uintptr, error) {
	var f tensorFrame
	f.tensor.DType, f.tensor.Device = t, d
	return f.call(API.EnvTensorAlloc, ccall.First, shape, strides)
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
