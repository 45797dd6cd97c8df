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

// TestRead_exports: the parameters of what C++ exports have the names of its declaration.
func TestRead_exports(t *testing.T) {
	const source = `// TVM_FFI_DLL_EXPORT_TYPED_FUNC(comment, Water);
/* void Water(int no); */
namespace garden {
static const char* text = "void Water(int no) {";
void Water(const Tensor& plant, ffi::Optional<ffi::Map<int64_t, float>> litres_,
           bool slowly = false /* drop by drop */) {
  Other(plant);
}
int64_t Twice(int64_t first, double);
inline auto Unnamed(ffi::Tensor, unsigned int) -> int { return Twice(a, b); }
}  // namespace garden
TVM_FFI_DLL_EXPORT_TYPED_FUNC(water, garden::Water);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(twice, Twice)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(unnamed, Unnamed);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(elsewhere, Elsewhere);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(lambda, [](int64_t x, float* y[2]) -> int64_t { return x; });
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, Run);
void Run(Tensor in, Tensor out);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(other, Missing);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(broken, `
	files := map[string]string{
		"garden/__init__.py": "def f(mod, a, b):\n    mod.twice(a, b)\n",
		"garden/a.cu":        source, "garden/b.cc": "// of TVM-FFI\ndouble Elsewhere(std::array<int, 2> pair, Tensor<int> *out) noexcept {}\n",
		"other/c.cpp": "TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, R)\nint R(Tensor x, Tensor out) {}\nvoid Elsewhere(int a, int b);",
	}
	f, r := read(t, tree(t, files), kernels(t, map[string]string{
		"water": "(Tensor, Optional<Map<int, float>>, bool) -> None", "twice": "(int, float) -> int", "unnamed": "(Tensor, int) -> int",
		"elsewhere": "(Array<int>, Tensor) -> float", "lambda": "(int, Any) -> int", "run": "(Tensor, Tensor) -> None",
		"comment": "(Tensor, bool, bool) -> None", "other": "(int) -> None", "broken": "(int) -> None",
	}))
	want := map[string][]string{
		"water": {"plant", "litres", "slowly"}, "twice": {"first", "b"}, "elsewhere": {"pair", "out"}, "lambda": {"x", "y"}, "run": {"", "out"},
	}
	got := map[string][]string{}
	for name, it := range f.Items {
		got[name] = it.Params
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if text := strings.Join(lines(r.LeftOut), "\n"); text != "run: the C++ sources disagree: parameter 0 is in or x" {
		t.Errorf("left out:\n%s", text)
	}
}
