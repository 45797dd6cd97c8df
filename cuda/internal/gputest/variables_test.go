package gputest

import (
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
)

// TestVariables reads and writes the variables of a module.
func TestVariables(t *testing.T) {
	for d := range prepare(t) {
		m, err := loadFile(cuda.Device(d), "variables")
		ok(t, err)
		variable(t, m, "counter", []int32{7})
		variable(t, m, "zeros", make([]float32, 32))
		variable(t, m, "table", []float32{1, 2, 3, 4})
		variable(t, m, "none", make([]int32, 3))
		ok(t, m.Close())
	}
}

// variable compares a variable with its first value, and writes another one.
func variable[T int32 | float32](t *testing.T, m *cuda.Module, name string, want []T) {
	t.Helper()
	v, err := m.Global(name)
	ok(t, err)
	if v.Size() != int64(4*len(want)) {
		t.Fatalf("%s has %d bytes, want %d", name, v.Size(), 4*len(want))
	}
	got, other := make([]T, len(want)), slices.Repeat([]T{9}, len(want))
	ok(t, cuda.CopyOut(got, v))
	if !slices.Equal(got, want) {
		t.Errorf("%s is %v, want %v", name, got, want)
	}
	ok(t, cuda.CopyIn(v, other))
	ok(t, cuda.CopyOut(got, v))
	if !slices.Equal(got, other) {
		t.Errorf("%s is %v, want %v", name, got, other)
	}
}
