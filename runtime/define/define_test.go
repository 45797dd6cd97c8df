package define_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/define"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

var (
	pointX    = define.FieldOf(runtimetest.PointType, func(p *runtimetest.Point) *int64 { return &p.X })
	pointName = define.FieldOf(runtimetest.PointType, func(p *runtimetest.Point) *string { return &p.Name })
	pointNext = define.FieldOf(runtimetest.PointType, func(p *runtimetest.Point) **define.Instance[runtimetest.Point] { return &p.Next })
)

// Point3 derives from Point.
type Point3 struct {
	runtimetest.Point
	Z    int8               `ffi:"z,kwonly,default=-3"`
	Wide *float64           `ffi:"wide"`
	Data []int64            `ffi:"data"`
	Keys map[string]float64 `ffi:"keys"`
}

var Point3Type = define.Object[Point3]("gotest.Point3",
	define.Default("data", []int64{1, 2}),
	define.DefaultFunc("keys", func() map[string]float64 { return map[string]float64{"a": 1} }))

func TestDefine(t *testing.T) {
	runtimetest.LoadDefine(t)
	p := runtimetest.NewPoint(t, runtimetest.Point{X: 3, Y: 4, Name: "a longer name than seven", Tag: int64(5)})
	defer p.Release()
	if tvmffi.TypeKey(p) != "gotest.Point" {
		t.Errorf("type key %q, want gotest.Point", tvmffi.TypeKey(p))
	}
	if v := p.Value(); v.X != 3 || v.Y != 4 || v.Name != "a longer name than seven" || v.Tag != int64(5) || v.Next != nil {
		t.Errorf("the new point is %+v, want the fields of New", v)
	}
	for name, want := range map[string]any{"x": int64(3), "y": 4.0, "name": "a longer name than seven", "tag": int64(5), "next": nil} {
		if got := runtimetest.MustCall(t, "define.get", p, name).Value(); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	runtimetest.MustCall(t, "define.set", p, "x", 9)
	runtimetest.MustCall(t, "define.set", p, "y", 2)
	runtimetest.MustCall(t, "define.set", p, "next", p.Value().Next)
	runtimetest.MustCall(t, "define.set_raw", p, "name", "a raw text of some length")
	if v := p.Value(); v.X != 9 || v.Y != 2 || v.Name != "a raw text of some length" {
		t.Errorf("after define.set the point is %+v, want x 9, y 2 and the raw text", v)
	}
	if err := pointX.Set(p, -1); err != nil || pointX.Get(p) != -1 {
		t.Errorf("after Set x is %d, want -1; error %v", pointX.Get(p), err)
	}
	q := runtimetest.NewPoint(t, runtimetest.Point{X: 1, Name: "q", Next: p})
	defer q.Release()
	if memstat.UseCount(p) != 2 {
		t.Errorf("use count %d while a field holds the point, want 2", memstat.UseCount(p))
	}
	next := pointNext.Get(q)
	if !tvmffi.Same(next, p) {
		t.Error("the field next is another object than the one set")
	}
	next.Release()
	if err := pointNext.Set(q, nil); err != nil || memstat.UseCount(p) != 1 {
		t.Errorf("use count %d after the field is nil, want 1; error %v", memstat.UseCount(p), err)
	}
	runtimetest.WantError(t, q.SetValue(runtimetest.Point{Name: "x", Tag: make(chan int)}), tvmffi.ErrType, "gotest.Point", "tag", "chan int")
	if v := q.Value(); v.X != 1 || v.Name != "q" {
		t.Errorf("SetValue failed, but the point is %+v now", v)
	}
	if err := q.SetValue(runtimetest.Point{X: 7, Name: "seven", Next: q}); err != nil {
		t.Fatal(err)
	}
	if err := pointNext.Set(q, nil); err != nil || pointName.Get(q) != "seven" {
		t.Fatal(err)
	}
	if s := p.String(); s != `gotest.Point(x=-1, y=2, name="a raw text of some length", tag=5, next=None)` {
		t.Errorf("String: %s, want all fields", s)
	}
}

// Setters return the same errors as setters of C++ fields.
func TestDefineSetterErrors(t *testing.T) {
	p := runtimetest.NewPoint(t, runtimetest.Point{X: 3, Name: "n"})
	defer p.Release()
	cpp := runtimetest.MustCall(t, "define.create", "define.Point")
	defer cpp.Release()
	array := runtimetest.MustCall(t, "ffi.Array", int64(1))
	defer array.Release()
	for _, c := range []struct {
		field string
		value any
		same  bool // C++ returns the same error
	}{
		{"x", 1.5, true}, {"x", "text", true}, {"x", nil, true}, {"x", array, true}, {"y", "a text that is long", true}, {"y", array, true},
		{"name", 1, true}, {"name", array, true}, {"name", nil, true}, {"next", 1, false}, {"next", array, false}, {"next", "text", false},
	} {
		_, err := runtimetest.Call("define.set", p, c.field, c.value)
		runtimetest.WantError(t, err, tvmffi.ErrType, "Cannot convert from type `")
		if !c.same {
			runtimetest.WantError(t, err, tvmffi.ErrType, "` to `Optional<gotest.Point>`")
			continue
		}
		_, want := runtimetest.Call("define.set", cpp, c.field, c.value)
		if err != nil && want != nil && err.Error() != want.Error() {
			t.Errorf("%s = %v: %v, in C++ %v", c.field, c.value, err, want)
		}
	}
	if v := p.Value(); v.X != 3 || v.Name != "n" || memstat.UseCount(p) != 1 {
		t.Errorf("setters failed, but the point is %+v now, with use count %d", v, memstat.UseCount(p))
	}
}

func TestDefineLibraryFacilities(t *testing.T) {
	runtimetest.LoadDefine(t)
	runtimetest.NeedFunctions(t, "ffi.RecursiveEq", "ffi.DeepCopy")
	inner := runtimetest.NewPoint(t, runtimetest.Point{X: 1, Name: "inner"})
	defer inner.Release()
	p := runtimetest.NewPoint(t, runtimetest.Point{X: 3, Y: 4, Name: "outer", Tag: "tag", Next: inner})
	defer p.Release()
	var entries atomic.Int64
	defer callbacks.TraceEntries(func() { entries.Add(1) })()

	made := runtimetest.MustCall(t, "ffi.MakeObjectFromPackedArgs", "gotest.Point", "x", 8, "name", "made")
	if m, err := tvmffi.As[*define.Instance[runtimetest.Point]](made); err != nil || m.Value().X != 8 || m.Value().Name != "made" || m.Value().Y != 0 {
		t.Errorf("the object that the library made is %v, want x 8, y 0 and name made; error %v", made, err)
	}
	made.Release()
	shallow := runtimetest.MustCall(t, "define.copy", p)
	if s, err := tvmffi.As[runtimetest.Point](shallow); err != nil || !tvmffi.Same(s.Next, inner) || s.Name != "outer" || s.Tag != "tag" {
		t.Errorf("the shallow copy is %+v, want the fields of the original; error %v", s, err)
	} else {
		s.Next.Release()
	}
	shallow.Release()
	deep := runtimetest.MustCall(t, "ffi.DeepCopy", p)
	d, err := tvmffi.As[*define.Instance[runtimetest.Point]](deep)
	if err != nil {
		t.Fatal(err)
	}
	if v := d.Value(); v.Next == nil || tvmffi.Same(v.Next, inner) || v.Next.Value().Name != "inner" {
		t.Errorf("the deep copy is %+v, want another inner point", v)
	} else {
		v.Next.Release()
	}
	for _, f := range []string{"ffi.RecursiveEq", "ffi.StructuralEqual"} {
		args := []any{p, d}
		if f == "ffi.StructuralEqual" {
			args = append(args, false, false)
		}
		if v := runtimetest.MustCall(t, f, args...); v.Value() != true {
			t.Errorf("%s of a point and its deep copy is %v, want true", f, v)
		}
	}
	text := runtimetest.MustCall(t, "ffi.ToJSONGraphString", p, nil)
	back := runtimetest.MustCall(t, "ffi.FromJSONGraphString", text)
	if v := runtimetest.MustCall(t, "ffi.RecursiveEq", p, back); v.Value() != true {
		t.Errorf("the JSON graph gives %v, want a point that equals %v", back, p)
	}
	back.Release()
	deep.Release()
	if s := fmt.Sprint(p); !strings.Contains(s, `next=gotest.Point(x=1`) {
		t.Errorf("fmt.Sprint: %s, want the inner point in it", s)
	}
	if n := runtimetest.MustCall(t, "define.churn", "gotest.Point", 4, 500).Value(); n != int64(4*500*5) {
		t.Errorf("define.churn returned %v, want %d", n, 4*500*5)
	}
	if entries.Load() != 0 {
		t.Errorf("%d entries into Go, want 0", entries.Load())
	}
	if v := runtimetest.MustCall(t, "define.method", "gotest.Point", "norm", p).Value(); v != 5.0 || entries.Load() != 1 {
		t.Errorf("norm returned %v with %d entries into Go, want 5 with 1", v, entries.Load())
	}
}
