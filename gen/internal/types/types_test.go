package types

import (
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/gen/internal/classify"
	"github.com/tvmffi-go/tvmffi/gen/internal/place"
	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/schema"
)

// callOf plans a function with a signature, beside two object types.
func callOf(t *testing.T, text string) (*plan.Call, *plan.Package, error) {
	t.Helper()
	sig, err := schema.ParseSignature(text)
	if err != nil {
		t.Fatal(err)
	}
	object := func(key string) schema.Type { return schema.Type{Key: key, Ancestors: []string{plan.RootKey}} }
	items, err := classify.Select(schema.Schema{Types: []schema.Type{{Key: plan.RootKey}, object("garden.Rose"), object("garden.Tulip")}},
		plan.Config{Package: "garden", ImportPath: "example.com/garden", Prefixes: []string{"garden"}, Split: true})
	if err != nil {
		t.Fatal(err)
	}
	places := place.New(items)
	c, err := New(places).Call(places.Packages[0], sig, false)
	return c, places.Packages[0], err
}

// TestTypesWithoutGoType: the error for a function with a part that has no Go type names the part.
func TestTypesWithoutGoType(t *testing.T) {
	const nine = "int, int, int, int, int, int, int, int, int"
	for text, reason := range map[string]string{
		"(foo) -> None":                                    "foo has no Go type",
		"() -> foo":                                        "foo has no Go type",
		"(() -> foo) -> None":                              "foo has no Go type",
		"((foo) -> None) -> None":                          "foo has no Go type",
		"(Optional<foo>) -> None":                          "foo has no Go type",
		"(Variant<int, foo>) -> None":                      "foo has no Go type",
		"(ffi.Map<ffi.String, foo>) -> None":               "foo has no Go type",
		"(garden.Rose<int>) -> None":                       "garden.Rose<int> is a template",
		"(None) -> None":                                   "parameter 0 is None",
		"(int, (int, None) -> int) -> None":                "parameter 1 is None",
		"(ffi.Array<None>) -> None":                        "holds None",
		"(Tuple<int, None>) -> None":                       "holds None",
		"(Tuple<" + nine + ">) -> None":                    "has 9 parts; tuples in Go have at most 8",
		"(Tuple<" + nine[len("int, "):] + ">) -> None":     "",
		"(ffi.Map<ffi.Bytes, int>) -> None":                "has keys that Go cannot compare",
		"(ffi.Dict<ffi.Bytes, int>) -> None":               "has keys that Go cannot compare",
		"(ffi.Array<ffi.Bytes>) -> None":                   "",
		"(ffi.Map<() -> int, int>) -> None":                "has keys that Go cannot compare",
		"(ffi.Map<Tuple<int, ffi.Bytes>, int>) -> None":    "has keys that Go cannot compare",
		"(ffi.Map<Tuple<int, ffi.String>, int>) -> None":   "",
		"(ffi.Map<ffi.Function, int>) -> None":             "",
		"(ffi.Map<Optional<int>, ffi.Bytes>) -> None":      "",
		"(Variant<None, None>) -> None":                    "parameter 0 is None",
		"(Variant<None, int>, Optional<None>) -> None":     "parameter 1 is None",
		"(Variant<foo.bar, Any>, ObjectRValueRef) -> None": "",
		"(ObjectRValueRef<foo>) -> None":                   "foo has no Go type",
	} {
		_, _, err := callOf(t, text)
		if reason == "" && err != nil || reason != "" && (err == nil || !strings.Contains(err.Error(), reason)) {
			t.Errorf("%s: %v, want %q", text, err, reason)
		}
	}
}

// TestAlternatives: two parts of a variant that have one Go type are one alternative.
func TestAlternatives(t *testing.T) {
	for text, want := range map[string]int{
		"int, ffi.String":                                             2,
		"ffi.Tensor, DLTensor*, int":                                  2,
		"(int) -> None, (float) -> None":                              2,
		"(int) -> None, (int) -> int":                                 2,
		"(int) -> int, (int) -> float":                                2,
		"(int) -> None, (int, int) -> None":                           2,
		"(ffi.Tensor) -> None, (DLTensor*) -> None":                   1,
		"() -> ffi.Tensor, () -> DLTensor*, ffi.Tensor":               2,
		"ffi.Function, (int) -> None":                                 2,
		"ffi.Array<ffi.Tensor>, ffi.Array<DLTensor*>, ffi.Array<int>": 2,
		"ffi.Map<int, ffi.Tensor>, ffi.Map<int, DLTensor*>, ffi.Map<ffi.String, ffi.Tensor>": 2,
		"Tuple<int, ffi.Tensor>, Tuple<int, DLTensor*>, Tuple<int, int>, Tuple<int>":         3,
		"garden.Rose, garden.Tulip":                            2,
		"Tuple<garden.Rose>, Tuple<garden.Tulip>":              2,
		"ffi.Array<(int) -> None>, ffi.Array<(float) -> None>": 2,
	} {
		_, pkg, err := callOf(t, "(Variant<"+text+">) -> None")
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		n := 0
		for _, v := range pkg.Variants {
			n += len(v.Alternatives)
		}
		if n != want {
			t.Errorf("%s: %d alternatives, want %d", text, n, want)
		}
	}
}

// TestOptionalTypes: None is nil in Go, so that a type without nil gets a pointer.
func TestOptionalTypes(t *testing.T) {
	for text, pointer := range map[string]bool{
		"bool": true, "int": true, "float": true, "ffi.String": true, "const char*": true, "DataType": true, "Device": true, "void*": true,
		"Variant<int, ffi.String>": true, "Tuple<int, ffi.String>": true,
		"ffi.Bytes": false, "Any": false, "() -> int": false, "ffi.Object": false, "garden.Rose": false,
	} {
		c, _, err := callOf(t, "(Optional<"+text+">) -> None")
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Params[0].Type.Elem != nil; got != pointer {
			t.Errorf("Optional<%s> has a pointer: %t, want %t", text, got, pointer)
		}
	}
}

func TestFrames(t *testing.T) {
	for units, want := range map[int]string{0: "Call1", 1: "Call1", 5: "Call6", 9: "Call12", 32: "Call32", 33: "CallN"} {
		if got := frame(units); got != want {
			t.Errorf("frame(%d) = %s, want %s", units, got, want)
		}
	}
}
