package tvmffi_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func TestTensorElements(t *testing.T) {
	runtimetest.Balanced(t)
	element(t, []bool{true, false}, tvmffi.Bool, "bool")
	element(t, []int8{-1, 2}, tvmffi.Int8, "int8")
	element(t, []int16{-1, 2}, tvmffi.Int16, "int16")
	element(t, []int32{-1, 2}, tvmffi.Int32, "int32")
	element(t, []int64{-1, 2}, tvmffi.Int64, "int64")
	element(t, []uint8{1, 2}, tvmffi.Uint8, "uint8")
	element(t, []uint16{1, 2}, tvmffi.Uint16, "uint16")
	element(t, []uint32{1, 2}, tvmffi.Uint32, "uint32")
	element(t, []uint64{1, 2}, tvmffi.Uint64, "uint64")
	element(t, []float32{1, 2}, tvmffi.Float32, "float32")
	element(t, []float64{1, 2}, tvmffi.Float64, "float64")
	type celsius float64
	element(t, []celsius{1, 2}, tvmffi.Float64, "float64")
	for _, dtype := range []tvmffi.DataType{tvmffi.BFloat16, tvmffi.Float16} {
		x := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.TensorOf(dtype, []uint16{1, 2}))
		if s, err := tvmffi.Slice[uint16](x); err != nil || s[1] != 2 || x.DataType() != dtype {
			t.Errorf("a tensor of %s has %v, %v, want [1 2]", dtype, s, err)
		}
		_, err := tvmffi.Slice[int16](x)
		runtimetest.WantError(t, err, tvmffi.ErrType, "tensor of "+dtype.String()+": the element type is ", ", not int16")
		x.Release()
	}
}

func element[T tvmffi.Element](t *testing.T, data []T, dtype tvmffi.DataType, name string) {
	t.Helper()
	x := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice(data))
	defer x.Release()
	y := runtimetest.Get[*tvmffi.Tensor](t, "calls.echo_tensor", x)
	defer y.Release()
	if y.DataType() != dtype || dtype.String() != name || y.Device() != tvmffi.CPU || !slices.Equal(y.Shape(), []int64{2}) || !tvmffi.Same(x, y) {
		t.Errorf("a tensor over %T came back as %v, want the same of %s", data, y, name)
	}
	s := runtimetest.Must[[]T](t)(tvmffi.Slice[T](y))
	if !slices.Equal(s, data) || &s[0] != &data[0] {
		t.Errorf("a tensor over %T has %v, want the memory of %v", data, s, data)
	}
	s[0] = data[1]
	if data[0] != data[1] {
		t.Error("both sides see each other's writes")
	}
}

func TestTensorShapes(t *testing.T) {
	runtimetest.Balanced(t)
	for _, c := range []struct {
		shape   []int64
		strides []int64
		text    string
	}{
		{[]int64{6}, []int64{1}, "float32[6]@cpu:0"},
		{[]int64{2, 3}, []int64{3, 1}, "float32[2, 3]@cpu:0"},
		{[]int64{1, 6, 1}, []int64{6, 1, 1}, "float32[1, 6, 1]@cpu:0"},
	} {
		data := []float32{1, 2, 3, 4, 5, 6}
		x := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice(data, c.shape...))
		if !slices.Equal(x.Shape(), c.shape) || !slices.Equal(x.Strides(), c.strides) || x.Len() != 6 || !x.Contiguous() || x.String() != c.text {
			t.Errorf("%v: %v, strides %v", c.shape, x, x.Strides())
		}
		d := runtimetest.Get[[]any](t, "calls.describe_tensor", x)
		if shape := runtimetest.Must[[]int64](t)(tvmffi.As[[]int64](runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(d[0])))); !slices.Equal(shape, c.shape) {
			t.Errorf("shape in C++ %v", shape)
		}
		if sum := runtimetest.MustCall(t, "calls.sum_tensor", x).Value(); sum != 21.0 {
			t.Errorf("sum %v", sum)
		}
		runtimetest.MustCall(t, "calls.fill", x, 0.5)
		if data[5] != 0.5 {
			t.Error("C++ writes to the slice")
		}
		x.Release()
	}
	scalar := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]float32{7}, []int64{}...))
	if len(scalar.Shape()) != 0 || scalar.Len() != 1 || !scalar.Contiguous() {
		t.Errorf("an empty shape makes a scalar: %v", scalar.Shape())
	}
	scalar.Release()
	for _, shape := range [][]int64{{0}, {0, 3}, {3, 0}} {
		empty := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]float32{}, shape...))
		if s, err := tvmffi.Slice[float32](empty); err != nil || len(s) != 0 || empty.Len() != 0 || !empty.Contiguous() {
			t.Errorf("an empty tensor has %v, %v", s, err)
		}
		if sum := runtimetest.MustCall(t, "calls.sum_tensor", empty).Value(); sum != 0.0 {
			t.Errorf("sum %v", sum)
		}
		empty.Release()
	}
	runtimetest.DropGarbage(t)
}

