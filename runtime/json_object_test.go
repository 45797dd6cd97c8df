package tvmffi_test

import (
	"encoding/json"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/define"
)

// Every object type has MarshalJSON from Object: alone, behind an interface, in Go
// structs and in containers.
// Nothing is lost without a word: an object is not made of JSON.
func TestUnmarshalRefused(t *testing.T) {
	runtimetest.LoadDefine(t)
	runtimetest.NewPoint(t, runtimetest.Point{}).Release() // the definition stays
	runtimetest.Balanced(t)
	p := runtimetest.NewPoint(t, runtimetest.Point{X: 1, Name: "p"})
	defer p.Release()
	for _, into := range []any{p, new(define.Instance[runtimetest.Point]), new(tvmffi.Object), new(tvmffi.Array[int64])} {
		err := json.Unmarshal([]byte(`{"x":2}`), into)
		runtimetest.WantError(t, err, tvmffi.ErrType, "no object of TVM-FFI is made of JSON")
	}
	if x := p.Value(); x.X != 1 {
		t.Errorf("the object became %+v", x)
	}
}

func TestMarshalObjects(t *testing.T) {
	runtimetest.LoadDefine(t)
	runtimetest.NewPoint(t, runtimetest.Point{}).Release() // registers the methods of the type, which stay
	runtimetest.Balanced(t)
	last := runtimetest.NewPoint(t, runtimetest.Point{X: 2, Name: "q", Tag: []any{1, "x"}})
	p := runtimetest.NewPoint(t, runtimetest.Point{X: 1, Y: 0.5, Name: "p", Next: last})
	array := runtimetest.Must[*tvmffi.Array[*define.Instance[runtimetest.Point]]](t)(tvmffi.NewArray(last))
	object := tvmffi.Upcast[*tvmffi.Object](last)
	const short = `{"x":2,"y":0.0,"name":"q","tag":[1,"x"],"next":null}`
	const long = `{"x":1,"y":0.5,"name":"p","tag":null,"next":` + short + `}`
	for _, c := range []struct {
		x    any
		want string
	}{
		{p, long},
		{object, short},
		{tvmffi.ObjectRef(last), short},
		{array, "[" + short + "]"},
		{[]tvmffi.ObjectRef{p, nil}, "[" + long + ",null]"},
		{map[string]*define.Instance[runtimetest.Point]{"p": last, "none": nil}, `{"none":null,"p":` + short + `}`},
		{struct {
			P    *define.Instance[runtimetest.Point]
			Q    *define.Instance[runtimetest.Point] `json:"q,omitempty"`
			None tvmffi.ObjectRef
		}{P: last}, `{"P":` + short + `,"None":null}`},
		{(*tvmffi.Object)(nil), "null"}, {(*define.Instance[runtimetest.Point])(nil), "null"}, {(*tvmffi.Tensor)(nil), "null"},
		// As with each method that is promoted.
		{struct {
			*define.Instance[runtimetest.Point]
			More int
		}{last, 3}, short},
		{ownJSON{last, 3}, `{"Point":` + short + `,"More":3}`},
		{tvmffi.VariantOf(last), short}, {tvmffi.VariantOf([]string{"a"}), `["a"]`}, {tvmffi.Variant{}, "null"},
	} {
		if text, err := json.Marshal(c.x); err != nil || string(text) != c.want {
			t.Errorf("%T is\n%s, want\n%s; %v", c.x, text, c.want, err)
		}
	}
	// A generic reader of JSON takes fields that the wrapper does not show.
	var back struct {
		X    int64
		Next struct{ Name string }
	}
	if text, err := json.Marshal(p); err != nil || json.Unmarshal(text, &back) != nil || back.X != 1 || back.Next.Name != "q" {
		t.Errorf("the point came back as %+v, %v, want x 1 and next q", back, err)
	}

	// Cycles, depth, and what has no form.
	if err := last.SetValue(runtimetest.Point{X: 3, Name: "r", Next: p}); err != nil {
		t.Fatal(err)
	}
	_, err := json.Marshal(p)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "the value contains itself, in gotest.Point")
	if err := last.SetValue(runtimetest.Point{Name: "r"}); err != nil {
		t.Fatal(err)
	}
	deep := runtimetest.NewPoint(t, runtimetest.Point{})
	for range 1200 {
		outer := runtimetest.NewPoint(t, runtimetest.Point{Next: deep})
		deep.Release()
		deep = outer
	}
	_, err = json.Marshal(deep)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "nested deeper than 1000 levels")
	fn := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() {}))
	value := runtimetest.Must[*tvmffi.Opaque](t)(tvmffi.NewOpaque(1))
	tensor := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]float32{1}))
	for _, c := range []struct {
		x    tvmffi.ObjectRef
		want string
	}{{fn, "ffi.Function has no form in JSON"}, {value, "has no form in JSON"}, {tensor, "ffi.Tensor has no form in JSON"}} {
		_, err := json.Marshal(map[string]any{"k": c.x})
		runtimetest.WantError(t, err, tvmffi.ErrType, c.want)
	}
	tagged := runtimetest.NewPoint(t, runtimetest.Point{Tag: fn})
	_, err = json.Marshal(tagged)
	runtimetest.WantError(t, err, tvmffi.ErrType, "field tag: ffi.Function has no form in JSON")
	for _, o := range []interface{ Release() }{p, last, array, deep, fn, value, tensor, tagged} {
		o.Release()
	}
	_, err = json.Marshal(p)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "was released")
}

// ownJSON embeds an object and says itself how it is written.
type ownJSON struct {
	*define.Instance[runtimetest.Point]
	More int
}

func (x ownJSON) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Point *define.Instance[runtimetest.Point]
		More  int
	}{x.Instance, x.More})
}
