package runtimetest

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// The little language of testdata/program.cc.

var (
	programOnce nativetest.Once
	program     = bindrt.Library{Files: []bindrt.File{{Name: "libprogram.so"}}}
	typeNode    = bindrt.Type{Library: &program, Key: "program.Node"}
	typeVar     = bindrt.Type{Library: &program, Key: "program.Var"}
	typeFunc    = bindrt.Type{Library: &program, Key: "program.Func"}
	typeLink    = bindrt.Type{Library: &program, Key: "program.Link"}
	varName     = &bindrt.Field{Owner: &typeVar, Name: "name"}
	linkValue   = &bindrt.Field{Owner: &typeLink, Name: "value", Sig: "int"}
	linkNext    = &bindrt.Field{Owner: &typeLink, Name: "next"}
)

type nodeBase = Node

// Node is an object of type program.Node, from which the other types of programs derive.
type Node struct {
	_ [0]*Node // see Object
	objectBase
}

// Var is an object of type program.Var, a variable.
type Var struct{ nodeBase }

// Func is an object of type program.Func, a function.
type Func struct{ nodeBase }

// Link is an object of type program.Link, an item of a linked list.
type Link struct{ nodeBase }

// TVMFFIType returns the type program.Node.
func (*Node) TVMFFIType(*Node) *bindrt.Type { return &typeNode }

// TVMFFIType returns the type program.Var.
func (*Var) TVMFFIType(*Var) *bindrt.Type { return &typeVar }

// TVMFFIType returns the type program.Func.
func (*Func) TVMFFIType(*Func) *bindrt.Type { return &typeFunc }

// TVMFFIType returns the type program.Link.
func (*Link) TVMFFIType(*Link) *bindrt.Type { return &typeLink }

// Name returns the field name.
func (x *Var) Name() string { return varName.Text(bindrt.Ref(x)) }

// Value returns the field value.
func (x *Link) Value() int64 { return linkValue.Int(bindrt.Ref(x)) }

// Next returns the field next. The caller releases it.
func (x *Link) Next() *Link {
	return bindrt.ObjectField[Link](linkNext, bindrt.Ref(x), &typeLink)
}

// SetNext sets the field next.
func (x *Link) SetNext(next tvmffi.ObjectRef) error {
	return bindrt.SetField(linkNext, bindrt.Ref(x), next)
}

// LoadProgram is [Balanced], loads the library of testdata/program.cc, and checks that
// the test leaves no more of its objects behind than it found.
func LoadProgram(t testing.TB) {
	t.Helper()
	Balanced(t)
	programOnce.Do(t, func() {
		if err := bindrt.Load(&program, tvmffi.WithFile(nativetest.Build(t, "program"))); err != nil {
			t.Fatal(err)
		}
	})
	live := Get[int64](t, "program.live")
	t.Cleanup(func() {
		t.Helper()
		Collect(t, "nodes of a program", func() bool { return Get[int64](t, "program.live") <= live })
	})
}

// NewVar makes a variable. The caller releases it.
func NewVar(t testing.TB, name string) *Var {
	t.Helper()
	return Get[*Var](t, "program.var", name)
}

// NewFunc makes a function. The caller releases it.
func NewFunc(t testing.TB, params, body []any) *Func {
	t.Helper()
	return Get[*Func](t, "program.func", params, body, nil)
}

// NewChain makes a linked list of n links with the values n-1 to 0 and returns the first
// link. The caller releases it.
func NewChain(t testing.TB, n int) *Link {
	t.Helper()
	return Get[*Link](t, "program.chain", n)
}
