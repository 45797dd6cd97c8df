package pynames

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// kernels is a library of functions of a module.
func kernels(t *testing.T, signatures map[string]string) *schema.Schema {
	t.Helper()
	s := library(t, nil, signatures)
	for i := range s.Functions {
		s.Functions[i].Source = schema.SourceModule
	}
	return s
}

// TestRead_modules: a module is an object, so a call belongs to the function of its name and its number of arguments.
func TestRead_modules(t *testing.T) {
	const source = `import functools
import tvm_ffi
from . import ops

LEFT_HAND = 1

@functools.cache
def _load():
    return tvm_ffi.load_module("garden.so")

def water(plant, litres: float = 1.0):
    """Water a plant."""
    mod = _load()
    mod.water(plant.flatten(), litres)
    mod.water(plant)

def direct(bed):
    return _load().dig(bed, LEFT_HAND)

class Tool:
    def __init__(self):
        self.mod = _load()

    def rake(self, bed, teeth):
        getattr(self.mod, "rake")(bed, teeth)
        fn = self.mod.hoe if teeth else self.mod.weed
        fn(bed)

def other(rows, columns):
    _load().plan(rows, columns)
    ops.python(rows)

def another(width, columns):
    _load().plan(width, columns)
`
	files := map[string]string{"garden/__init__.py": source, "garden/ops.py": "def python(x):\n    pass\n"}
	f, r := read(t, tree(t, files), kernels(t, map[string]string{
		"water": "(Tensor, float) -> None", "dig": "(Tensor, int) -> None", "rake": "(Tensor, int) -> None", "hoe": "(Tensor) -> None",
		"weed": "(Tensor) -> None", "plan": "(int, int) -> None", "python": "(int) -> None", "unused": "(int) -> None",
	}))
	want := map[string]hints.Item{
		"water": {Params: []string{"plant", "litres"}, Default: map[string]hints.Constant{"litres": {Value: 1.0}}, Doc: "Water a plant."},
		"dig":   {Params: []string{"bed", ""}}, "rake": {Params: []string{"bed", "teeth"}}, "hoe": {Params: []string{"bed"}}, "weed": {Params: []string{"bed"}},
		"plan": {Params: []string{"", "columns"}},
	}
	if !reflect.DeepEqual(f.Items, want) {
		t.Errorf("%+v\nwant %+v", f.Items, want)
	}
	if text := strings.Join(lines(r.LeftOut), "\n"); text != "plan: calls disagree: parameter 0 is rows or width" {
		t.Errorf("left out:\n%s", text)
	}
}
