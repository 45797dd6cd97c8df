package vm

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestWeights_memory: the memory of a file ends with the last of its tensors, here in a tuple.
func TestWeights_memory(t *testing.T) {
	dir := write(t, map[string]string{"model.safetensors": string(small())})
	mapped := func() bool {
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(maps), dir)
	}
	w := loaded(t, dir)
	tuple, err := tvmffi.NewArray(w.Tensor("a"))
	if err != nil {
		t.Fatal(err)
	}
	w.Release()
	for range 5 {
		runtime.GC()
	}
	x := tuple.At(0)
	if got := floats(t, x); !mapped() || !slices.Equal(got, []float32{1, -2}) {
		t.Errorf("in the tuple: %v, %v", mapped(), got)
	}
	x.Release()
	tuple.Release()
	for mapped() {
		runtime.GC()
	}
}
