package tvmffi_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/nativetest"
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

type (
	Node     struct{ objectBase }
	nodeBase = Node
	Var      struct{ nodeBase }
	Func     struct{ nodeBase }
	Link     struct{ nodeBase }
)

func (*Node) TVMFFIType(*Node) *bindrt.Type { return &typeNode }
func (*Var) TVMFFIType(*Var) *bindrt.Type   { return &typeVar }
func (*Func) TVMFFIType(*Func) *bindrt.Type { return &typeFunc }
func (*Link) TVMFFIType(*Link) *bindrt.Type { return &typeLink }

func (x *Var) Name() string { return varName.Text(bindrt.Ref(x)) }

func (x *Link) Value() int64 { return linkValue.Int(bindrt.Ref(x)) }

func (x *Link) Next() *Link {
	return bindrt.ObjectField[Link](linkNext, bindrt.Ref(x), &typeLink)
}

func (x *Link) SetNext(next *Link) error {
	return bindrt.SetField[tvmffi.ObjectRef](linkNext, bindrt.Ref(x), next)
}

// loadProgram loads the library of this file, and balances what it counts.
func loadProgram(t testing.TB) {
	t.Helper()
	balanced(t)
	programOnce.Do(t, func() {
		if err := bindrt.Load(&program, tvmffi.WithFile(nativetest.Build(t, "program"))); err != nil {
			t.Fatal(err)
		}
	})
	live := get[int64](t, "program.live")
	t.Cleanup(func() {
		t.Helper()
		collect(t, "nodes of a program", func() bool { return get[int64](t, "program.live") <= live })
	})
}

func newVar(t testing.TB, name string) *Var {
	t.Helper()
	return get[*Var](t, "program.var", name)
}

func newFunc(t testing.TB, params, body []any) *Func {
	t.Helper()
	return get[*Func](t, "program.func", params, body, nil)
}

func chain(t testing.TB, n int) *Link {
	t.Helper()
	return get[*Link](t, "program.chain", n)
}

// older reports whether the loaded library is older than a version, and then wants
// err to say so.
func older(t testing.TB, version string, err error) bool {
	t.Helper()
	loaded := nativetest.Version()
	minor := func(v string) int {
		n := 0
		for _, c := range strings.Split(v, ".")[2] {
			n = 10*n + int(c-'0')
		}
		return n
	}
	if minor(loaded) >= minor(version) {
		return false
	}
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "this needs "+version+" or newer") {
		t.Errorf("with %s: %v", loaded, err)
	}
	return true
}
