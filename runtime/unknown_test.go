package tvmffi_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/reflection"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// TestUnknownTypeIndices takes values of indices that no type has from native code: each
// place says so and names the index.
func TestUnknownTypeIndices(t *testing.T) {
	runtimetest.Load(t)
	m := runtimetest.Must[*tvmffi.Module](t)(tvmffi.LoadModule(nativetest.Build(t, "calls")))
	defer m.Release()
	function := func(name string) *tvmffi.Function {
		f := runtimetest.Must[*tvmffi.Function](t)(m.Function(name))
		t.Cleanup(f.Release)
		return f
	}
	raw, call, poison := function("raw_index"), function("raw_call"), function("raw_poison")
	box := runtimetest.MakeBox(t, 1)
	defer box.Release()
	for _, index := range []int64{-1, -100, math.MinInt32, 14, 20, 21, 63, 127, 1 << 20, math.MaxInt32} {
		named := fmt.Sprint(index)
		wants := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, tvmffi.ErrType) || !strings.Contains(err.Error(), named) {
				t.Errorf("%s, index %d: got %v", what, index, err)
			}
		}
		_, err := raw.Call(index)
		wants("a result", err)
		var c bindrt.Call2
		c.BeginFunction(bindrt.Ref(raw), 1)
		c.Int(0, index)
		_, err = c.DoInt()
		wants("an int result", err)
		c = bindrt.Call2{}
		c.BeginFunction(bindrt.Ref(raw), 1)
		c.Int(0, index)
		_, err = bindrt.DoObject[runtimetest.Box](&c.Call, &runtimetest.BoxType)
		wants("an object result", err)
		c = bindrt.Call2{}
		c.BeginFunction(bindrt.Ref(raw), 1)
		c.Int(0, index)
		_, err = bindrt.Do[any](&c.Call)
		wants("a result of any type", err)
		c = bindrt.Call2{}
		c.BeginFunction(bindrt.Ref(raw), 1)
		c.Int(0, index)
		_, err = bindrt.Do[IntOrString](&c.Call)
		wants("a variant", err)

		for what, f := range map[string]any{
			"an argument": func(any) {}, "an Any": func(tvmffi.Any) {}, "an int": func(int64) {}, "a box": func(*runtimetest.Box) {},
			"a slice": func([]any) {}, "an object": func(tvmffi.ObjectRef) {},
			"packed": tvmffi.Packed(func([]tvmffi.Any) (any, error) { return nil, nil }),
		} {
			_, err := call.Call(f, index)
			wants("a callback with "+what, err)
		}
		if index > 63 {
			continue // C++ would take it for an object
		}
		v, err := poison.Call(box, index)
		if err != nil {
			t.Fatal(err)
		}
		array := runtimetest.Must[*tvmffi.Array[any]](t)(tvmffi.As[*tvmffi.Array[any]](v))
		_, err = array.Slice()
		wants("a slice", err)
		runtimetest.WantPanic(t, tvmffi.ErrType, named, func() { array.At(0) })
		runtimetest.WantPanic(t, tvmffi.ErrType, named, func() {
			for range array.All() {
			}
		})
		array.Release()
		runtimetest.WantPanic(t, tvmffi.ErrType, named, func() { bindrt.GetField[any](runtimetest.BoxField("any", ""), bindrt.Ref(box)) })
		_, err = reflection.ValueOf(box).Get("any")
		wants("reflection", err)
	}
	// An object under the index of another type: the object is asked.
	v, err := raw.Call(1<<20, box)
	if err != nil || v.TypeKey() != "calls.Box" {
		t.Errorf("%v, %v", v, err)
	}
	v.Release()
	if v, err := raw.Call(64); err != nil || !v.IsNone() {
		t.Errorf("no object: %v, %v", v, err)
	}
}
