package face_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/gen/internal/source"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// TestOf reads a small package and checks what the writers rely on.
func TestOf(t *testing.T) {
	dir := testFolder(t)
	const text = `// Package shop sells.
package shop

import "iter"

// Color is a color.
type Color int

const (
	ColorRed  Color = iota // like blood
	ColorBlue
)

//tvmffi:object
type Child struct {
	Base
	Shade Color ` + "`ffi:\"shade,default=1\"`" + `
}

//tvmffi:object
type Base struct {
	ID *int64 ` + "`ffi:\"id,optional,kwonly\"`" + `
}

// Len counts.
//
//tvmffi:method
func (b Base) Len() int { return 0 }

// Till has a lock.
//
//tvmffi:object opaque
type Till struct {
	inner chan int
	Drawer
}

//tvmffi:object opaque
type Drawer struct{ coins map[int]int }

// NewTill makes a till.
//
//tvmffi:constructor color=1
func NewTill(name string, color Color) (*Till, error) { return nil, nil }

//tvmffi:method
func (x *Till) Add(other []*Till) *Till { return x }

//tvmffi:property
func (x *Till) Sum() (float64, error) { return 0, nil }

//tvmffi:method
func (x *Till) Close() error { return nil }

// Paint paints.
//
//tvmffi:export
func Paint(c Color, _ map[string][]float32, data []byte, f func(int8) (string, error)) (Base, error) {
	return Base{}, nil
}

// Mix mixes.
//
//tvmffi:export by=0.5 into=nil on=nil lend
func Mix(shades []float32, by float64, into *Base, on func() (int8, bool, error), more ...Color) (mixed []uint8, names iter.Seq2[string, int8], err error) {
	return nil, nil, nil
}
`
	if err := os.WriteFile(filepath.Join(dir, "shop.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := source.Read(".", "./"+dir, func([]byte) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	l := face.Of(p, "shop", "my.")
	if l.Doc != "Package shop sells." || len(l.Classes) != 4 || len(l.Functions) != 2 || len(l.Enums) != 1 {
		t.Fatalf("library %+v", l)
	}
	base, child := l.Classes[0], l.Classes[1]
	if base.Name != "Base" || child.Parent != base || child.Key != "my.Child" || base.Len == nil || base.Len != base.Methods[0] {
		t.Errorf("classes %+v, %+v", base, child)
	}
	id := base.Fields[0]
	if id.Type.Kind != crossing.KindOptional || id.Type.Elems[0].Bits != 64 || !id.KwOnly || !id.HasDefault || id.Default.Kind != crossing.KindNone {
		t.Errorf("field id is %+v", id)
	}
	shade := child.Fields[0]
	if len(child.Fields) != 1 || shade.Type.Enum != l.Enums[0] || *shade.Default != (face.Value{Kind: crossing.KindInt, Text: "1"}) {
		t.Errorf("fields of Child: %+v", child.Fields)
	}
	color := l.Enums[0]
	if color.Doc != "Color is a color." || len(color.Members) != 2 || color.Members[0].Name != "RED" || color.Members[0].Doc != "like blood" || color.Members[1].Value.Text != "1" {
		t.Errorf("enum %+v", color)
	}
	f := l.Functions[1]
	if f.Name != "paint" || f.Symbol != "paint" || f.Global != "my.paint" || !f.Fails || len(f.Params) != 4 || f.Params[1].Name != "arg1" {
		t.Fatalf("function %+v", f)
	}
	kinds := []crossing.Kind{crossing.KindEnum, crossing.KindMapping, crossing.KindBytes, crossing.KindCallable}
	for i, k := range kinds {
		if f.Params[i].Type.Kind != k {
			t.Errorf("parameter %d has kind %d, want %d", i, f.Params[i].Type.Kind, k)
		}
	}
	if c := f.Params[3].Type.Elems; c[0].Kind != crossing.KindString || c[1].Bits != 8 {
		t.Errorf("callable %+v", c)
	}
	checkOpaque(t, l.Classes[2], l.Classes[3])
	if r := f.Results; len(r) != 1 || r[0].Type.Class != base {
		t.Errorf("results %+v", r)
	}
	checkMix(t, l.Functions[0])
}

// TestOf_textConstant: a default may name a text constant of the parameter's type. A text that is a value stays.
func TestOf_textConstant(t *testing.T) {
	dir := testFolder(t)
	const text = `package shop

type Sheen string

const (
	Matt  Sheen = "matt"
	Gloss Sheen = "Matt"
)

const matt = "shiny"

//tvmffi:export a=Gloss b=Matt c=Gloss d=matt
func Polish(a, b Sheen, c, d string) {}
`
	if err := os.WriteFile(filepath.Join(dir, "shop.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := source.Read(".", "./"+dir, func([]byte) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"Matt", "Matt", "Gloss", "matt"} {
		if x := face.Of(p, "shop", "my.").Functions[0].Params[i].Default; x.Text != want {
			t.Errorf("default %d is %q, want %q", i, x.Text, want)
		}
	}
}

// TestOf_generic: the type arguments of a type of the package are not what a value is made of, and an alias is the type for which it stands.
func TestOf_generic(t *testing.T) {
	dir := testFolder(t)
	const text = `package shop

type (
	Label[T any] []byte
	Thing[T any] interface{}
	None         = struct{}
	Names[T any] []T
)

//tvmffi:export
func Stick(a Label[int], b Thing[int], c map[string]None, d Names[int8]) {}
`
	if err := os.WriteFile(filepath.Join(dir, "shop.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := source.Read(".", "./"+dir, func([]byte) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	params := face.Of(p, "shop", "my.").Functions[0].Params
	for i, want := range []struct {
		kind  crossing.Kind
		elems int
	}{{crossing.KindBytes, 0}, {crossing.KindAny, 0}, {crossing.KindSet, 1}, {crossing.KindSequence, 1}} {
		if got := params[i].Type; got.Kind != want.kind || len(got.Elems) != want.elems {
			t.Errorf("parameter %d is %v of %d parts, want %v of %d", i, got.Kind, len(got.Elems), want.kind, want.elems)
		}
	}
}

// checkMix checks defaults, a variadic parameter, lent slices and several results.
func checkMix(t *testing.T, f *face.Function) {
	t.Helper()
	if len(f.Params) != 5 || len(f.Results) != 2 || !f.Fails || f.Packed {
		t.Fatalf("function %+v", f)
	}
	lent, by, into, on, more := f.Params[0], f.Params[1], f.Params[2], f.Params[3], f.Params[4]
	if lent.Type.Kind != crossing.KindTensor || !lent.Type.Lent || lent.Type.Elems[0].Bits != 32 || lent.Default != nil {
		t.Errorf("shades %+v", lent)
	}
	if *by.Default != (face.Value{Kind: crossing.KindFloat, Text: "0.5"}) {
		t.Errorf("by %+v", by)
	}
	none := face.Value{Kind: crossing.KindNone}
	if into.Type.Kind != crossing.KindOptional || *into.Default != none || on.Type.Kind != crossing.KindOptional || on.Type.Elems[0].Kind != crossing.KindCallable || *on.Default != none || len(on.Type.Elems[0].Elems[0].Elems) != 2 {
		t.Errorf("into %+v, on %+v", into, on)
	}
	if !more.Variadic || more.Type.Kind != crossing.KindEnum || more.Default != nil {
		t.Errorf("more %+v", more)
	}
	mixed, names := f.Results[0], f.Results[1]
	if mixed.Name != "mixed" || !mixed.Type.Lent || mixed.Type.Elems[0].Bits != 8 || !mixed.Type.Elems[0].Unsigned {
		t.Errorf("mixed %+v", mixed)
	}
	if e := names.Type; e.Kind != crossing.KindIterator || e.Elems[0].Kind != crossing.KindTuple || e.Elems[0].Elems[1].Bits != 8 {
		t.Errorf("names %+v", names.Type)
	}
}

// checkOpaque checks the classes of opaque structs.
func checkOpaque(t *testing.T, drawer, till *face.Class) {
	t.Helper()
	if drawer.Name != "Drawer" || till.Parent != drawer || !till.Opaque || len(till.Fields) != 0 || till.Key != "my.Till" {
		t.Errorf("classes %+v, %+v", drawer, till)
	}
	c := till.Constructor
	if c == nil || c.Doc != "NewTill makes a till." || len(c.Params) != 2 || c.Results[0].Type.Class != till || !c.Fails ||
		c.Params[0].Default != nil || *c.Params[1].Default != (face.Value{Kind: crossing.KindInt, Text: "1"}) {
		t.Errorf("constructor %+v", c)
	}
	if len(till.Methods) != 2 || till.Close != till.Methods[1] || len(till.Properties) != 1 || till.Properties[0].Results[0].Type.Kind != crossing.KindFloat {
		t.Errorf("members %+v", till)
	}
	list := till.Methods[0].Params[0].Type
	if list.Kind != crossing.KindSequence || list.Elems[0].Kind != crossing.KindClass || list.Elems[0].Class != till || len(till.Methods[0].Params) != 1 {
		t.Errorf("parameter %+v", list)
	}
}
