package define_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/values"
	"github.com/tvmffi-go/tvmffi/reflection"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/define"
)

type anything struct {
	X any `ffi:"x,optional"`
}

// Each value is kept by a field that takes any, which Go and C++ set, and package reflection reads.
func TestFieldOfAnyValue(t *testing.T) {
	runtimetest.LoadDefine(t)
	typ := define.Object[anything]("gotest.Anything")
	if err := typ.Register(); err != nil {
		t.Fatal(err)
	}
	runtimetest.Balanced(t)
	field := define.FieldOf(typ, func(a *anything) *any { return &a.X })
	runtimetest.Values(t, func(r values.Row, x any) {
		o := runtimetest.Must[*define.Instance[anything]](t)(typ.New(anything{x}))
		defer o.Release()
		for how, set := range map[string]func() error{
			"New": func() error { return nil },
			"Set": func() error { return field.Set(o, x) },
			"C++": func() error { return runtimetest.ErrorOf(runtimetest.Call("define.set", o, "x", x)) },
		} {
			if err := set(); err != nil {
				t.Errorf("%s: %s: %v", how, r.Name, err)
			}
			v, err := reflection.ValueOf(o).Get("x")
			runtimetest.WantBack(t, how+" and reflection", r, x, v, err)
			v.Release()
			back := runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(o.Value().X))
			runtimetest.WantBack(t, how+" and Value", r, x, back, nil)
			back.Release()
		}
	})
	runtimetest.DropGarbage(t)
}
