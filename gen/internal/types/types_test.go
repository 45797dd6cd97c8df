package types

import (
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/gen/config"
	"github.com/tvmffi-go/tvmffi/gen/internal/classify"
	"github.com/tvmffi-go/tvmffi/gen/internal/place"
	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/schema"
)

// callOf plans a function with a signature, beside two object types.
func callOf(t *testing.T, text string) (*plan.Call, *Types, error) {
	t.Helper()
	sig, err := schema.ParseSignature(text)
	if err != nil {
		t.Fatal(err)
	}
	object := func(key string) schema.Type { return schema.Type{Key: key, Ancestors: []string{plan.RootKey}} }
	items, err := classify.Select(schema.Schema{Types: []schema.Type{{Key: plan.RootKey}, object("garden.Rose"), object("garden.Tulip")}},
		config.Config{Package: "garden", ImportPath: "example.com/garden", Choices: config.Choices{Prefixes: []string{"garden"}}})
	if err != nil {
		t.Fatal(err)
	}
	places := place.New(items)
	types := New(places)
	c, err := types.Call(places.Packages[0], sig, false)
	return c, types, err
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

// TestAlternatives: two parts of a variant that have one Go type are one alternative. Each has a word.
func TestAlternatives(t *testing.T) {
	for text, want := range map[string]string{
		"int, ffi.String":                                             "Int String",
		"ffi.Tensor, DLTensor*, int":                                  "Tensor Int",
		"(int) -> None, (float) -> None":                              "Func Func",
		"(int) -> None, (int) -> int":                                 "Func Func",
		"(int) -> int, (int) -> float":                                "Func Func",
		"(int) -> None, (int, int) -> None":                           "Func Func",
		"(ffi.Tensor) -> None, (DLTensor*) -> None":                   "Func",
		"() -> ffi.Tensor, () -> DLTensor*, ffi.Tensor":               "Func Tensor",
		"ffi.Function, (int) -> None":                                 "Function Func",
		"ffi.Array<ffi.Tensor>, ffi.Array<DLTensor*>, ffi.Array<int>": "TensorArray IntArray",
		"ffi.Map<int, ffi.Tensor>, ffi.Map<int, DLTensor*>, ffi.Map<ffi.String, ffi.Tensor>": "IntTensorMap StringTensorMap",
		"Tuple<int, ffi.Tensor>, Tuple<int, DLTensor*>, Tuple<int, int>, Tuple<int>":         "IntTensorTuple IntTuple2 IntTuple",
		"garden.Rose, garden.Tulip":                                                 " ",
		"Tuple<garden.Rose>, Tuple<garden.Tulip>":                                   "Tuple Tuple",
		"ffi.Array<(int) -> None>, ffi.Array<(float) -> None>":                      "FuncArray FuncArray",
		"ffi.Array<Optional<int>>, ffi.Array<Any>":                                  "OptionalIntArray Array",
		"Tuple<int, int>, ffi.Map<ffi.String, ffi.Array<ffi.Map<ffi.String, int>>>": "IntTuple2 Map",
	} {
		_, types, err := callOf(t, "(Variant<"+text+">) -> None")
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		for v := range types.parts {
			if got := types.Words(v); len(v.Alternatives) != len(got) || strings.Join(got, " ") != want {
				t.Errorf("%s: %d alternatives, %q, want %s", text, len(v.Alternatives), got, want)
			}
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
