package tvmffi_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// An argument that native code passes by view is a value of Go, or lent until the callback returns.
func TestGivenViews(t *testing.T) {
	loadGiven(t)
	runtimetest.Balanced(t)
	for kind, want := range []string{"*tvmffi.Tensor float32[3]@cpu:0", "string a text of some length", "[]uint8 [97 32 116 101 120 116]", "tvmffi.Pointer "} {
		var kept []any
		var lent []tvmffi.Any
		note := func(x any) error {
			kept = append(kept, x)
			if got := fmt.Sprintf("%T %v", x, x); kind != 3 && got != want || kind == 3 && got[:len(want)] != want {
				return fmt.Errorf("kind %d: got %q, want %q", kind, got, want)
			}
			return nil
		}
		funcs := []any{
			func(x any) error { return note(x) },
			func(x tvmffi.Any) error { lent = append(lent, x); return note(x.Value()) },
			func(x *tvmffi.Any) error { lent = append(lent, *x); return note(x.Value()) },
			tvmffi.Packed(func(args []tvmffi.Any) (any, error) {
				lent = append(lent, args[0])
				again, err := tvmffi.As[any](args[0])
				if err != nil {
					return nil, err
				}
				if x, ok := again.(*tvmffi.Tensor); ok {
					y, err := tvmffi.As[*tvmffi.Tensor](args[0])
					if err != nil || y != x || args[0].TypeKey() != "ffi.Tensor" {
						return nil, fmt.Errorf("%v, %v, %s", y, err, args[0].TypeKey())
					}
					z, err := tvmffi.As[tvmffi.ObjectRef](args[0])
					if err != nil || !tvmffi.Same(z, x) {
						return nil, fmt.Errorf("%v, %v", z, err)
					}
					sum, err := runtimetest.Call("tensors.sum", args[0])
					if err != nil || sum.Value() != 6.0 {
						return nil, fmt.Errorf("passed on: %v, %v", sum, err)
					}
				}
				return nil, errors.Join(note(args[0].Value()), note(again))
			}),
		}
		if kind == 0 {
			funcs = append(funcs,
				func(x tvmffi.ObjectRef) error { return note(x) },
				func(x *tvmffi.Object) error { y, _ := tvmffi.Cast[*tvmffi.Tensor](x); return note(y) },
				func(xs ...*tvmffi.Tensor) error { return note(xs[0]) })
		}
		for i, f := range funcs {
			fn := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(f))
			if _, err := runtimetest.Call("given.view", fn, kind); err != nil {
				t.Errorf("kind %d, func %d: %v", kind, i, err)
			}
			fn.Release()
		}
		for _, x := range kept {
			switch x := x.(type) {
			case *tvmffi.Tensor:
				runtimetest.WantPanic(t, tvmffi.ErrRuntime, "was borrowed for a callback", func() { x.Shape() })
			case tvmffi.Pointer:
			default:
				if got := fmt.Sprintf("%T %v", x, x); got != want {
					t.Errorf("kind %d: kept %q, want %q", kind, got, want)
				}
			}
		}
		for _, x := range lent {
			_, err := runtimetest.Call("tensors.sum", x)
			if kind == 0 {
				runtimetest.WantError(t, err, tvmffi.ErrRuntime, "was borrowed for a callback")
			} else {
				runtimetest.WantError(t, err, tvmffi.ErrType)
			}
		}
	}
	for _, f := range []any{func(x any) {}, func(x *tvmffi.Tensor) {}, tvmffi.Packed(func([]tvmffi.Any) (any, error) { return nil, nil })} {
		fn := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(f))
		_, err := runtimetest.Call("given.view", fn, 4)
		runtimetest.WantError(t, err, tvmffi.ErrValue, "argument 0: tensor: dimension 0 of shape [-3] is negative")
		fn.Release()
	}
	runtimetest.DropGarbage(t)
}

// A callback cannot keep a tensor that it was lent as a value: what could keep it refuses it.
func TestGivenViews_escape(t *testing.T) {
	loadGivenTypes(t)
	runtimetest.Balanced(t)
	for name, f := range map[string]tvmffi.Packed{
		"returned":   func(args []tvmffi.Any) (any, error) { return args[0], nil },
		"in a slice": func(args []tvmffi.Any) (any, error) { return args, nil },
		"moved":      func(args []tvmffi.Any) (any, error) { return tvmffi.Move(args[0].Value().(*tvmffi.Tensor)), nil },
		"in a list":  func(args []tvmffi.Any) (any, error) { return tvmffi.NewList[any](args[0]) },
		"as a value": func(args []tvmffi.Any) (any, error) { return tvmffi.AnyOf(args[0]) },
		"in a field": func(args []tvmffi.Any) (any, error) {
			return givenType.New(given{Any: args[0].Value().(*tvmffi.Tensor)})
		},
	} {
		fn := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(f))
		v, err := runtimetest.Call("given.view", fn, 0)
		if err == nil {
			t.Fatalf("%s: %v", name, v)
		}
		runtimetest.WantError(t, err, tvmffi.ErrRuntime, "is borrowed until the callback returns")
		fn.Release()
	}
	runtimetest.DropGarbage(t)
}

// A view that a function returns, or that lies in a container, says nothing of its memory: it
// is an address, through which no function reads.
func TestGivenViews_returned(t *testing.T) {
	loadGiven(t)
	runtimetest.Balanced(t)
	code := runtimetest.Get[tvmffi.Pointer](t, "given.return_view")
	for index, want := range map[uintptr]string{7: "void*", 8: "ffi.String", 10: "void*"} {
		f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FunctionFromPointer(code, tvmffi.Pointer{Address: index}, tvmffi.Pointer{}))
		v, err := f.Call()
		if err != nil || v.TypeKey() != want {
			t.Errorf("type index %d: %v %s, %v, want %s", index, v, v.TypeKey(), err, want)
		}
		_, err = runtimetest.Call("tensors.sum", v)
		runtimetest.WantError(t, err, tvmffi.ErrType)
		f.Release()
	}
	v := runtimetest.MustCall(t, "given.any_of_view")
	a := runtimetest.Must[*tvmffi.Array[tvmffi.Any]](t)(tvmffi.As[*tvmffi.Array[tvmffi.Any]](v))
	x := a.At(0)
	if _, ok := x.Value().(tvmffi.Pointer); !ok || x.TypeKey() != "void*" {
		t.Errorf("in an Array: %v, a %s", x, x.TypeKey())
	}
	_, err := runtimetest.Call("tensors.sum", x)
	runtimetest.WantError(t, err, tvmffi.ErrType, "void*")
	var steps []tvmffi.Any
	for _, x := range a.All() { // a step of a loop lends
		steps = append(steps, x)
		if y, err := tvmffi.As[*tvmffi.Tensor](x); err != nil || y.String() != "float32[2]@cpu:0" {
			t.Errorf("in a loop: %v, %v", y, err)
		}
	}
	_, err = runtimetest.Call("tensors.sum", steps[0])
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "or for a step of a loop")
	v.Release()
	runtimetest.DropGarbage(t)
}
