package tvmffi_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// TestOverloads calls each overload of a method by its signature.
func TestOverloads(t *testing.T) {
	if v := nativetest.Version(); v == "0.1.9" || v == "0.1.12" {
		t.Skipf("the headers of %s register the first overload alone", v)
	}
	runtimetest.Load(t)
	if err := tvmffi.LoadLibrary(nativetest.Build(t, "overloads")); err != nil {
		t.Fatal(err)
	}
	box := &bindrt.Type{Key: "over.Box"}
	method := func(name, sig string) *bindrt.Func { return &bindrt.Func{Owner: box, Name: name, Sig: sig} }
	var c bindrt.Call16
	c.Begin(method("__ffi_init__", "(ffi.String, ffi.String) -> ffi.Object"), 2)
	c.String(0, "ab")
	c.String(1, "c")
	x, err := bindrt.DoObject[tvmffi.Object](&c.Call, box)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	var byIndex, byName bindrt.Call8
	byIndex.Begin(method("at", "(over.Box, int) -> int"), 2)
	byIndex.Self(0, bindrt.Ref(x))
	byIndex.Int(1, 4)
	if n, err := byIndex.DoInt(); n != 7 || err != nil {
		t.Errorf("at with an int returns %d, %v, want 7", n, err)
	}
	byName.Begin(method("at", "(over.Box, ffi.String) -> ffi.String"), 2)
	byName.Self(0, bindrt.Ref(x))
	byName.String(1, "lid")
	if s, err := byName.DoString(); s != "lid!" || err != nil {
		t.Errorf("at with a string returns %q, %v, want lid!", s, err)
	}
	var none bindrt.Call8
	none.Begin(method("at", "(over.Box, float) -> int"), 2)
	none.Self(0, bindrt.Ref(x))
	none.Float(1, 1)
	runtimetest.WantError(t, none.Do(), tvmffi.ErrSchema, "over.Box.at changed since the bindings were generated: they expect (over.Box, float) -> int, "+
		"the loaded library has (over.Box, int) -> int and (over.Box, ffi.String) -> ffi.String; run go generate")
}
