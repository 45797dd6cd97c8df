package tvmffi_test

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

// keepers tries all that could keep a tensor; the keys are in their errors.
func keepers(t *testing.T, x *tvmffi.Tensor) map[string]error {
	type tagged struct {
		Tensor *tvmffi.Tensor `ffi:"tensor"`
	}
	list := runtimetest.Must[*tvmffi.List[*tvmffi.Tensor]](t)(tvmffi.NewList[*tvmffi.Tensor]())
	defer list.Release()
	loose := runtimetest.Must[*tvmffi.List[any]](t)(tvmffi.NewList[any](1))
	defer loose.Release()
	dict := runtimetest.Must[*tvmffi.Dict[string, *tvmffi.Tensor]](t)(tvmffi.NewDict(tvmffi.PairsOf[string, *tvmffi.Tensor]()))
	defer dict.Release()
	b := runtimetest.MakeBox(t, 1)
	defer b.Release()
	return map[string]error{
		"":                 runtimetest.ErrorOf(tvmffi.AnyOf(x)),
		"the memory":       runtimetest.ErrorOf(tvmffi.AnyOf[any](x)),
		"element 0":        runtimetest.ErrorOf(tvmffi.NewArray(x)),
		"element 1":        runtimetest.ErrorOf(tvmffi.NewArray[any](1, x)),
		"the tensor is":    list.Append(x),
		"argument 2":       loose.Set(0, x),
		"keep a Clone":     dict.Set("key", x),
		"value of key":     runtimetest.ErrorOf(tvmffi.NewMap(tvmffi.PairsOf(tvmffi.Pair[string, *tvmffi.Tensor]{Key: "key", Value: x}))),
		"tensor":           runtimetest.ErrorOf(tvmffi.MarshalMap(tagged{x})),
		"of the tensor is": runtimetest.ErrorOf(runtimetest.Call("calls.echo_any", []*tvmffi.Tensor{x})),
		"calls.Box.tensor": bindrt.SetField(runtimetest.BoxField("tensor", ""), bindrt.Ref(b), x),
	}
}

// A callback cannot return what it was lent, typed, loosely or packed.
func TestLentTensor_returned(t *testing.T) {
	runtimetest.LoadTensors(t)
	runtimetest.Balanced(t)
	for name, f := range map[string]any{
		"typed":  func(x *tvmffi.Tensor) (*tvmffi.Tensor, error) { return x, nil },
		"loose":  func(x *tvmffi.Tensor) (any, error) { return x, nil },
		"nested": func(x *tvmffi.Tensor) ([]any, error) { return []any{x}, nil },
	} {
		fn := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(f))
		_, err := runtimetest.Call("tensors.with_view", fn)
		runtimetest.WantError(t, err, tvmffi.ErrRuntime, ": its result: ")
		runtimetest.WantError(t, err, tvmffi.ErrRuntime, "is borrowed until the callback returns: keep a Clone")
		if t.Failed() {
			t.Fatalf("%s does not refuse the lent tensor", name)
		}
		fn.Release()
	}
	runtimetest.DropGarbage(t)
}

// The mark of a read-only tensor stays in an Any, and in what comes out of it.
func TestAnyOf_readOnly(t *testing.T) {
	runtimetest.LoadTensors(t)
	runtimetest.Balanced(t)
	x := runtimetest.CountingTensor(t, 4)
	defer x.Release()
	p := taken(t, runtimetest.Must[*tvmffi.DLPack](t)(x.ToDLPackVersioned()))
	capi.PointerTo[abi.DLManagedTensorVersioned](p.Address).Flags |= abi.DLFlagReadOnly
	fixed := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromDLPack(runtimetest.Must[*tvmffi.DLPack](t)(tvmffi.OwnDLPackVersioned(p))))
	defer fixed.Release()
	for _, a := range []tvmffi.Any{runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(fixed)), runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf[any](fixed))} {
		y := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.As[*tvmffi.Tensor](a))
		if !y.ReadOnly() || !a.Value().(*tvmffi.Tensor).ReadOnly() {
			t.Error("the mark is lost")
		}
		a.Release()
	}
	a := runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(x))
	if runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.As[*tvmffi.Tensor](a)).ReadOnly() {
		t.Error("a tensor that may be written has the mark")
	}
	a.Release()
}

