package main

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/schema"
)

// TestUnnamed counts parameters of bound libraries, without the objects of methods.
func TestUnnamed(t *testing.T) {
	number := schema.TypeSchema{Name: "int"}
	signature := func(names ...string) *schema.Signature {
		s := &schema.Signature{Return: number}
		for _, name := range names {
			s.Params = append(s.Params, schema.Param{Name: name, Type: number})
		}
		return s
	}
	s := schema.Schema{
		Libraries: []schema.Library{{File: "core.so", Role: schema.RoleCore}, {File: "kernels.so", Role: schema.RoleBound}},
		Functions: []schema.Function{
			{Name: "ffi.f", Library: "core.so", Signature: signature("")},
			{Name: "k", Library: "kernels.so", Signature: signature("x", "y")},
			{Name: "packed", Library: "kernels.so"},
		},
	}
	if none, all := unnamed(s); none != 0 || all != 2 {
		t.Errorf("%d of %d parameters have no names, want 0 of 2", none, all)
	}
	s.Types = []schema.Type{{Key: "k.T", Library: "kernels.so", Methods: []schema.Method{
		{Name: "m", Signature: signature("", "")}, {Name: "s", Signature: signature("a", ""), Flags: schema.FlagIsStaticMethod},
	}}}
	if none, all := unnamed(s); none != 2 || all != 5 {
		t.Errorf("%d of %d parameters have no names, want 2 of 5", none, all)
	}
}

// TestShown: the example compares a result with what fmt.Println prints, or not at all.
func TestShown(t *testing.T) {
	for result, want := range map[string]string{
		`true`: "true", `7`: "7", `-2.5`: "-2.5", `1000000`: "", `0.3333333333333333`: "", `"a b"`: "a b",
		`"a\nb"`: "", `" a"`: "", `"a\u0000"`: "", `"a\ufeffb"`: "", `""`: "", `[1]`: "", `null`: "", `<object>`: "",
	} {
		if got := shown([]byte(result)); got != want {
			t.Errorf("%s: %q, want %q", result, got, want)
		}
	}
}
