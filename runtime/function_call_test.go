package tvmffi_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

// TestCallAllocations: Call and As make nothing on the heap but what they return.
func TestCallAllocations(t *testing.T) {
	nativetest.NeedOptimised(t)
	runtimetest.Load(t)
	echo := runtimetest.Must[*tvmffi.Function](t)(tvmffi.Lookup("calls.echo"))
	defer echo.Release()
	x := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]float32{1, 2}))
	defer x.Release()
	wrapper := 1.0 // the Go side of an object that a call returns
	if memstat.Tracking {
		wrapper = 5 // it remembers who made it
	}
	for what, test := range map[string]struct {
		run  func()
		most float64
	}{
		"an int": {func() {
			runtimetest.Must[int64](t)(tvmffi.As[int64](runtimetest.Must[tvmffi.Any](t)(echo.Call(int64(1) << 40))))
		}, 1}, // the argument in an interface
		"a float": {func() {
			runtimetest.Must[float64](t)(tvmffi.As[float64](runtimetest.Must[tvmffi.Any](t)(echo.Call(0.5))))
		}, 0},
		"a bool":   {func() { runtimetest.Must[bool](t)(tvmffi.As[bool](runtimetest.Must[tvmffi.Any](t)(echo.Call(true)))) }, 0},
		"a tensor": {func() { runtimetest.Must[tvmffi.Any](t)(echo.Call(x)).Release() }, wrapper},
		"a tensor, as one": {func() {
			runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.As[*tvmffi.Tensor](runtimetest.Must[tvmffi.Any](t)(echo.Call(x)))).Release()
		}, wrapper},
		"an object":  {func() { runtimetest.Must[tvmffi.Any](t)(echo.Call(echo)).Release() }, wrapper},
		"no tensor":  {func() { runtimetest.Must[tvmffi.Any](t)(echo.Call((*tvmffi.Tensor)(nil))) }, 0},
		"no pointer": {func() { runtimetest.Must[tvmffi.Any](t)(echo.Call(nil)) }, 2},
	} {
		if n := testing.AllocsPerRun(100, test.run); n > test.most {
			t.Errorf("%s: %v allocations, want at most %v", what, n, test.most)
		}
	}
}

// TestCall_arguments: what Call takes does not depend on how many arguments there are.
func TestCall_arguments(t *testing.T) {
	runtimetest.Balanced(t)
	last := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(args []tvmffi.Any) (any, error) { return args[len(args)-1], nil }))
	ended := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]float32{1}))
	ended.Release()
	for _, n := range []int{1, 8, 9, 40} {
		args := make([]any, n)
		for _, x := range []any{int64(7), 2.5, true, "short", "a text of more than seven bytes", nil} {
			args[n-1] = x
			if got := runtimetest.Must[tvmffi.Any](t)(last.Call(args...)).Value(); got != x {
				t.Errorf("%v as the last of %d arguments returned as %v", x, n, got)
			}
		}
		position := map[int]string{1: "argument 0: ", 8: "argument 7: ", 9: "argument 8: ", 40: "argument 39: "}[n]
		args[n-1] = ended
		_, err := last.Call(args...)
		runtimetest.WantError(t, err, tvmffi.ErrRuntime, position+"the object was released")
		args[n-1] = make(chan int)
		_, err = last.Call(args...)
		runtimetest.WantError(t, err, tvmffi.ErrType, position)
		args[n-1] = 1
		_, err = (*tvmffi.Function)(nil).Call(args...)
		runtimetest.WantError(t, err, tvmffi.ErrType, "Function.Call", "is nil")
	}
	last.Release()
}
