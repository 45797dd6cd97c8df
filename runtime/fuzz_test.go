package tvmffi_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Values of every kind come back from C++ as they went, by every route.
func FuzzAnyRoundTrip(f *testing.F) {
	f.Add("", []byte(nil), int64(0), 0.0)
	f.Add("exactly", []byte("exactly8"), int64(math.MinInt64), math.Inf(-1))
	f.Add("with\x00NUL", []byte{0}, int64(math.MaxInt64), math.NaN())
	f.Add("größer als sieben", bytes.Repeat([]byte{255}, 500), int64(-1), math.Copysign(0, -1))
	runtimetest.Load(f)
	callback := runtimetest.Must[*tvmffi.Function](f)(tvmffi.FuncOf(func(x any) any { return x }))
	f.Fuzz(func(t *testing.T, s string, b []byte, i int64, x float64) {
		for _, route := range []func(v any) (tvmffi.Any, error){
			func(v any) (tvmffi.Any, error) { return runtimetest.Call("calls.echo", v) },
			func(v any) (tvmffi.Any, error) { return runtimetest.Call("testing.echo", v) },
			func(v any) (tvmffi.Any, error) { return runtimetest.Call("calls.apply", callback, v) },
			tvmffi.AnyOf[any],
		} {
			check := func(in any, same func(out any) bool) {
				t.Helper()
				v, err := route(in)
				if err != nil || !same(v.Value()) {
					t.Errorf("%T %v came back as %v, %v", in, in, v, err)
				}
				v.Release()
			}
			check(s, func(out any) bool { return out == any(s) })
			check(b, func(out any) bool { o, ok := out.([]byte); return ok && bytes.Equal(o, b) })
			check(i, func(out any) bool { return out == any(i) })
			check(x, func(out any) bool {
				o, ok := out.(float64)
				return ok && math.Float64bits(o) == math.Float64bits(x)
			})
			check([]any{s, i, []any{x, b}}, func(out any) bool {
				a, ok := out.(*tvmffi.Array[tvmffi.Any])
				return ok && a.Len() == 3 && a.At(0).Value() == any(s) && a.At(1).Value() == any(i)
			})
			check(map[string]any{s: i}, func(out any) bool {
				m, ok := out.(*tvmffi.Map[tvmffi.Any, tvmffi.Any])
				if !ok || m.Len() != 1 {
					return false
				}
				for k, v := range m.All() {
					if k.Value() != any(s) || v.Value() != any(i) {
						return false
					}
				}
				return true
			})
		}
		_, err := runtimetest.Call("calls.fail", s, string(b))
		if e, ok := err.(*tvmffi.Error); !ok || e.Kind != s || e.Message != string(b) {
			t.Errorf("error %q: %q", s, err)
		}
	})
}
