package structural_test

import (
	"errors"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

func TestDeepCopy(t *testing.T) {
	runtimetest.LoadProgram(t)
	t.Run("scalars and nil", func(t *testing.T) {
		if x, err := structural.DeepCopy(3); x != 3 || err != nil {
			t.Errorf("the copy of 3 is %v, %v, want 3", x, err)
		}
		if x, err := structural.DeepCopy[any](nil); x != nil || err != nil {
			t.Errorf("the copy of nil is %v, %v, want nil", x, err)
		}
		if x, err := structural.DeepCopy((*runtimetest.Box)(nil)); x != nil || err != nil {
			t.Errorf("the copy of a nil *Box is %v, %v, want nil", x, err)
		}
	})
	t.Run("what is shared stays shared and a cycle stays a cycle", func(t *testing.T) {
		inner := runtimetest.NewList(t, 1)
		outer := runtimetest.NewList(t, inner, inner)
		if err := outer.Append(outer); err != nil {
			t.Fatal(err)
		}
		out := runtimetest.Must[*tvmffi.List[any]](t)(structural.DeepCopy(outer))
		a, b, c := out.At(0).(tvmffi.ObjectRef), out.At(1).(tvmffi.ObjectRef), out.At(2).(tvmffi.ObjectRef)
		if !tvmffi.Same(a, b) || tvmffi.Same(a, inner) || !tvmffi.Same(c, out) || tvmffi.Same(out, outer) {
			t.Error("the objects in the copy are not shared in the same way as in the original")
		}
		for _, x := range []interface{ Release() }{a.(interface{ Release() }), b.(interface{ Release() }), c.(interface{ Release() })} {
			x.Release()
		}
		runtimetest.EndLoop(t, out)
		runtimetest.EndLoop(t, outer)
		inner.Release()
	})
	t.Run("an object is copied with its fields", func(t *testing.T) {
		x := runtimetest.NewChain(t, 2)
		y := runtimetest.Must[*runtimetest.Link](t)(structural.DeepCopy(x))
		xn, yn := x.Next(), y.Next()
		if y.Value() != 1 || tvmffi.Same(x, y) || yn.Value() != 0 || tvmffi.Same(xn, yn) {
			t.Error("the copy is not a link of its own with a next link of its own")
		}
		xn.Release()
		yn.Release()
		y.Release()
		x.Release()
		_, err := structural.DeepCopy(x)
		runtimetest.WantError(t, err, tvmffi.ErrRuntime, "was released")
	})
	t.Run("objects that cannot be copied", func(t *testing.T) {
		bx := runtimetest.MakeBox(t, 1)
		_, err := structural.DeepCopy(bx)
		runtimetest.WantError(t, err, tvmffi.ErrInternal, `Cannot deep copy object of type "calls.Box" because it is not copy-constructible`)
		bx.Release()
		fn := runtimetest.Must[*tvmffi.Function](t)(tvmffi.Lookup("calls.nop"))
		_, err = structural.DeepCopy[any]([]any{fn})
		runtimetest.WantError(t, err, nil, "ffi.Function")
		fn.Release()
	})
}

func TestClone(t *testing.T) {
	runtimetest.LoadProgram(t)
	child := runtimetest.MakeBox(t, 1)
	t.Run("an object shares its fields", func(t *testing.T) {
		x := runtimetest.NewChain(t, 2)
		y := runtimetest.Must[*runtimetest.Link](t)(structural.Clone(x))
		xn, yn := x.Next(), y.Next()
		if y.Value() != 1 || tvmffi.Same(x, y) || !tvmffi.Same(xn, yn) {
			t.Error("the copy is not a link of its own with the next link of the original")
		}
		for _, l := range []*runtimetest.Link{x, y, xn, yn} {
			l.Release()
		}
	})
	_, err := structural.Clone(child)
	runtimetest.WantError(t, err, tvmffi.ErrType, "Type `calls.Box` does not support copy. The underlying C++ type is not copy-constructible.")
	t.Run("a list", func(t *testing.T) {
		l := runtimetest.NewList(t, child)
		m := runtimetest.Must[*tvmffi.List[any]](t)(structural.Clone(l))
		if err := m.Append(2); err != nil || l.Len() != 1 || m.Len() != 2 {
			t.Errorf("after Append to the copy the lists have %d and %d items, want 1 and 2; error %v", l.Len(), m.Len(), err)
		}
		m.Release()
		l.Release()
	})
	t.Run("a dict shares its values", func(t *testing.T) {
		d := runtimetest.Must[*tvmffi.Dict[string, any]](t)(tvmffi.NewDict(tvmffi.PairsOf(tvmffi.Pair[string, any]{Key: "k", Value: child}, tvmffi.Pair[string, any]{Key: "a long key on the heap", Value: "v"})))
		e := runtimetest.Must[*tvmffi.Dict[string, any]](t)(structural.Clone(d))
		if err := e.Set("new", 1); err != nil || d.Len() != 2 || e.Len() != 3 {
			t.Errorf("after Set in the copy the dicts have %d and %d items, want 2 and 3; error %v", d.Len(), e.Len(), err)
		}
		v, _ := e.Get("k")
		if !tvmffi.Same(v.(tvmffi.ObjectRef), child) {
			t.Error("the values of the dict are copied")
		}
		v.(*tvmffi.Object).Release()
		e.Release()
		d.Release()
	})
	t.Run("an array cannot change and is the same", func(t *testing.T) {
		a := runtimetest.Must[*tvmffi.Array[int64]](t)(tvmffi.NewArray[int64](1, 2))
		b := runtimetest.Must[*tvmffi.Array[int64]](t)(structural.Clone(a))
		if !tvmffi.Same(a, b) {
			t.Error("the clone of an array is another object, want the same: it cannot change")
		}
		a.Release()
		if b.Len() != 2 {
			t.Error("the copy has no reference of its own")
		}
		b.Release()
	})
	if n, err := structural.Clone((*runtimetest.Box)(nil)); n != nil || err != nil {
		t.Errorf("the clone of a nil *Box is %v, %v, want nil", n, err)
	}
	fn := runtimetest.Must[*tvmffi.Function](t)(tvmffi.Lookup("calls.nop"))
	_, err = structural.Clone(fn)
	runtimetest.WantError(t, err, tvmffi.ErrType, "Type `ffi.Function` does not support copy. The underlying C++ type is not copy-constructible.")
	fn.Release()
	child.Release()
	_, err = structural.Clone(child)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "was released")
}

