package schema

import (
	"encoding/json"
	"strings"
	"testing"
)

// described makes a schema of lines: "f name: int, garden.Rose" is a function with parameters,
// "p name" a packed one, "t name: int, garden.Rose" a type with fields.
func described(lines string) Schema {
	var s Schema
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		head, rest, _ := strings.Cut(line, ": ")
		kind, name, _ := strings.Cut(strings.TrimSpace(head), " ")
		var types []TypeSchema
		for _, t := range strings.Split(rest, ", ") {
			if t != "" {
				types = append(types, TypeSchema{Name: t})
			}
		}
		switch kind {
		case "t":
			typ := Type{Key: name, Ancestors: []string{"ffi.Object"}}
			for i, t := range types {
				typ.Fields = append(typ.Fields, Field{Name: string(rune('a' + i)), Type: t})
			}
			s.Types = append(s.Types, typ)
		default:
			f := Function{Name: name, Source: SourceGlobal}
			if kind == "f" {
				f.Signature = &Signature{Return: TypeSchema{Name: "None"}}
				for _, t := range types {
					f.Signature.Params = append(f.Signature.Params, Param{Type: t})
				}
			}
			s.Functions = append(s.Functions, f)
		}
	}
	return s
}

var moveTests = []struct{ name, old, new, want string }{
	{"a namespace, and what names its types", `
t garden.Plant
t garden.Bed: garden.Plant
f garden.water: garden.Plant, int
f garden.Plant
p garden.any
f house.show: garden.Bed
t house.Room: garden.Bed
t house.Vase: garden.Bed
f house.stay: int`, `
t yard.Plant
t yard.Bed: yard.Plant
f yard.water: yard.Plant, int
f yard.Plant
p yard.any
f house.show: yard.Bed
t house.Room: yard.Bed
t house.Vase: yard.Bed, int
f house.stay: int`, `
breaking: moved garden.* -> yard.* (3 functions, 2 types): Plant, any, water, Bed
breaking: changed only by types that moved (1 function, 2 fields): house.Room.a, house.Vase.a, house.show
additive: field house.Vase.b added: int`},
	{"to several namespaces, and below", `
f a.one: int
f a.two
f a.three`, `
f b.one: int
f a.c.two
f three`, `
breaking: moved a.* -> * (1 function): three
breaking: moved a.* -> a.c.* (1 function): two
breaking: moved a.* -> b.* (1 function): one`},
	{"many items", "f a.a\nf a.b\nf a.c\nf a.d\nf a.e", "f b.a\nf b.b\nf b.c\nf b.d\nf b.e", `
breaking: moved a.* -> b.* (5 functions): a, b, c, d, ...`},
	{"two that fit", `
f a.f: int
t a.T`, `
f b.f: int
f c.f: int
t b.T
t c.T`, `
breaking: type a.T removed
breaking: function a.f removed: it was (int) -> None
additive: type b.T added
additive: function b.f added: (int) -> None
additive: type c.T added
additive: function c.f added: (int) -> None`},
	{"another signature", "f a.f: int", "f b.f: float", `
breaking: function a.f removed: it was (int) -> None
additive: function b.f added: (float) -> None`},
	{"another type, and what names it", `
t a.T: int
t a.U: a.T
f a.f: a.U`, `
t b.T: float
t b.U: b.T
f b.f: b.U`, `
breaking: type a.T removed
breaking: type a.U removed
breaking: function a.f removed: it was (a.U) -> None
additive: type b.T added
additive: type b.U added
additive: function b.f added: (b.U) -> None`},
	{"packed functions alone", "p a.f", "p b.f", `
breaking: function a.f removed: it was packed
additive: function b.f added: packed`},
	{"the old text of what changed in more", `
t a.T
f x.f: a.T`, `
t b.T
f x.f: b.T, int`, `
breaking: moved a.* -> b.* (1 type): T
breaking: function x.f changed: signature (b.T, int) -> None, was (a.T) -> None`},
}

func TestDiff_moved(t *testing.T) {
	for _, c := range moveTests {
		if got := lines(Diff(described(c.old), described(c.new))); got != strings.TrimSpace(c.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
	text, err := json.Marshal(Diff(described("f a.f: int\nt a.T"), described("f b.f: int\nt b.T")))
	want := `[{"breaking":true,"action":"moved","kind":"namespace","item":"a.*","old":"a.*","new":"b.*","items":["function f","type T"]}]`
	if err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
}
