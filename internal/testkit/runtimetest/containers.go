package runtimetest

import (
	"testing"
	"unsafe"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/env"
)

// NewList makes a List after [Load]. The caller releases it.
func NewList(t testing.TB, items ...any) *tvmffi.List[any] {
	t.Helper()
	Load(t)
	return Must[*tvmffi.List[any]](t)(tvmffi.NewList(items...))
}

// NewLoop makes a List that holds 1 and itself; [EndLoop] ends it.
func NewLoop(t testing.TB) *tvmffi.List[any] {
	t.Helper()
	l := NewList(t, 1)
	if err := l.Append(l); err != nil {
		t.Fatal(err)
	}
	return l
}

// EndLoop clears and releases a List that holds itself.
func EndLoop(t testing.TB, l *tvmffi.List[any]) {
	t.Helper()
	if err := l.Clear(); err != nil {
		t.Error(err)
	}
	l.Release()
}

// CountingTensor makes the float32 tensor 0, 1, 2, ... of a shape. The caller releases it.
func CountingTensor(t testing.TB, shape ...int64) *tvmffi.Tensor {
	t.Helper()
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	data := make([]float32, n)
	for i := range data {
		data[i] = float32(i)
	}
	return Must[*tvmffi.Tensor](t)(tvmffi.FromSlice(data, shape...))
}

// FloatsOf returns the elements of a tensor of float32.
func FloatsOf(t testing.TB, x *tvmffi.Tensor) []float32 {
	t.Helper()
	out := make([]float32, x.Len())
	if err := tvmffi.CopyTo(x, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// FloatSpec describes a float32 tensor of the host.
func FloatSpec(shape ...int64) env.TensorSpec {
	return env.TensorSpec{DataType: tvmffi.Float32, Device: tvmffi.CPU, Shape: shape}
}

// Unchecked returns the container in a, whose reference it shares, as a P whose elements nobody looked at, as
// a result of generated code is.
func Unchecked[P any](t testing.TB, a tvmffi.Any) P {
	t.Helper()
	o := Must[*tvmffi.Object](t)(tvmffi.As[*tvmffi.Object](a))
	return *(*P)(unsafe.Pointer(&o)) // a pointer to a container is one to its Object
}
