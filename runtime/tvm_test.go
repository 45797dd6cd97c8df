//go:build tvm

package tvmffi_test

import (
	"errors"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

// TestTVM runs passes written in Go in the compiler of Apache TVM, which gives each of them
// its module by an RValueRef. TVM needs a libtvm_ffi of its own age, so no other test may run
// in the process:
//
//	go test -tags=tvm -run=TestTVM ./runtime
func TestTVM(t *testing.T) {
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Wheel(t, wheel.TVMNeeds).Library())); err != nil {
		t.Fatal(err)
	}
	tvm := nativetest.Pinned(t, "apache-tvm")
	for _, name := range []string{"tvm/lib/libtvm_runtime.so", "tvm/lib/libtvm_compiler.so"} {
		if err := tvmffi.LoadLibrary(tvm.Path(name)); err != nil {
			t.Fatal(err)
		}
	}
	leaktest.Check(t)
	call := func(name string, args ...any) (tvmffi.Any, error) {
		f, err := tvmffi.Lookup(name)
		if err != nil {
			return tvmffi.Any{}, err
		}
		defer f.Release()
		return f.Call(args...)
	}
	must := runtimetest.Must[tvmffi.Any](t)
	var after int // how many references the changed module has
	withAttr := runtimetest.Must[*tvmffi.Function](t)(tvmffi.Lookup("ir.Module_WithAttr"))
	defer withAttr.Release()
	refused := errors.New("this pass refuses the module")
	for name, f := range map[string]any{
		"typed": func(m, _ *tvmffi.Object) (any, error) {
			v, err := withAttr.Call(tvmffi.Move(m), "written in", []string{"Go"})
			if err != nil {
				return nil, err
			}
			x, err := tvmffi.As[*tvmffi.Object](v)
			after = memstat.UseCount(x)
			return tvmffi.Move(x), err
		},
		"packed": tvmffi.Packed(func(args []tvmffi.Any) (any, error) {
			m, err := tvmffi.As[*tvmffi.Object](args[0])
			if err != nil {
				return nil, err
			}
			after = 1
			v, err := withAttr.Call(tvmffi.Move(m), "written in", []string{"Go"})
			if err != nil {
				return nil, err
			}
			return tvmffi.Move(v.Value().(tvmffi.ObjectRef)), nil
		}),
		"unchanged": func(m tvmffi.ObjectRef, _ any) (tvmffi.ObjectRef, error) {
			after = 1
			return m, nil
		},
		"refused": func(any, any) (any, error) { return nil, refused },
	} {
		info := must(call("transform.PassInfo", 0, "go."+name, []string{}, false))
		pass := must(call("transform.MakeModulePass", f, info))
		module := must(call("ir.IRModule", map[string]any{}, nil, map[string]any{}))
		v, err := call("transform.RunPass", pass, tvmffi.Move(module.Value().(tvmffi.ObjectRef)))
		switch {
		case name == "refused":
			if !errors.Is(err, refused) {
				t.Errorf("the error is %v, want the error of the pass", err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		default:
			m := runtimetest.Must[*tvmffi.Object](t)(tvmffi.As[*tvmffi.Object](v))
			attr := must(call("ir.Module_GetAttr", m, "written in"))
			if want := map[bool]string{true: "None", false: "(\"Go\",)"}[name == "unchanged"]; attr.String() != want {
				t.Errorf("%s: the attribute is %v, want %s", name, attr, want)
			}
			if after != 1 || memstat.UseCount(m) != 1 {
				t.Errorf("%s: %d references after the change, %d in the end, want 1", name, after, memstat.UseCount(m))
			}
			attr.Release()
			v.Release()
		}
		pass.Release()
		info.Release()
	}
}
