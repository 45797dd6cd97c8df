package pynames

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// TestWidths: each type of C++ for a type of the registry.
func TestWidths(t *testing.T) {
	names := aliases{}
	names.add(`using Index = int32_t; typedef unsigned short Port; typedef garden::Index Again; using List = ffi::Array<Index>;
		enum class Mode : uint8_t { kSlow }; enum class Plain { kA }; enum Old { kB }; enum struct Wide : long long;
		using Two = int32_t; using Two = int64_t; using A = B; using B = A; using Id = int16_t;
		template <typename T, class Id> void Twice(Id x); using T = int8_t; using Word = std::vector<uint8_t>;`)
	for _, test := range [][3]string{
		{"int", "int8_t", "int8"}, {"int", "std::uint8_t", "uint8"}, {"int", "::int16_t", "int16"}, {"int", "const uint16_t &", "uint16"},
		{"int", "int", "int32"}, {"int", "unsigned", "uint32"}, {"int", "unsigned  int", "uint32"}, {"int", "short", "int16"},
		{"int", "short unsigned int", "uint16"}, {"int", "signed char", "int8"}, {"int", "unsigned char", "uint8"}, {"int", "char16_t", "uint16"},
		{"int", "size_t", "uint64"}, {"int", "std::size_t", "uint64"}, {"int", "uint64_t", "uint64"}, {"int", "unsigned long long", "uint64"},
		{"int", "int64_t", "int"}, {"int", "long long int", "int"}, {"int", "std::ptrdiff_t", "int"},
		{"int", "long", "int"}, {"int", "unsigned long", "int"}, {"int", "char", "int"}, {"int", "wchar_t", "int"}, {"int", "int_fast32_t", "int"},
		{"int", "Index", "int32"}, {"int", "garden::Port", "uint16"}, {"int", "Again", "int32"}, {"int", "const Mode&", "uint8"},
		{"int", "Plain", "int32"}, {"int", "Old", "int"}, {"int", "enum Wide", "int"}, {"int", "Two", "int"}, {"int", "A", "int"}, {"int", "Id", "int"},
		{"int", "T", "int"}, {"int", "Unknown", "int"}, {"int", "int32_t*", "int"}, {"int", "bool", "int"}, {"int", "TVM_FFI_INLINE static int32_t", "int32"},
		{"float", "int32_t", "float"}, {"bool", "uint8_t", "bool"}, {"Any", "int32_t", "Any"},
		{"Optional<int>", "ffi::Optional<int32_t>", "Optional<int32>"}, {"Optional<int>", "std::optional<Index>", "Optional<int32>"}, {"Optional<int>", "int32_t", "Optional<int>"},
		{"Array<int>", "const Array<uint8_t>&", "ffi.Array<uint8>"}, {"Array<int>", "List", "ffi.Array<int32>"}, {"Array<int>", "std::vector<int>", "ffi.Array<int32>"},
		{"Array<int>", "Word", "ffi.Array<uint8>"}, {"Array<Array<int>>", "Array<Array<int16_t>>", "ffi.Array<ffi.Array<int16>>"}, {"List<int>", "List<int16_t>", "ffi.List<int16>"},
		{"Map<str, int>", "tvm::ffi::Map<ffi::String, uint32_t>", "ffi.Map<ffi.String, uint32>"}, {"Map<str, Array<int>>", "Map<String, Array<int8_t>>", "ffi.Map<ffi.String, ffi.Array<int8>>"},
		{"Dict<int, int>", "Dict<int8_t, int64_t>", "ffi.Dict<int8, int>"}, {"Optional<Array<int>>", "Optional<Array<int32_t>>", "Optional<ffi.Array<int32>>"},
		{"Tuple<int, int>", "ffi::Tuple<int32_t, uint8_t>", "Tuple<int32, uint8>"}, {"Tuple<int, int>", "Tuple<int32_t>", "Tuple<int, int>"},
		{"Variant<int, str>", "Variant<int32_t, String>", "Variant<int32, ffi.String>"},
		{"(int, str) -> int", "ffi::TypedFunction<int8_t(int32_t, String)>", "(int32, ffi.String) -> int8"}, {"(int) -> None", "std::function<void(uint16_t n)>", "(uint16) -> None"},
		{"(Array<int>) -> Optional<int>", "TypedFunction< Optional<int8_t> (Array<int16_t>) >", "(ffi.Array<int16>) -> Optional<int8>"},
		{"(int, int) -> int", "TypedFunction<int8_t(int32_t)>", "(int, int) -> int"}, {"Function", "ffi::Function", "ffi.Function"},
	} {
		typ, err := hints.ParseType(test[0])
		if err != nil {
			t.Fatal(err)
		}
		got := typ.Normalized()
		if c, ok := parseCPP(test[1]); ok {
			got, _ = names.widths(got, c)
		}
		if got.String() != test[2] {
			t.Errorf("%s from %s is %s, want %s", test[0], test[1], got, test[2])
		}
	}
}

