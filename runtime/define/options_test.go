package define_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/define"
)

type baseObject = tvmffi.Object

// Base is define.Base of C++, as generated code declares it.
type Base struct{ baseObject }

var typeBase = bindrt.Type{Key: "define.Base"}

func (*Base) TVMFFIType(*Base) *bindrt.Type { return &typeBase }

func TestParent(t *testing.T) {
	runtimetest.LoadDefine(t)
	type child struct {
		More int64 `ffi:"more"`
	}
	typ := define.Object[child]("gotest.OptionParent", define.Parent[*Base]())
	o, err := typ.New(child{More: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Release()
	if v := runtimetest.MustCall(t, "define.is_base", o).Value(); v != true {
		t.Errorf("define.is_base returned %v, want true", v)
	}
	if base, ok := tvmffi.Cast[*Base](o); !ok || !tvmffi.Same(base, o) {
		t.Errorf("Cast to the parent returned %v, %v, want the object itself", base, ok)
	}
}

func TestFrozen(t *testing.T) {
	runtimetest.LoadDefine(t)
	type frozen struct {
		A int64  `ffi:"a"`
		B string `ffi:"b"`
	}
	typ := define.Object[frozen]("gotest.OptionFrozen", define.Frozen())
	o, err := typ.New(frozen{A: 1, B: "a string"})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Release()
	for name, value := range map[string]any{"a": 2, "b": "another"} {
		if v := runtimetest.MustCall(t, "define.get", o, name).Value(); v != map[string]any{"a": int64(1), "b": "a string"}[name] {
			t.Errorf("field %s is %v, want what New was given", name, v)
		}
		if err := setField(o, name, value); err == nil {
			t.Errorf("field %s was set, want an error: all fields are read-only", name)
		} else {
			runtimetest.WantError(t, err, tvmffi.ErrAttribute, "read-only", name)
		}
	}
	// The same struct without the option can be written.
	type thawed frozen
	p, err := define.Object[thawed]("gotest.OptionThawed").New(thawed{A: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	if err := setField(p, "a", 2); err != nil || p.Value().A != 2 {
		t.Errorf("a is %d after Set, want 2; error %v", p.Value().A, err)
	}
}

// setField sets a field like a generated setter.
func setField(o tvmffi.ObjectRef, name string, value any) error {
	f := bindrt.Field{Owner: &bindrt.Type{Key: tvmffi.TypeKey(o)}, Name: name}
	return bindrt.SetField(&f, o.TVMFFIObject(), value)
}

func TestKwOnly(t *testing.T) {
	nativetest.OneCompiler(t)
	runtimetest.LoadDefine(t)
	type named struct {
		A int64 `ffi:"a"`
		B int64 `ffi:"b,default=5"`
	}
	typ := define.Object[named]("gotest.OptionKwOnly", define.KwOnly())
	if err := typ.Register(); err != nil {
		t.Fatal(err)
	}
	_, err := runtimetest.Call("define.init", "gotest.OptionKwOnly", 1)
	runtimetest.WantError(t, err, tvmffi.ErrType, "takes at most 0 positional argument")
	_, err = runtimetest.Call("define.init", "gotest.OptionKwOnly")
	runtimetest.WantError(t, err, tvmffi.ErrType, "missing required keyword-only argument: 'a'")
	if _, err := tvmffi.Lookup("ffi.GetKwargsObject"); err != nil {
		return // this version of libtvm_ffi has no keyword arguments
	}
	keywords := runtimetest.MustCall(t, "ffi.GetKwargsObject")
	made := runtimetest.MustCall(t, "define.init", "gotest.OptionKwOnly", keywords, "a", 7)
	defer made.Release()
	if v, err := tvmffi.As[named](made); err != nil || v.A != 7 || v.B != 5 {
		t.Errorf("the constructor made %+v, %v, want A 7 and B 5", v, err)
	}
}