func TestReplace(t *testing.T) {
	runtimetest.LoadProgram(t)
	x := runtimetest.NewChain(t, 1)
	y := runtimetest.Must[*runtimetest.Link](t)(structural.Replace(x, map[string]any{"value": 6, "small": 43, "next": x})) // small is read-only
	var got struct {
		Value int64             `ffi:"value"`
		Small int8              `ffi:"small"`
		Next  *runtimetest.Link `ffi:"next"`
	}
	if err := tvmffi.UnmarshalMap(y, &got); err != nil || got.Value != 6 || got.Small != 43 || !tvmffi.Same(got.Next, x) || x.Value() != 0 {
		t.Errorf("the replaced link is %+v, %v, want value 6, small 43 and the original as next", got, err)
	}
	got.Next.Release()
	y.Release()
	for _, c := range []struct {
		fields map[string]any
		kind   error
		want   string
	}{
		{map[string]any{"nope": 1}, tvmffi.ErrAttribute, `program.Link has no field "nope"`},
		{map[string]any{"value": "text"}, tvmffi.ErrType, "int"},
		{map[string]any{"next": x, "small": 300}, tvmffi.ErrValue, "300"},
		{map[string]any{"value": make(chan int)}, tvmffi.ErrType, "chan int"},
	} {
		_, err := structural.Replace(x, c.fields)
		runtimetest.WantError(t, err, c.kind, c.want)
	}
	a := runtimetest.Must[*tvmffi.Array[int64]](t)(tvmffi.NewArray[int64](1))
	_, err := structural.Replace(a, map[string]any{"x": 1})
	runtimetest.WantError(t, err, tvmffi.ErrAttribute, "ffi.Array has no field")
	a.Release()
	x.Release()
	_, err = structural.Replace(x, nil)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "was released")
	_, err = structural.Replace((*runtimetest.Box)(nil), nil)
	runtimetest.WantError(t, err, tvmffi.ErrType, "is nil")
	var e *tvmffi.Error
	if !errors.As(err, &e) {
		t.Errorf("the error is a %T, want an *Error", err)
	}
}
