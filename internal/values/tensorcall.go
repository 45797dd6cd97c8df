package values

import (
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// tensorFrame is a call with the description of a tensor, which C copies.
type tensorFrame struct {
	head   ccall.Head
	tensor abi.DLTensor
	dims   [2 * objects.FewDims]int64
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
	f.head.Units = uint8(tensorUnits + min(n, objects.FewDims)) // which is enough for shape and strides
	f.tensor.NDim = int32(n)
	var more []int64
	if n <= objects.FewDims {
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
		capi.Escape(unsafe.Pointer(&more[0]))
		f.tensor.Shape = uintptr(unsafe.Pointer(&more[0]))
		if strides != nil {
			f.tensor.Strides = uintptr(unsafe.Pointer(&more[n]))
		}
	}
	ccall.Call(&f.head)
	runtime.KeepAlive(more)
	if f.head.RC != 0 {
		return 0, failure.OfCall(f.head.Failure())
	}
	return f.head.Res.First(), nil
}

// ViewTensor makes a Tensor object that shares the memory of source, which it
// keeps alive, and returns its only reference. t holds the data address, the
// data type and the device.
func ViewTensor(source uintptr, t abi.DLTensor, shape, strides []int64) (uintptr, error) {
	f := tensorFrame{tensor: t}
	f.head.Handle = source
	return f.call(capi.API.TensorCreateUnsafeView, ccall.Middle, shape, strides)
}

// EnvTensor asks the allocator of the environment for a tensor and returns its
// only reference; strides may be nil.
func EnvTensor(t abi.DLDataType, d abi.DLDevice, shape, strides []int64) (uintptr, error) {
	var f tensorFrame
	f.tensor.DType, f.tensor.Device = t, d
	return f.call(capi.API.EnvTensorAlloc, ccall.First, shape, strides)
}

// ImportDLPack makes a Tensor object of a struct of DLPack, which it takes over,
// and returns its only reference.
func ImportDLPack(managed uintptr, versioned bool, alignment int32, contiguous bool) (uintptr, error) {
	fn := capi.API.TensorFromDLPackUnversioned
	if versioned {
		fn = capi.API.TensorFromDLPack
	}
	var flag uintptr
	if contiguous {
		flag = 1
	}
	out, err := failure.Invoke(fn, managed, uintptr(alignment), flag)
	return out.First(), err
}

// ExportDLPack makes a struct of DLPack, which the caller owns and which holds a
// reference to the tensor.
func ExportDLPack(tensor uintptr, versioned bool) (uintptr, error) {
	fn := capi.API.TensorToDLPackUnversioned
	if versioned {
		fn = capi.API.TensorToDLPack
	}
	out, err := failure.InvokeResult(fn, tensor)
	return out.First(), err
}
