package run

import (
	"testing"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
)

// addressOf is the address of a slice, which the test keeps.
func addressOf[T any](s []T) uintptr { return capi.Address(unsafe.SliceData(s)) }

// TestTensor reads tensors with and without strides, among them some that other languages
// make and Go does not.
func TestTensor(t *testing.T) {
	for _, c := range []struct {
		what       string
		shape      []int64
		strides    []int64
		want       []int64 // strides
		contiguous bool
	}{
		{"a number", nil, nil, nil, true},
		{"a vector without strides", []int64{7}, nil, []int64{1}, true},
		{"without strides", []int64{5, 3, 2}, nil, []int64{6, 2, 1}, true},
		{"empty, without strides", []int64{5, 0, 2}, nil, []int64{0, 2, 1}, true},
		{"row-major", []int64{5, 3, 2}, []int64{6, 2, 1}, []int64{6, 2, 1}, true},
		{"any stride of size 1", []int64{5, 1, 2}, []int64{2, 99, 1}, []int64{2, 99, 1}, true},
		{"with a gap", []int64{5, 3, 2}, []int64{7, 2, 1}, []int64{7, 2, 1}, false},
		{"with a gap inside", []int64{5, 3, 2}, []int64{12, 4, 2}, []int64{12, 4, 2}, false},
		{"column-major", []int64{2, 3}, []int64{1, 2}, []int64{1, 2}, false},
		{"backwards", []int64{4}, []int64{-1}, []int64{-1}, false},
	} {
		d := &Tensor{NDim: int32(len(c.shape)), Shape: addressOf(c.shape), Data: 4096, ByteOffset: 12}
		if c.strides != nil {
			d.Strides = addressOf(c.strides)
		}
		if got := Contiguous(d); got != c.contiguous {
			t.Errorf("%s: contiguous is %t, want %t", c.what, got, c.contiguous)
		}
		if got := NDim(d); got != int64(len(c.shape)) {
			t.Errorf("%s: the rank is %d", c.what, got)
		}
		for i, want := range c.want {
			if got := Stride(d, i); got != want {
				t.Errorf("%s: stride %d is %d, want %d", c.what, i, got, want)
			}
			if got := Size(d, i); got != c.shape[i] {
				t.Errorf("%s: size %d is %d, want %d", c.what, i, got, c.shape[i])
			}
		}
		if got := Address(d); got != 4108 {
			t.Errorf("%s: the first element is at %d", c.what, got)
		}
	}
	for ndim, want := range map[int32]int64{0: 0, 1: -1, 64: -1} {
		if got := NDim(&Tensor{NDim: ndim}); got != want {
			t.Errorf("%d dimensions without a shape: the rank is %d, want %d", ndim, got, want)
		}
	}
}

// TestKind asks for each type index that has a kind, and for others at the ends of the
// table.
func TestKind(t *testing.T) {
	for index, want := range map[abi.TypeIndex]spec.Accept{
		abi.TypeNone: spec.AcceptNone, abi.TypeInt: spec.AcceptInt, abi.TypeBool: spec.AcceptBool, abi.TypeFloat: spec.AcceptFloat,
		abi.TypeOpaquePtr: spec.AcceptPointer, abi.TypeDLTensorPtr: spec.AcceptDLTensor, abi.TypeTensor: spec.AcceptTensor,
		abi.TypeShape: spec.AcceptShape, abi.TypeArray: spec.AcceptArray, abi.TypeStr: 0, abi.TypeSmallStr: 0,
		abi.TypeBytes: 0, abi.TypeObject: spec.AcceptObject, abi.TypeFunction: spec.AcceptObject, 63: 0,
		-1: 0, 127: spec.AcceptObject, 128: spec.AcceptObject, Released: 0, TooBig: 0,
	} {
		if got := Kind(index); got != want {
			t.Errorf("type index %d: %v, want %v", index, got, want)
		}
	}
}

// TestOf makes values of what only Go or only C can pass.
func TestOf(t *testing.T) {
	for _, c := range []struct {
		what string
		v    abi.Any
		want argKind
	}{
		{"a released object", abi.Any{TypeIndex: Released}, argReleased},
		{"a number beyond int64", abi.Any{TypeIndex: TooBig}, argTooBig},
		{"an int", abi.Any{TypeIndex: abi.TypeInt, Bits: 7}, argPlain},
		{"a null DLTensor", abi.Any{TypeIndex: abi.TypeDLTensorPtr}, argPlain},
	} {
		if got := Of(c.v); got.kind != c.want || (got.accept != 0) != (c.v.TypeIndex == abi.TypeInt) {
			t.Errorf("%s: kind %d, accepted as %v", c.what, got.kind, got.accept)
		}
	}
	if d := TensorOf(abi.Any{TypeIndex: abi.TypeDLTensorPtr}); d != nil {
		t.Error("a null pointer is a tensor")
	}
	if d := TensorOf(abi.Any{TypeIndex: abi.TypeInt, Bits: 8}); d != nil {
		t.Error("a number is a tensor")
	}
}
