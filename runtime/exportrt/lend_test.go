package exportrt_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/exportrt"
)

// bytesError has bytes in its fields.
type bytesError struct {
	Wrong []uint8          `ffi:"wrong"`
	Rows  map[string][]int `ffi:"rows,optional"`
	First *uint8           `ffi:"first"`
	Deep  *bytesError      // others do not see it
}

func (e *bytesError) Error() string { return fmt.Sprintf("%d bytes are wrong", len(e.Wrong)) }

// bytesValue is bytesError as a value.
type bytesValue struct {
	Wrong []uint8 `ffi:"wrong"`
}

func (e bytesValue) Error() string { return fmt.Sprintf("%d bytes are wrong", len(e.Wrong)) }

// ownError is not declared.
type ownError struct{ wrong []uint8 }

func (e ownError) Error() string { return fmt.Sprintf("%d bytes are wrong", len(e.wrong)) }

// lenders are funcs that return memory of their argument in all ways, as generated code does.
var lenders = map[string]func(a *bindrt.Args, x []uint8) error{
	"whole": func(a *bindrt.Args, x []uint8) error { return bindrt.Return(a, exportrt.Lend(a, x)) },
	"part":  func(a *bindrt.Args, x []uint8) error { return bindrt.Return(a, exportrt.Lend(a, x[1:3])) },
	"parts": func(a *bindrt.Args, x []uint8) error {
		return bindrt.Return(a, tvmffi.Tuple2[tvmffi.Moved, tvmffi.Moved]{A: exportrt.Lend(a, x[:1]), B: exportrt.Lend(a, x[1:])})
	},
	"tensor": func(a *bindrt.Args, x []uint8) error {
		t, err := tvmffi.FromSlice(x[2:])
		if err != nil {
			return err
		}
		return bindrt.Return(a, t)
	},
	"strided": func(a *bindrt.Args, x []uint8) error {
		t, err := tvmffi.FromStrided(x, []int64{2}, []int64{2})
		if err != nil {
			return err
		}
		return bindrt.Return(a, map[string]any{"deep": []any{t, 1}})
	},
	"sequence": func(a *bindrt.Args, x []uint8) error {
		return bindrt.Return(a, exportrt.Sequence(a, iter.Seq[uint8](slices.Values(x))))
	},
	"func": func(a *bindrt.Args, x []uint8) error {
		return bindrt.Return(a, func(i int64) int64 { return int64(x[i]) })
	},
	"object": func(a *bindrt.Args, x []uint8) error {
		f, err := tvmffi.FuncOf(func(i int64) int64 { return int64(x[i]) })
		if err != nil {
			return err
		}
		return bindrt.Return(a, []any{f, f})
	},
	"view": func(a *bindrt.Args, x []uint8) error {
		t, err := tvmffi.FromSlice(x, 2, 2)
		if err != nil {
			return err
		}
		v, err := t.Transpose()
		if err != nil {
			return err
		}
		return bindrt.Return(a, []any{v})
	},
	"own error":   func(_ *bindrt.Args, x []uint8) error { return ownError{x} },
	"error":       func(_ *bindrt.Args, x []uint8) error { return fmt.Errorf("outer: %w", &bytesError{Wrong: x}) },
	"pointer":     func(_ *bindrt.Args, x []uint8) error { return &bytesError{First: &x[2]} },
	"value error": func(_ *bindrt.Args, x []uint8) error { return bytesValue{x[1:]} },
	"panic":       func(_ *bindrt.Args, x []uint8) error { panic(&bytesError{Wrong: x[:2]}) },
}

// numbersIn returns the bytes of a result or an error of a lender.
func numbersIn(t *testing.T, v tvmffi.Any, err error) (all []uint8) {
	t.Helper()
	var pointer *bytesError
	var value bytesValue
	var own ownError
	switch {
	case errors.As(err, &own):
		return own.wrong
	case errors.As(err, &pointer) && pointer.First != nil:
		return []uint8{*pointer.First}
	case errors.As(err, &pointer):
		return pointer.Wrong
	case errors.As(err, &value):
		return value.Wrong
	case err != nil:
		t.Fatal(err)
	}
	switch x := v.Value().(type) {
	case *tvmffi.Tensor:
		all = make([]uint8, x.Len())
		if err := tvmffi.CopyTo(x, all); err != nil {
			t.Fatal(err)
		}
	case *tvmffi.Function:
		for i := int64(0); ; i++ {
			r, err := x.Call(i)
			if err != nil { // a sequence takes no argument
				r, err = x.Call()
			}
			if err != nil {
				t.Fatal(err)
			}
			if e, err := tvmffi.As[tvmffi.Tuple1[int64]](r); err == nil {
				all = append(all, uint8(e.A))
				continue
			}
			if r.IsNone() {
				break
			}
			all = append(all, uint8(runtimetest.Must[int64](t)(tvmffi.As[int64](r))))
			if len(all) == 4 {
				break
			}
		}
	case *tvmffi.Array[tvmffi.Any]:
		for _, e := range x.All() {
			if _, number := e.Value().(int64); !number {
				all = append(all, numbersIn(t, e, nil)...)
			}
		}
	case *tvmffi.Map[tvmffi.Any, tvmffi.Any]:
		for _, e := range x.All() {
			all = append(all, numbersIn(t, e, nil)...)
		}
	default:
		t.Fatalf("%T", x)
	}
	return all
}

