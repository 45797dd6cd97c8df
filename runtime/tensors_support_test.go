package tvmffi_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

var tensorsOnce nativetest.Once

// loadTensors loads the library of the tests of tensors too.
func loadTensors(t testing.TB) {
	t.Helper()
	load(t)
	tensorsOnce.Do(t, func() {
		if err := tvmffi.LoadLibrary(nativetest.Build(t, "tensors")); err != nil {
			t.Fatal(err)
		}
	})
	if _, err := tvmffi.Lookup("tensors.sum"); err != nil {
		t.Fatal(err)
	}
}

// vector makes the tensor 0, 1, 2, ... of a shape.
func vector(t testing.TB, shape ...int64) *tvmffi.Tensor {
	t.Helper()
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	data := make([]float32, n)
	for i := range data {
		data[i] = float32(i)
	}
	return must[*tvmffi.Tensor](t)(tvmffi.FromSlice(data, shape...))
}

// values reads a tensor of float32.
func values(t testing.TB, x *tvmffi.Tensor) []float32 {
	t.Helper()
	out := make([]float32, x.Len())
	if err := tvmffi.CopyTo(x, out); err != nil {
		t.Fatal(err)
	}
	return out
}