// An error that is read as a value belongs to the collector: nothing of it counts
// as a leak.
func TestErrorAsAny(t *testing.T) {
	runtimetest.Load(t)
	runtimetest.Balanced(t)
	leaktest.Check(t)
	list := runtimetest.Must[*tvmffi.List[any]](t)(tvmffi.NewList[any](tvmffi.NewError("ValueError", "in a list")))
	defer list.Release()
	runtimetest.WantError(t, list.At(0).(error), tvmffi.ErrValue, "in a list")
	for _, v := range runtimetest.Must[[]any](t)(list.Slice()) {
		runtimetest.WantError(t, v.(error), tvmffi.ErrValue, "in a list")
	}
	v := runtimetest.MustCall(t, "calls.echo_any", tvmffi.NewError("KeyError", "returned"))
	runtimetest.WantError(t, v.Value().(error), tvmffi.ErrKey, "returned")
}

// TestElementHints calls a function of which a hint promises the types of elements.
func TestElementHints(t *testing.T) {
	runtimetest.LoadTensors(t)
	runtimetest.Load(t)
	echo := bindrt.Func{Library: &runtimetest.Calls, Name: "calls.echo_any"}
	call := func(x *tvmffi.Tensor, in, out tvmffi.DataType) (*tvmffi.Tensor, error) {
		var c bindrt.Call1
		c.Begin(&echo, 1)
		bindrt.PutTensor(&c.Call, 0, x, in)
		return bindrt.DoTensor(&c.Call, out)
	}
	fails := func(x *tvmffi.Tensor, in, out tvmffi.DataType, want string) {
		t.Helper()
		if y, err := call(x, in, out); y != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v, want an error with %q", y, err, want)
		}
	}
	x := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.Int32, 4))
	fails(x, tvmffi.Float32, tvmffi.Int32, "argument 0 of calls.echo_any: expected Tensor(float32), got Tensor(int32)")
	fails(x, tvmffi.Int32, tvmffi.Float32, "calls.echo_any: result: expected Tensor(float32), got Tensor(int32)")
	if n := memstat.UseCount(x); n != 1 {
		t.Errorf("the refused result leaves %d references, want 1", n)
	}
	if y, err := call(nil, tvmffi.Int32, tvmffi.Int32); y != nil || err != nil {
		t.Errorf("None becomes %v, %v", y, err)
	}
	lent := func(x *tvmffi.Tensor) float64 {
		fails(x, tvmffi.Int32, tvmffi.Int32, "expected Tensor(int32), got")
		return 0
	}
	if _, err := runtimetest.Call("tensors.with_view", lent); err != nil {
		t.Error(err)
	}
	x.Release()
	fails(x, tvmffi.Float32, tvmffi.Float32, "released")
}

// TestAlignedTensors passes tensors whose address must be divisible by 64.
func TestAlignedTensors(t *testing.T) {
	runtimetest.Load(t)
	echo := bindrt.Func{Library: &runtimetest.Calls, Name: "calls.echo_any"}
	call := func(x *tvmffi.Tensor) (*tvmffi.Tensor, error) {
		var c bindrt.Call1
		c.Begin(&echo, 1)
		bindrt.PutAligned(&c.Call, 0, x, 64)
		return bindrt.DoTensor(&c.Call, tvmffi.Uint8)
	}
	memory := make([]byte, 256)
	base := (uintptr(unsafe.Pointer(unsafe.SliceData(memory))) + 63) &^ 63
	at := func(address uintptr, sizes ...int64) *tvmffi.Tensor {
		s := objects.TensorSpec{Address: address, Type: abi.DLDataType(tvmffi.Uint8), Device: abi.DLDevice(tvmffi.CPU), Keep: memory}
		// Every object type has the layout of objects.Object.
		x := (*tvmffi.Tensor)(unsafe.Pointer(objects.Own(objects.NewTensor(s, sizes, nil))))
		t.Cleanup(x.Release)
		return x
	}
	for _, x := range []*tvmffi.Tensor{nil, at(base, 8), at(base+64, 8), at(base+1, 4, 0)} {
		y, err := call(x)
		if err != nil || (y == nil) != (x == nil) {
			t.Errorf("%v becomes %v, %v", x, y, err)
		}
		if y != nil {
			y.Release()
		}
	}
	_, err := call(at(base+60, 8))
	runtimetest.WantError(t, err, tvmffi.ErrValue, "argument 0 of calls.echo_any: misaligned Tensor data: the address is 60 bytes after a multiple of 64")
	released := at(base, 8)
	released.Release()
	if _, err := call(released); err == nil || !strings.Contains(err.Error(), "released") {
		t.Errorf("a released tensor: %v", err)
	}
}
