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
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(twice, "Doubles \"it\".\n"
    "Slowly.");
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
		"water": {"plant", "litres", "slowly"}, "twice": {"first", "b"}, "elsewhere": {"pair", "out"}, "lambda": {"x", "y"}, "run": {"", "out"}, "unnamed": nil,
	}
	got := map[string][]string{}
	for name, it := range f.Items {
		got[name] = it.Params
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if got, want := f.Items["twice"].Doc, "Doubles \"it\".\nSlowly."; got != want {
		t.Errorf("twice has the documentation %q, want %q", got, want)
	}
	if text := strings.Join(lines(r.LeftOut), "\n"); text != "run: the C++ sources disagree: parameter 0 is in or x\nunnamed: parameter 1 is uint32, and has no name: name it under functions, with its type" {
		t.Errorf("left out:\n%s", text)
	}
}

// TestRead_registered: C++ also names the parameters of what it registers, where Python does not.
func TestRead_registered(t *testing.T) {
	files := map[string]string{
		"include/rose.h": `class GARDEN_API RoseObj final : public Base<PlantObj> {
  explicit RoseObj(int64_t petals) : petals_(petals) {}
  RoseObj(int64_t petals, bool thorny);
  RoseObj(int64_t, int64_t, int64_t) = delete;
  ~RoseObj() { RoseObj(petals_, Sharp()); }
  int64_t Pluck(int64_t how_many, bool gently) const { return 0; }
  static Rose Graft(const Rose& color_of, const Rose&);
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("garden.Rose", RoseObj, Base<PlantObj>);
};`,
		"include/plain.h": "class TulipObj { int64_t Pluck(int64_t no, bool header); };",
		"src/a.cc": `// of TVM-FFI; refl::GlobalDef().def("garden.comment", Water);
void Water(const Plant& plant, ffi::Optional<double> litres_);
class Ferns; struct Ferns : Plant { Ferns(double height, Plant near) : height(height) {} void Pluck(int64_t a, bool b); TVM_FFI_DECLARE_OBJECT_INFO("garden.Ferns", Ferns, Plant); };
TVM_FFI_DECLARE_OBJECT_INFO("garden.One", Twin, Plant)
TVM_FFI_DECLARE_OBJECT_INFO("garden.Two", Twin, Plant)
TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::ObjectDef<garden::RoseObj>("A rose.").def(refl::init<int64_t>())
      .def_ro("color", &RoseObj::color)
      .def("pluck", &RoseObj::Pluck, "Water(int no) {")
      .def("smell", [](const RoseObj* self, double near) { return near; })
      .def_static("graft", &RoseObj::Graft);
  refl::ObjectDef<Twin>().def("of", [](Twin* t, int n) {});
  auto reg = refl::ObjectDef<Ferns>();
  reg.def(init<double, Plant>(), "A fern.").def("pluck", &Ferns::Pluck);
  refl::GlobalDef()
      .def("garden.water", garden::Water)
      .def("garden.count", [n](Array<Plant> bed, int64_t at_least) -> int64_t { return f(n, "x,"); },
           "Counts plants, "  // all
           "also \"tulips\".")
      .def_method("garden.RosePluck", &RoseObj::Pluck)
      .def("garden.wrong", Water)
      .def_packed("garden.packed", [](ffi::PackedArgs args, ffi::Any* rv) {})
      .def(Name(), Water);
}`,
		"garden/__init__.py": "",
		"garden/_ffi_api.py": api,
		"garden/use.py":      "from . import _ffi_api\ndef f(where, x):\n    _ffi_api.count(where, 1)\n    _ffi_api.RosePluck(x, 1, 2)\n",
	}
	f, r := read(t, tree(t, files), library(t, []string{"garden.Rose", "garden.Ferns", "garden.One", "garden.Two"}, map[string]string{
		"garden.Rose.pluck": "(garden.Rose, int, bool) -> int", "garden.Rose.smell": "(garden.Rose, float) -> float",
		"garden.Rose.__ffi_init__": "(int) -> ffi.Object", "garden.Ferns.__ffi_init__": "(float, garden.Plant) -> ffi.Object",
		"garden.Rose.graft": "(ffi.Object, garden.Rose) -> garden.Rose", "garden.Ferns.pluck": "(garden.Ferns, int, bool) -> None",
		"garden.One.of": "(garden.One, int) -> None", "garden.Two.of": "(garden.Two, int) -> None",
		"garden.water": "(garden.Plant, Optional<float>) -> None", "garden.count": "(Array<garden.Plant>, int) -> int",
		"garden.RosePluck": "(garden.Rose, int, bool) -> int", "garden.wrong": "(int) -> None",
		"garden.packed": "(int, int) -> int", "garden.comment": "(garden.Plant, float) -> None",
	}))
	want := map[string][]string{
		"garden.Rose.__ffi_init__": {"petals"}, "garden.Ferns.__ffi_init__": {"height", "near"},
		"garden.Rose.pluck": {"how_many", "gently"}, "garden.Rose.smell": {"near"}, "garden.Rose.graft": {"color_of", ""},
		"garden.Ferns.pluck": {"a", "b"}, "garden.water": {"plant", "litres"},
		"garden.count": {"where", "at_least"}, "garden.RosePluck": {"x", "how_many", "gently"},
	}
	got := map[string][]string{}
	for name, it := range f.Items {
		got[name] = it.Params
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	for name, it := range f.Items {
		if want := map[string]string{"garden.count": `Counts plants, also "tulips".`}[name]; it.Doc != want {
			t.Errorf("%s has the documentation %q, want %q", name, it.Doc, want)
		}
	}
	if len(r.LeftOut) > 0 || r.Natives != 2 {
		t.Errorf("left out %v; %d C++ sources, want 2", r.LeftOut, r.Natives)
	}
}

// TestRead_overloads: each overload has the parameters of its own declaration, or of the call with as many arguments.
func TestRead_overloads(t *testing.T) {
	files := map[string]string{
		"src/box.cc": `class BoxObj {
  BoxObj(int64_t size); BoxObj(ffi::String a, ffi::String b);
  int64_t AtIndex(int64_t index) const; ffi::String AtName(ffi::String name) const;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("garden.Box", BoxObj, ffi::Object);
};
TVM_FFI_STATIC_INIT_BLOCK() {
  refl::OverloadObjectDef<BoxObj>().def(refl::init<int64_t>()).def(refl::init<ffi::String, ffi::String>())
      .def("at", &BoxObj::AtIndex).def("at", &BoxObj::AtName);
}`,
		"garden/__init__.py": "",
		"garden/box.py": "import tvm_ffi\n\n@tvm_ffi.register_object(\"garden.Box\")\nclass Box(tvm_ffi.Object):\n" +
			"    def put(self, lid, deep):\n        \"\"\"Puts.\"\"\"\n",
	}
	s := library(t, []string{"garden.Box"}, nil)
	for _, m := range [][2]string{
		{"__ffi_init__", "(int) -> ffi.Object"}, {"__ffi_init__", "(ffi.String, ffi.String) -> ffi.Object"}, {"at", "(garden.Box, int) -> int"}, {"at", "(garden.Box, ffi.String) -> ffi.String"},
		{"put", "(garden.Box, int) -> None"}, {"put", "(garden.Box, int, int) -> None"},
	} {
		sig, err := schema.ParseSignature(m[1])
		if err != nil {
			t.Fatal(err)
		}
		method := schema.Method{Name: m[0], Signature: sig}
		if m[0] == constructor {
			method.Flags = schema.FlagIsStaticMethod
		}
		s.Types[0].Methods = append(s.Types[0].Methods, method)
	}
	f, r := read(t, tree(t, files), s)
	want := map[string]hints.Item{
		"garden.Box.__ffi_init__(int)": {Params: []string{"size"}}, "garden.Box.__ffi_init__(ffi.String, ffi.String)": {Params: []string{"a", "b"}},
		"garden.Box.at(int)": {Params: []string{"index"}}, "garden.Box.at(ffi.String)": {Params: []string{"name"}},
		"garden.Box.put(int, int)": {Params: []string{"lid", "deep"}}, "garden.Box.put": {Doc: "Puts."},
	}
	for name, it := range want {
		if got := f.Items[name]; !reflect.DeepEqual(got.Params, it.Params) || got.Doc != it.Doc && it.Doc != "" {
			t.Errorf("%s: %+v, want %+v", name, got, it)
		}
	}
	if len(f.Items) != len(want) || len(r.LeftOut) > 0 || r.Methods.Named != 3 || r.Methods.All != 4 {
		t.Errorf("%d items, %+v, left out %v", len(f.Items), r.Methods, r.LeftOut)
	}
}
