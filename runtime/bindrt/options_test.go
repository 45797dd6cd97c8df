package bindrt_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

type option struct{ bindrt.Option }

func optionOf[T any](name string, v T) *option { return &option{bindrt.NewOption(name, v)} }

var array = bindrt.Func{Library: &bindrt.Library{}, Name: "ffi.Array"}

// defaults makes an array of its arguments, the last three of which are options with the defaults "a long default",
// None and 7.
func defaults(first int64, options ...*option) ([]any, error) {
	var c bindrt.Call8
	c.Begin(&array, 4)
	c.Int(0, first)
	c.String(1, "a long default")
	c.Int(3, 7)
	bindrt.PutOptions(&c.Call, "Text,Object,Count", options)
	a, err := bindrt.Do[*tvmffi.Array[tvmffi.Any]](&c.Call)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	var all []any
	for _, v := range a.All() {
		all = append(all, v.Value())
	}
	return all, nil
}

func TestPutOptions(t *testing.T) {
	nativetest.Library(t)
	twice := optionOf("Text", "a text that is too long for the frame of the call, so that it lies in memory of its own, and that is used twice")
	for name, test := range map[string]struct {
		options []*option
		want    []any
	}{
		"none":             {nil, []any{int64(1), "a long default", nil, int64(7)}},
		"a short text":     {[]*option{optionOf("Text", "short")}, []any{int64(1), "short", nil, int64(7)}},
		"another type":     {[]*option{optionOf("Text", int64(2))}, []any{int64(1), int64(2), nil, int64(7)}},
		"None":             {[]*option{optionOf("Count", (*int64)(nil))}, []any{int64(1), "a long default", nil, nil}},
		"the last counts":  {[]*option{optionOf("Count", int64(2)), optionOf("Count", int64(3))}, []any{int64(1), "a long default", nil, int64(3)}},
		"one for two uses": {[]*option{twice, twice}, []any{int64(1), "a text that is too long for the frame of the call, so that it lies in memory of its own, and that is used twice", nil, int64(7)}},
	} {
		if got, err := defaults(1, test.options...); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, test.want)
		}
	}
}

func TestPutOptions_nil(t *testing.T) {
	nativetest.Library(t)
	var c bindrt.Call2
	c.Begin(&array, 1)
	c.Int(0, 7)
	bindrt.PutOptions(&c.Call, "Count", []interface{ Self() bindrt.Option }{nil})
	a, err := bindrt.Do[*tvmffi.Array[int64]](&c.Call)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Release()
	if a.At(0) != 7 {
		t.Errorf("the argument is %d, want 7", a.At(0))
	}
}

func TestTensorOption(t *testing.T) {
	nativetest.Library(t)
	x, err := tvmffi.NewTensor(tvmffi.Float32, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	if _, err := defaults(1, &option{bindrt.TensorOption("Object", x, tvmffi.Float32)}); err != nil {
		t.Error(err)
	}
	_, err = defaults(1, &option{bindrt.TensorOption("Object", x, tvmffi.Int32)})
	if !errors.Is(err, tvmffi.ErrType) || !strings.Contains(err.Error(), "argument 2 of ffi.Array: expected Tensor(int32), got Tensor(float32)") {
		t.Errorf("another type of elements: %v", err)
	}
}

// TestPutOptions_allocations: a call without options keeps its frame on the stack.
func TestPutOptions_allocations(t *testing.T) {
	nativetest.NeedOptimised(t)
	nativetest.Library(t)
	echo := bindrt.Func{Library: &bindrt.Library{}, Name: "ffi.StructuralHash"}
	n := testing.AllocsPerRun(100, func() {
		var c bindrt.Call4
		c.Begin(&echo, 3)
		c.Int(0, 1)
		c.Bool(1, false)
		c.Bool(2, false)
		bindrt.PutOptions(&c.Call, "MapFreeVars,SkipTensorContent", []*option(nil))
		if _, err := c.DoInt(); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
