package schema

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// randomType makes well-formed types, with names that need quotes among them.
func randomType(r *rand.Rand, depth int) TypeSchema {
	leaves := []string{"int", "float", "bool", "Any", "None", "ffi.String", "std::string", "str", "garden.Plant", "const char*", "DLTensor*",
		"ffi.Function", "std::function", "ffi.Array", "ffi.Map", "a<b>", "x,y", `q"uote`, " lead", "trail ", "two  spaces", "(int) -> int", "->", "ünï.cödé", "tab\t", "日本", "\u00a0", "back`tick"}
	if depth <= 0 || r.IntN(4) == 0 {
		return TypeSchema{Name: leaves[r.IntN(len(leaves))]}
	}
	args := func(n int) []TypeSchema {
		var list []TypeSchema
		for range n {
			list = append(list, randomType(r, depth-1))
		}
		return list
	}
	switch r.IntN(7) {
	case 0:
		return TypeSchema{Name: []string{"Optional", "std::optional", "ffi.Array", "ffi.List", "std::vector"}[r.IntN(5)], Args: args(1)}
	case 1:
		return TypeSchema{Name: []string{"ffi.Map", "ffi.Dict", "std::map", "std::unordered_map"}[r.IntN(4)], Args: args(2)}
	case 2:
		return TypeSchema{Name: []string{"Tuple", "std::tuple", "Variant", "std::variant", "NestedMsg"}[r.IntN(5)], Args: args(1 + r.IntN(3))}
	case 3:
		return TypeSchema{Name: "std::array", Args: append(args(1), TypeSchema{Name: "4"})}
	default:
		return TypeSchema{Name: []string{"ffi.Function", "std::function"}[r.IntN(2)], Func: randomSignature(r, depth-1)}
	}
}

func randomSignature(r *rand.Rand, depth int) *Signature {
	sig := &Signature{Params: make([]Param, r.IntN(4)), Return: randomType(r, depth)}
	for i := range sig.Params {
		sig.Params[i].Type = randomType(r, depth)
	}
	return sig
}

func TestSignatureRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 4000 {
		sig := randomSignature(r, 4)
		text := sig.String()
		back, err := ParseSignature(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if want := sig.Normalized(); !reflect.DeepEqual(back, want) {
			t.Fatalf("%s: read back as %s", text, back)
		}
		if back.String() != text {
			t.Fatalf("%s became %s", text, back)
		}
	}
}

func TestNormalized(t *testing.T) {
	before := TypeSchema{Name: "std::map", Args: []TypeSchema{{Name: "std::string"}, {Name: "std::array", Args: []TypeSchema{{Name: "std::vector", Args: []TypeSchema{{Name: "Any"}}}, {Name: "3"}}}}}
	got := before.Normalized()
	want := TypeSchema{Name: "ffi.Map", Args: []TypeSchema{{Name: "ffi.String"}, {Name: "ffi.Array", Args: []TypeSchema{{Name: "ffi.Array"}}}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	if before.Args[1].Args[1].Name != "3" || before.Name != "std::map" {
		t.Error("Normalized changed its receiver")
	}
	sig := &Signature{Params: []Param{{Name: "x", Note: "int32", Type: TypeSchema{Name: "str"}}}, Return: TypeSchema{Name: "None"}}
	if n := sig.Normalized(); n.Params[0].Name != "x" || n.Params[0].Note != "int32" || n.Params[0].Type.Name != "ffi.String" {
		t.Errorf("got %+v", n)
	}
	if sig.String() != "(ffi.String) -> None" {
		t.Errorf("names must not enter the canonical text: %s", sig)
	}
}

func TestParseSignatureForms(t *testing.T) {
	if sig, err := ParseSignature(""); sig != nil || err != nil {
		t.Errorf("packed: %v, %v", sig, err)
	}
	for text, want := range map[string]string{
		"( int ,str )->None":                            "(int, ffi.String) -> None",
		"() -> () -> () -> int":                         "() -> () -> () -> int",
		" ()->ffi.Array< int > ":                        "() -> ffi.Array<int>",
		"(std::vector<std::function>) -> std::map":      "(ffi.Array<ffi.Function>) -> ffi.Map",
		"(ffi.Array<(int) -> ffi.Array<int>>) -> float": "(ffi.Array<(int) -> ffi.Array<int>>) -> float",
		"(std::array<int, 4>) -> None":                  "(ffi.Array<int>) -> None",
	} {
		sig, err := ParseSignature(text)
		if err != nil || sig.String() != want {
			t.Errorf("%s: %s, %v", text, sig, err)
		}
	}
}

func TestParseSignatureErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"int", "this is a type"},
		{"ffi.Function", "this is a type"},
		{"(", "expected the name of a type"},
		{"(int", `expected "," or ")"`},
		{"(int,) -> None", "expected the name of a type"},
		{"(int)", `expected "-> result"`},
		{"(int) ->", "expected the name"},
		{"(int) -> None)", "unexpected text"},
		{"(Optional) -> None", "Optional takes 1"},
		{"(int<float>) -> None", "at byte 1: int takes no type arguments"},
		{"(ffi.Array<int) -> None", `expected "," or ">"`},
		{"(ffi.Function<int>) -> None", "write \"(A, B) -> R\""},
		{`("abc) -> None`, "quoted name without end"},
		{`("") -> None`, "is empty"},
		{"(a  b) -> None", "bad name"},
		{"(std::array<int, x>) -> None", "must be its length"},
		{strings.Repeat("(", 10000), "nest deeper than 100"},
		{"() -> " + strings.Repeat("Optional<", 10000), "nest deeper than 100"},
		{"(" + strings.Repeat("x", maxTextLen), "the limit is"},
	} {
		sig, err := ParseSignature(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s: %v, error %v, want %q", c.text, sig, err, c.want)
		}
	}
}

func FuzzParseSignature(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		f.Add(randomSignature(r, 3).String())
	}
	f.Add("(int, ffi.Map<ffi.String, ffi.Array<int>>) -> (float) -> None")
	f.Fuzz(func(t *testing.T, text string) {
		sig, err := ParseSignature(text)
		if err != nil || sig == nil {
			return
		}
		canonical := sig.String()
		back, err := ParseSignature(canonical)
		if err != nil {
			t.Fatalf("%q: %v", canonical, err)
		}
		if !reflect.DeepEqual(back, sig) || back.String() != canonical {
			t.Fatalf("%q read back as %q", canonical, back)
		}
	})
}
