package run

import (
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
)

// Tensor is a DLTensor.
type Tensor = abi.DLTensor

// TensorOf reads a tensor, nil if v is not one. It is valid as long as v.
func TensorOf(v abi.Any) *Tensor {
	at := uintptr(v.Bits)
	switch {
	case v.TypeIndex == abi.TypeTensor:
		return capi.PointerTo[Tensor](at + abi.ObjectSize)
	case v.TypeIndex == abi.TypeDLTensorPtr && at != 0:
		return capi.PointerTo[Tensor](at)
	}
	return nil
}

// Address returns the address of the first element.
func Address(t *Tensor) uintptr { return t.Data + uintptr(t.ByteOffset) }

// NDim returns the rank, -1 if a shape is missing.
func NDim(t *Tensor) int64 {
	if t.Shape == 0 && t.NDim > 0 {
		return -1
	}
	return int64(t.NDim)
}

// Size returns the size of a dimension that exists.
func Size(t *Tensor, i int) int64 { return *capi.PointerTo[int64](t.Shape + 8*uintptr(i)) }

// Stride returns the stride of a dimension that exists, in elements. A tensor without
// strides is in row-major order.
func Stride(t *Tensor, i int) int64 {
	if t.Strides != 0 {
		return *capi.PointerTo[int64](t.Strides + 8*uintptr(i))
	}
	step := int64(1)
	for j := int(t.NDim) - 1; j > i; j-- {
		step *= Size(t, j)
	}
	return step
}

// Contiguous reports whether a tensor is in row-major order without gaps. The stride of
// a dimension of size 1 is not compared.
func Contiguous(t *Tensor) bool { return t.Strides == 0 || rowMajor(t) }

// rowMajor is a call: inlined, its loop makes the checks of generated kernels slower.
//
//go:noinline
func rowMajor(t *Tensor) bool {
	step := int64(1)
	for i := uintptr(t.NDim); i > 0; i-- {
		n := *capi.PointerTo[int64](t.Shape + 8*(i-1))
		if *capi.PointerTo[int64](t.Strides + 8*(i-1)) != step && n != 1 {
			return false
		}
		step *= n
	}
	return true
}
