package tvmffi_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
)

// keepers tries all that could keep a tensor; the keys are in their errors.
func keepers(t *testing.T, x *tvmffi.Tensor) map[string]error {
	type tagged struct {
		Tensor *tvmffi.Tensor `ffi:"tensor"`
	}
	list := must[*tvmffi.List[*tvmffi.Tensor]](t)(tvmffi.NewList[*tvmffi.Tensor]())
	defer list.Release()
	loose := must[*tvmffi.List[any]](t)(tvmffi.NewList[any](1))
	defer loose.Release()
	dict := must[*tvmffi.Dict[string, *tvmffi.Tensor]](t)(tvmffi.NewDict(tvmffi.PairsOf[string, *tvmffi.Tensor]()))
	defer dict.Release()
	b := box(t, 1)
	defer b.Release()
	return map[string]error{
		"":                 second(tvmffi.AnyOf(x)),
		"the memory":       second(tvmffi.AnyOf[any](x)),
		"element 0":        second(tvmffi.NewArray(x)),
		"element 1":        second(tvmffi.NewArray[any](1, x)),
		"the tensor is":    list.Append(x),
		"argument 2":       loose.Set(0, x),
		"keep a Clone":     dict.Set("key", x),
		"value of key":     second(tvmffi.NewMap(tvmffi.PairsOf(tvmffi.Pair[string, *tvmffi.Tensor]{Key: "key", Value: x}))),
		"tensor":           second(tvmffi.MarshalMap(tagged{x})),
		"of the tensor is": second(call("calls.echo_any", []*tvmffi.Tensor{x})),
		"calls.Box.tensor": bindrt.SetField(field("tensor", ""), bindrt.Ref(b), x),
	}
}

// A callback cannot return what it was lent, typed, loosely or packed.
func TestLentTensor_returned(t *testing.T) {
	loadTensors(t)
	balanced(t)
	for name, f := range map[string]any{
		"typed":  func(x *tvmffi.Tensor) (*tvmffi.Tensor, error) { return x, nil },
		"loose":  func(x *tvmffi.Tensor) (any, error) { return x, nil },
		"nested": func(x *tvmffi.Tensor) ([]any, error) { return []any{x}, nil },
	} {
		fn := must[*tvmffi.Function](t)(tvmffi.FuncOf(f))
		_, err := call("tensors.with_view", fn)
		wantError(t, err, tvmffi.ErrRuntime, ": its result: ")
		wantError(t, err, tvmffi.ErrRuntime, "is lent for a callback and ends with it: keep a Clone")
		if t.Failed() {
			t.Fatal(name)
		}
		fn.Release()
	}
	drop(t)
}

// The mark of a read-only tensor stays in an Any, and in what comes out of it.
func TestAnyOf_readOnly(t *testing.T) {
	loadTensors(t)
	balanced(t)
	x := vector(t, 4)
	defer x.Release()
	p := must[tvmffi.Pointer](t)(x.ToDLPackVersioned())
	capi.At[abi.DLManagedTensorVersioned](p.Address).Flags |= abi.DLFlagReadOnly
	fixed := must[*tvmffi.Tensor](t)(tvmffi.FromDLPackVersioned(p))
	defer fixed.Release()
	for _, a := range []tvmffi.Any{must[tvmffi.Any](t)(tvmffi.AnyOf(fixed)), must[tvmffi.Any](t)(tvmffi.AnyOf[any](fixed))} {
		y := must[*tvmffi.Tensor](t)(tvmffi.As[*tvmffi.Tensor](a))
		if !y.ReadOnly() || !a.Value().(*tvmffi.Tensor).ReadOnly() {
			t.Error("the mark is lost")
		}
		a.Release()
	}
	a := must[tvmffi.Any](t)(tvmffi.AnyOf(x))
	if must[*tvmffi.Tensor](t)(tvmffi.As[*tvmffi.Tensor](a)).ReadOnly() {
		t.Error("a tensor that may be written has the mark")
	}
	a.Release()
}

// An error that is read as a value belongs to the collector: nothing of it counts
// as a leak.
func TestErrorAsAny(t *testing.T) {
	load(t)
	balanced(t)
	leaktest.Check(t)
	list := must[*tvmffi.List[any]](t)(tvmffi.NewList[any](tvmffi.NewError("ValueError", "in a list")))
	defer list.Release()
	wantError(t, list.At(0).(error), tvmffi.ErrValue, "in a list")
	for _, v := range must[[]any](t)(list.Slice()) {
		wantError(t, v.(error), tvmffi.ErrValue, "in a list")
	}
	v := mustCall(t, "calls.echo_any", tvmffi.NewError("KeyError", "returned"))
	wantError(t, v.Value().(error), tvmffi.ErrKey, "returned")
}
