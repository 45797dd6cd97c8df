//go:build tvm

package vm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/generated/tvm/vm/builtin/tensorcache"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/vm"
)

// TestWeights compares the tensors of a cache that TVM has written with those that TVM reads from it, and passes them to a
// model as a tuple. Weights of another model are an error before a call.
func TestWeights(t *testing.T) {
	_, m := load(t, nativetest.Model(t, "testdata/small.py", "tuple"))
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), nativetest.TVM(t), "testdata/weights.py", dir)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	w, err := vm.LoadWeights(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Release()
	if err := tensorcache.LoadFunc(dir, int64(tvmffi.DeviceCPU), 0); err != nil {
		t.Fatal(err)
	}
	defer tensorcache.Clear()
	if want := []string{"param_0", "param_1", "param_2", "param_3"}; !slices.Equal(slices.Sorted(slices.Values(w.Names())), want) {
		t.Errorf("the names are %q, expected %q", w.Names(), want)
	}
	for _, name := range w.Names() {
		theirs, err := tensorcache.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := tvmffi.ToFloat32(theirs)
		if err != nil {
			t.Fatal(err)
		}
		x := w.Tensor(name)
		if got, err := tvmffi.ToFloat32(x); err != nil || x.String() != theirs.String() || !slices.Equal(got, want) {
			t.Errorf("%s is %s, %v, expected %s", name, x, err, theirs)
		}
		theirs.Release()
	}

	params, err := m.Params()
	if err != nil || len(params) != 2 || params[1].Name != "param_1" {
		t.Fatalf("the parameters are %v, %v", params, err)
	}
	var about map[string]any
	if err := m.ReadMetadata(&about); err != nil || about["params"] == nil {
		t.Errorf("the model says %v, %v", about, err)
	}
	var wrong struct{ Params int }
	if err := m.ReadMetadata(&wrong); err == nil || !strings.Contains(err.Error(), vm.Metadata) {
		t.Errorf("a list read as an int: %v", err)
	}
	if _, err := w.Tuple(params); err == nil || !strings.Contains(err.Error(), `the model has no parameter "param_3"`) {
		t.Errorf("weights of another model: %v", err)
	}
	params = append(params, vm.Param{Name: "param_2", DataType: "float32", Shape: []int64{300, 1000}}, vm.Param{Name: "param_3", DataType: "int8", Shape: []int64{5}})
	tuple, err := w.Tuple(params)
	if err != nil {
		t.Fatal(err)
	}
	defer tuple.Release()
	first, err := tvmffi.NewArray(tuple.At(0), tuple.At(1))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Release()
	y, err := find(t, m, "main").CallTensor(first)
	near(t, "through the model", numbers(t, y, err), floats(t, w.Tensor("param_0")))

	index := filepath.Join(dir, "tensor-cache.json")
	if err := os.Rename(index, filepath.Join(dir, "ndarray-cache.json")); err != nil {
		t.Fatal(err)
	}
	older, err := vm.LoadWeights(dir)
	if err != nil {
		t.Fatal(err)
	}
	older.Release()
}

func floats(t *testing.T, x *tvmffi.Tensor) []float32 {
	t.Helper()
	got, err := tvmffi.ToFloat32(x)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