// TestLend: a result in the memory of an argument keeps the owner of the memory, or is a copy. The owner of a Tensor overwrites
// its memory when its last reference ends; the one of a DLTensor* does when the call has returned.
func TestLend(t *testing.T) {
	runtimetest.LoadTensors(t)
	declared := exportrt.Exports{Name: "lend", Prefix: "lend.", Errors: []exportrt.ErrorType{
		exportrt.ErrorOf("lend.Bytes", "", func(e bytesError) error { return &e }),
		exportrt.ErrorOf("lend.Value", "", func(e bytesValue) error { return e }),
	}}
	if err := declared.Register(); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"whole": "[1 2 3 4]", "part": "[2 3]", "parts": "[1 2 3 4]", "tensor": "[3 4]", "strided": "[1 3]", "sequence": "[1 2 3 4]", "func": "[1 2 3 4]",
		"object": "[1 2 3 4 1 2 3 4]", "view": "[1 3 2 4]", "own error": "[1 2 3 4]", "pointer": "[3]",
		"error": "[1 2 3 4]", "value error": "[2 3 4]", "panic": "[1 2]",
	}
	for name, call := range lenders {
		t.Run(name, func(t *testing.T) {
			f := exported(t, "lender", func(*tvmffi.Tensor) any { return nil }, func(a *bindrt.Args) error {
				x := exportrt.Borrowed[uint8](a, 0)
				if err := a.Check(1); err != nil {
					return err
				}
				return call(a, x)
			})
			before := runtimetest.Get[int64](t, "tensors.live_bytes")
			x := runtimetest.Get[*tvmffi.Tensor](t, "tensors.malloc", 4)
			if err := tvmffi.CopyFrom(x, []uint8{1, 2, 3, 4}); err != nil {
				t.Fatal(err)
			}
			v, err := f.Call(x)
			x.Release() // the caller's last reference
			runtimetest.DropGarbage(t)
			if got := fmt.Sprint(numbersIn(t, v, err)); got != want[name] {
				t.Errorf("after the caller has released its Tensor: %s, want %s", got, want[name])
			}
			v.Release()
			runtimetest.Collect(t, "the memory of the argument ends with the result", func() bool {
				return runtimetest.Get[int64](t, "tensors.live_bytes") == before
			})

			v, err = runtimetest.Call("tensors.lend_view", f)
			if name == "own error" { // nothing could keep a DLTensor*
				if own := (ownError{}); errors.As(err, &own) || !strings.Contains(fmt.Sprint(err), "4 bytes are wrong") {
					t.Errorf("after the call with a DLTensor*: %v, want an error with the text only", err)
				}
				return
			}
			if name == "sequence" || name == "func" || name == "object" {
				runtimetest.WantError(t, err, tvmffi.ErrType, "a DLTensor is borrowed until the call returns, but the function that it returns may use it later: pass a Tensor")
				return
			}
			if got := fmt.Sprint(numbersIn(t, v, err)); got != want[name] {
				t.Errorf("after the call with a DLTensor*: %s, want %s", got, want[name])
			}
			v.Release()
		})
	}
}

// A tensor of Go that is lent and comes back keeps nothing but itself.
func TestLend_tensorOfGo(t *testing.T) {
	runtimetest.LoadTensors(t)
	f := exported(t, "lender", func(*tvmffi.Tensor) any { return nil }, func(a *bindrt.Args) error {
		x, y := exportrt.Borrowed[uint8](a, 0), exportrt.Borrowed[uint8](a, 1)
		if err := a.Check(2); err != nil {
			return err
		}
		return bindrt.Return(a, tvmffi.Tuple2[tvmffi.Moved, tvmffi.Moved]{A: exportrt.Lend(a, x), B: exportrt.Lend(a, y)})
	})
	runtimetest.DropGarbage(t)
	before := objects.LiveCallbacks()
	x, y := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]uint8{1, 2})), runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]uint8{3}))
	for range 10 {
		v, err := f.Call(x, y)
		if got := fmt.Sprint(numbersIn(t, v, err)); got != "[1 2 3]" {
			t.Error(got)
		}
		v.Release()
	}
	x.Release()
	y.Release()
	runtimetest.Collect(t, "no tensor is left", func() bool { return objects.LiveCallbacks() == before })
}

// A view of a tensor over a slice of an argument cannot be replaced in a map.
func TestLend_viewInMap(t *testing.T) {
	runtimetest.LoadTensors(t)
	f := exported(t, "lender", func(*tvmffi.Tensor) any { return nil }, func(a *bindrt.Args) error {
		x, err := tvmffi.FromSlice(exportrt.Borrowed[uint8](a, 0))
		if err != nil {
			return err
		}
		v, err := x.Slice(0, 1, 3)
		if err != nil {
			return err
		}
		return bindrt.Return(a, map[string]any{"v": v})
	})
	x := runtimetest.Get[*tvmffi.Tensor](t, "tensors.malloc", 4)
	defer x.Release()
	_, err := f.Call(x)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "a view of a tensor over memory of an argument is in a map or an object: return a Clone of it")
	runtimetest.DropGarbage(t)
}

// A result in memory of Go does not keep the arguments.
func TestLend_memoryOfGo(t *testing.T) {
	runtimetest.LoadTensors(t)
	f := exported(t, "lender", func(*tvmffi.Tensor) any { return nil }, func(a *bindrt.Args) error {
		x := exportrt.Borrowed[uint8](a, 0)
		if err := a.Check(1); err != nil {
			return err
		}
		return bindrt.Return(a, exportrt.Lend(a, slices.Concat(x, x)))
	})
	before := runtimetest.Get[int64](t, "tensors.live_bytes")
	x := runtimetest.Get[*tvmffi.Tensor](t, "tensors.malloc", 4)
	v, err := f.Call(x)
	if err != nil {
		t.Fatal(err)
	}
	x.Release()
	if after := runtimetest.Get[int64](t, "tensors.live_bytes"); after != before {
		t.Errorf("%d bytes live", after-before)
	}
	v.Release()
}