func TestTensorErrors(t *testing.T) {
	runtimetest.Balanced(t)
	for _, c := range []struct {
		shape []int64
		text  string
	}{
		{[]int64{7}, "ValueError: tensor: shape [7] has 7 elements, but the slice has 6"},
		{[]int64{2, -3}, "ValueError: tensor: dimension 1 of shape [2 -3] is negative"},
		{[]int64{1 << 40, 1 << 40}, "ValueError: tensor: shape [1099511627776 1099511627776] has too many elements"},
	} {
		_, err := tvmffi.FromSlice(make([]float32, 6), c.shape...)
		runtimetest.WantError(t, err, tvmffi.ErrValue, c.text)
	}
	_, err := tvmffi.TensorOf(tvmffi.Float32, []float64{1})
	runtimetest.WantError(t, err, tvmffi.ErrType, "tensor: elements of float32 have 32 bits, but elements of float64 have 64")
	x := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]float32{1, 2}))
	_, err = tvmffi.Slice[float64](x)
	runtimetest.WantError(t, err, tvmffi.ErrType, "TypeError: tensor of float32: the element type is float32, not float64")
	_, err = tvmffi.Slice[int32](x)
	runtimetest.WantError(t, err, tvmffi.ErrType, "tensor of float32: the element type is float32, not int32")
	_, err = tvmffi.Slice[uint32](x)
	runtimetest.WantError(t, err, tvmffi.ErrType, "tensor of float32: the element type is float32, not uint32")
	x.Release()
	_, err = tvmffi.Slice[float32](x)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "the object was released")
	for _, f := range []func(){func() { x.Shape() }, func() { x.Strides() }, func() { x.DataType() }, func() { x.Device() }, func() { x.Len() }, func() { x.Contiguous() }} {
		runtimetest.WantPanic(t, tvmffi.ErrRuntime, ": the receiver was released", f)
	}
	if s := x.String(); s != "<object that was released>" {
		t.Errorf("a released tensor prints %s", s)
	}
	var none *tvmffi.Tensor
	runtimetest.WantPanic(t, tvmffi.ErrRuntime, "Tensor.Shape: the receiver is nil", func() { none.Shape() })
	if none.String() != "None" {
		t.Errorf("a nil tensor prints %s, want None", none.String())
	}
	_, err = tvmffi.Slice[float32](none)
	runtimetest.WantError(t, err, tvmffi.ErrType, "the object is nil")
	ints := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]int32{1}))
	_, err = runtimetest.Call("calls.sum_tensor", ints)
	runtimetest.WantError(t, err, tvmffi.ErrType, "sum_tensor wants float32")
	_, err = runtimetest.Call("calls.sum_tensor", nil)
	runtimetest.WantError(t, err, tvmffi.ErrType, "calls.sum_tensor")
	ints.Release()
}

// The memory lives as long as native code holds the tensor, and no longer.
func TestTensorKeepsMemory(t *testing.T) {
	runtimetest.Balanced(t)
	const size = 1 << 20
	freed := make(chan bool, 1)
	func() {
		data := make([]float32, size)
		for i := range data {
			data[i] = 1
		}
		runtime.AddCleanup(&data[0], func(int) { freed <- true }, 0)
		x := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice(data))
		runtimetest.MustCall(t, "calls.keep", x)
		x.Release()
	}()
	for range 5 {
		runtime.GC()
		_ = fmt.Sprint(make([]float32, size)[0])
	}
	select {
	case <-freed:
		t.Fatal("the memory went although native code holds the tensor")
	default:
	}
	kept := runtimetest.Get[*tvmffi.Tensor](t, "calls.kept")
	if sum := runtimetest.MustCall(t, "calls.sum_tensor", kept).Value(); sum != float64(size) {
		t.Errorf("sum %v", sum)
	}
	kept.Release()
	runtimetest.MustCall(t, "calls.drop")
	runtimetest.Collect(t, "the memory of a tensor", func() bool {
		objects.LiveCallbacks()
		select {
		case <-freed:
			return true
		default:
			return false
		}
	})
}

func TestTensorsInCallbacks(t *testing.T) {
	runtimetest.Balanced(t)
	x := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]float32{1, 2, 3}))
	var lent *tvmffi.Tensor
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(y *tvmffi.Tensor) (float64, error) {
		lent = y
		s, err := tvmffi.Slice[float32](y)
		if err != nil {
			return 0, err
		}
		s[0] = 10
		return float64(s[0] + s[1] + s[2]), nil
	}))
	if v := runtimetest.MustCall(t, "calls.apply", f, x); v.Value() != 15.0 {
		t.Errorf("calls.apply returned %v, want 15", v)
	}
	runtimetest.WantPanic(t, tvmffi.ErrRuntime, "was borrowed for a callback", func() { lent.Shape() })
	f.Release()
	x.Release()
}

// The owner that FromPointer keeps goes when native code has let the tensor go.
func TestFromPointer_keeps(t *testing.T) {
	runtimetest.LoadTensors(t)
	freed := make(chan bool, 1)
	x := func() *tvmffi.Tensor {
		owner := make([]float32, 1<<16)
		owner[9] = 9
		runtime.AddCleanup(&owner[0], func(int) { freed <- true }, 0)
		source := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice(owner))
		defer source.Release()
		return runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromPointer(source.DataPointer(), tvmffi.Float32, tvmffi.CPU, owner, 256, 256))
	}()
	for range 3 {
		runtime.GC()
	}
	if v := runtimetest.FloatsOf(t, x); v[9] != 9 || len(freed) > 0 {
		t.Error("the owner went too early")
	}
	x.Release()
	runtimetest.Collect(t, "the owner", func() bool { return len(freed) > 0 })
}