// TestRead_widths: C++ says the widths of parameters, results and fields.
func TestRead_widths(t *testing.T) {
	files := map[string]string{
		"include/types.h": "#pragma once\nenum class Tool : uint16_t { kSpade };\nusing Row = int32_t;\n",
		"include/rose.h": `class RoseObj : public Object {
 public:
  uint8_t petals = 5;
  int64_t height{3};
  ffi::Array<int16_t> rows;
  Tool tool;
  int32_t stale;
  RoseObj(int32_t petals, int64_t height);
  uint16_t Cut(int8_t n) const { int64_t petals = 1; return petals; }
  static Row Sow(Row row);
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("garden.Rose", RoseObj, Object);
};`,
		"src/a.cc": `// of TVM-FFI
#include <x.h>
uint32_t Water(int32_t litres, size_t drops);
[[nodiscard]] static inline std::uint8_t Dig(Tool tool, const ffi::Optional<int16_t>& depth = 3) { return 1; }
template <typename T>
T Generic(T x) { return x; }
auto Plan(char a, long b, unsigned char c) -> unsigned short { return 1; }
int64_t Both(int32_t n); int64_t Both(int64_t n);
int Older(int32_t a);
TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<RoseObj>().def(refl::init<int64_t, uint8_t>()).def_rw("petals", &RoseObj::petals).def_ro("height", &RoseObj::height)
      .def_rw("rows", &garden::RoseObj::rows).def_rw("tool", &RoseObj::tool).def_ro("stale", &RoseObj::stale).def_ro("gone", &RoseObj::gone)
      .def("cut", &RoseObj::Cut).def_static("sow", &RoseObj::Sow).def("smell", [](const RoseObj* self, uint8_t near) -> int8_t { return 1; });
  refl::GlobalDef().def("garden.water", Water).def("garden.dig", Dig).def("garden.generic", Generic<int8_t>).def("garden.plan", Plan)
      .def("garden.both", Both).def("garden.deduced", [](uint8_t n) { return n; }).def("garden.older", Older)
      .def("garden.each", [](ffi::TypedFunction<int16_t(uint8_t)> visit, ffi::Map<String, int32_t> counts) -> ffi::Array<uint32_t> { return {}; })
      .def("garden.floats", [](int32_t wrong, float right) -> double { return right; });
}`,
		"garden/__init__.py": "", "garden/_ffi_api.py": api,
		"garden/use.py": "from . import _ffi_api\ndef water(litres, drops=-1):\n    return _ffi_api.water(litres, drops)\n",
	}
	s := library(t, []string{"garden.Rose"}, map[string]string{
		"garden.Rose.__ffi_init__": "(int, int) -> ffi.Object", "garden.Rose.cut": "(garden.Rose, int) -> int", "garden.Rose.sow": "(int) -> int",
		"garden.Rose.smell": "(garden.Rose, int) -> int", "garden.water": "(int, int) -> int", "garden.dig": "(int, Optional<int>) -> int", "garden.generic": "(int) -> int",
		"garden.plan": "(int, int, int) -> int", "garden.both": "(int) -> int", "garden.deduced": "(int) -> int", "garden.older": "(int, int) -> int",
		"garden.each": "((int) -> int, ffi.Map<ffi.String, int>) -> ffi.Array<int>", "garden.floats": "(float, float) -> float",
	})
	for name, size := range map[string]int{"petals": 1, "height": 8, "tool": 2, "stale": 8, "gone": 4} {
		s.Types[0].Fields = append(s.Types[0].Fields, schema.Field{Name: name, Type: schema.TypeSchema{Name: "int"}, Size: size})
	}
	rows, _ := hints.ParseType("Array<int>")
	s.Types[0].Fields = append(s.Types[0].Fields, schema.Field{Name: "rows", Type: rows, Size: 8})
	f, r := read(t, tree(t, files), s)
	got := map[string]string{}
	for name, it := range f.Items {
		var all []string
		for _, param := range slices.Sorted(maps.Keys(it.Types)) {
			all = append(all, param+" "+it.Types[param])
		}
		if it.Returns != "" {
			all = append(all, "-> "+it.Returns)
		}
		if it.Type != "" {
			all = append(all, it.Type)
		}
		if len(all) > 0 {
			got[name] = strings.Join(all, ", ")
		}
	}
	want := map[string]string{
		"garden.Rose.petals": "uint8", "garden.Rose.rows": "ffi.Array<int16>", "garden.Rose.tool": "uint16",
		"garden.Rose.__ffi_init__": "height uint8, petals int32", "garden.Rose.cut": "n int8, -> uint16", "garden.Rose.sow": "row int32, -> int32",
		"garden.Rose.smell": "near uint8, -> int8", "garden.water": "litres int32, -> uint32", "garden.dig": "depth Optional<int16>, tool uint16, -> uint8",
		"garden.plan": "c uint8, -> uint16", "garden.deduced": "n uint8",
		"garden.each": "counts ffi.Map<ffi.String, int32>, visit (uint8) -> int16, -> ffi.Array<uint32>",
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	const left = "garden.Rose.stale: the C++ sources say int32, and the field of the library has 8 bytes\n" +
		"garden.both: the C++ sources disagree on the width: n is int or int32\n" +
		"garden.water: drops is uint64, and its default -1 or a value of its enum is out of range"
	if text := strings.Join(slices.Sorted(slices.Values(lines(r.LeftOut))), "\n"); text != left {
		t.Errorf("left out:\n%s\nwant:\n%s", text, left)
	}
}

// TestRead_noted: the checks of a kernel say the widths, without any source.
func TestRead_noted(t *testing.T) {
	s := kernels(t, map[string]string{"scale": "(Any, int, int, float, Tuple<int, int>) -> None"})
	f := &s.Functions[0]
	f.Reported = true
	for i, p := range []schema.Param{{Name: "x", Note: "Tensor([n], int32)"}, {Name: "n", Note: "int32"}, {Name: "m", Note: "int64"}, {Name: "f", Note: "float32"}, {Name: "at", Note: "Tuple[uint8, int64]"}} {
		f.Signature.Params[i].Name, f.Signature.Params[i].Note = p.Name, p.Note
	}
	got, _, err := Read(t.Context(), nil, Options{Interface: s})
	if err != nil {
		t.Fatal(err)
	}
	if types := got.Items["scale"].Types; !maps.Equal(types, map[string]string{"n": "int32", "at": "Tuple<uint8, int>"}) || got.Items["scale"].Params != nil {
		t.Errorf("%+v", got.Items)
	}
}

// FuzzDeclared checks that no source of C++ stops the reader.
func FuzzDeclared(f *testing.F) {
	f.Add("TVM_FFI_DLL_EXPORT_TYPED_FUNC(a, F); [[x]] static auto F(Optional<int32_t> n, TypedFunction<void(int8_t)> f) -> uint8_t {}", "Optional<int(")
	f.Add("struct A { int n{1}; TVM_FFI_DECLARE_OBJECT_INFO(\"a.A\", A, B); }; ObjectDef<A>().def(init<int, Map<A,).def_rw(\"n\", &A::n)", ">(),")
	f.Fuzz(func(t *testing.T, text, typ string) {
		d := declared([]source{{path: "a.cc", data: []byte("// tvm\n" + text)}}, []source{{path: "a.h", data: []byte(text)}})
		for _, wide := range []string{"int", "Optional<int>", "(int) -> int", "Map<str, Array<int>>"} {
			t, err := hints.ParseType(wide)
			if c, ok := parseCPP(typ); err == nil && ok {
				d.aliases.widths(t, c)
			}
		}
		memberType(text, "n")
		declarationOf(typ, text, typ)
	})
}
