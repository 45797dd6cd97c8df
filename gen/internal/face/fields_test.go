package face_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/gen/internal/source"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// TestOf_fields has a class with fields of each sort, and some that are not for others: they
// end neither the list nor each other.
func TestOf_fields(t *testing.T) {
	dir := testFolder(t)
	const text = `package shop

type Inner struct {
	Left int64 ` + "`ffi:\"left\"`" + `
	Kept int64 ` + "`ffi:\"-\"`" + `
}

//tvmffi:object
type Mixed struct {
	Inner
	Plain  int8 ` + "`ffi:\"plain\"`" + `
	Hidden int64 ` + "`ffi:\"-\"`" + `
	Out    int64  ` + "`ffi:\"-\"`" + `
	Fixed  uint16 ` + "`ffi:\"fixed,readonly\" doc:\"does not change\"`" + `
	Named  bool   ` + "`ffi:\"named,kwonly,default=true\"`" + `
	Off    bool   ` + "`ffi:\"off,noinit,default=F\"`" + `
	Hex    uint64 ` + "`ffi:\"hex,default=0x7fff_ffff_ffff_ffff\"`" + `
	Half   float32 ` + "`ffi:\"half,default=5e-1\"`" + `
	Whole  float64 ` + "`ffi:\"whole,default=2\"`" + `
	Least  float64 ` + "`ffi:\"least,default=-inf\"`" + `
}
`
	if err := os.WriteFile(filepath.Join(dir, "shop.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := source.Read(".", "./"+dir, func([]byte) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range face.Of(p, "shop", "my.").Classes[0].Fields {
		value := ""
		if f.HasDefault {
			value = f.Default.Text
		}
		got = append(got, fmt.Sprintf("%s %s %d readonly=%t kwonly=%t noinit=%t default=%q doc=%q", f.Name, f.GoName, f.Type.Bits, f.ReadOnly, f.KwOnly, f.NoInit, value, f.Doc))
	}
	want := []string{
		`left Left 64 readonly=false kwonly=false noinit=false default="" doc=""`,
		`plain Plain 8 readonly=false kwonly=false noinit=false default="" doc=""`,
		`fixed Fixed 16 readonly=true kwonly=false noinit=false default="" doc="does not change"`,
		`named Named 0 readonly=false kwonly=true noinit=false default="true" doc=""`,
		`off Off 0 readonly=false kwonly=false noinit=true default="false" doc=""`,
		`hex Hex 64 readonly=false kwonly=false noinit=false default="9223372036854775807" doc=""`,
		`half Half 32 readonly=false kwonly=false noinit=false default="0.5" doc=""`,
		`whole Whole 64 readonly=false kwonly=false noinit=false default="2.0" doc=""`,
		`least Least 64 readonly=false kwonly=false noinit=false default="-Inf" doc=""`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// TestOf_structs has structs that cross as maps, one that refers to itself, and an object of
// another library, which crosses as one.
func TestOf_structs(t *testing.T) {
	dir := testFolder(t)
	const text = `package shop

import (
	"math/big"

	"github.com/tvmffi-go/tvmffi/generated/testing"
)

type Leaf struct {
	Next *Leaf ` + "`ffi:\"next\"`" + `
}

// Int has the name of a type of math/big.
type Int int8

//tvmffi:export
func Take(leaf Leaf, leaves []*Leaf, pair *testing.TestIntPair, small Int, large *big.Int) {}
`
	if err := os.WriteFile(filepath.Join(dir, "shop.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := source.Read(".", "./"+dir, func([]byte) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	params := face.Of(p, "shop", "my.").Functions[0].Params
	leaf, leaves, pair := params[0].Type, params[1].Type, params[2].Type
	if leaf.Kind != crossing.KindRecord || leaf.Record.Name != "Leaf" || len(leaf.Record.Fields) != 1 {
		t.Fatalf("the struct is %+v", leaf)
	}
	if next := leaf.Record.Fields[0].Type; next.Kind != crossing.KindOptional || next.Elems[0].Record != leaf.Record {
		t.Errorf("the field of the same struct is %+v", next)
	}
	if e := leaves.Elems[0]; leaves.Kind != crossing.KindSequence || e.Kind != crossing.KindOptional || e.Elems[0].Record != leaf.Record {
		t.Errorf("the slice is %+v of %+v", leaves, e)
	}
	if small, large := params[3].Type, params[4].Type; small.Kind != crossing.KindInt || small.Bits != 8 || large.Kind != crossing.KindBigInt {
		t.Errorf("the numbers are %+v and %+v", small, large)
	}
	if pair.Kind != crossing.KindObject {
		t.Errorf("the object of another library is %+v", pair)
	}
}
