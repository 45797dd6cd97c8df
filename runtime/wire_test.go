package tvmffi_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/schema"
)

// TestWire has the types whose values cross as those of another type.
func TestWire(t *testing.T) {
	runtimetest.Balanced(t)
	type word string
	type bits map[uint8]struct{}
	paris := time.Date(2026, 3, 29, 3, 0, 0, 123456789, time.FixedZone("", 7200))
	for _, c := range []struct {
		x      any
		checks []func(tvmffi.Any) string
	}{
		{paris, are(is(paris), is([]int64{1774746000, 123456789, 7200}))},
		{time.Time{}, are(is(time.Time{}), is([]int64{-62135596800, 0, 0}))},
		{time.Unix(-1, 999999999).UTC(), are(is(time.Unix(-1, 999999999).UTC()), is([]int64{-1, 999999999, 0}))},
		{&paris, are(is(&paris))},
		{(*time.Time)(nil), are(is((*time.Time)(nil)))},
		{1500 * time.Millisecond, are(is(1500*time.Millisecond), is(int64(1500000000)))},
		{complex(1.5, math.Inf(-1)), are(is(complex(1.5, math.Inf(-1))), is([]float64{1.5, math.Inf(-1)}))},
		{complex64(complex(0.5, -2)), are(is(complex64(complex(0.5, -2))), is([]float64{0.5, -2}))},
		{map[string]struct{}{"b": {}, "a": {}}, are(is(map[string]struct{}{"b": {}, "a": {}}), is([]string{"a", "b"}))},
		{map[word]struct{}{"b": {}}, are(is(map[word]struct{}{"b": {}}), is([]string{"b"}))},
		{bits{255: {}, 3: {}}, are(is(bits{255: {}, 3: {}}), is([]int64{3, 255}))},
		{map[int]struct{}{2: {}, -1: {}}, are(is(map[int]struct{}{2: {}, -1: {}}), is([]int64{-1, 2}))},
		{map[bool]struct{}(nil), are(is(map[bool]struct{}{}), is([]bool{}))},
		{[]map[int32]struct{}{{-1: {}}, {}}, are(is([]map[int32]struct{}{{-1: {}}, {}}), is([][]int64{{-1}, {}}))},
		{map[string][]time.Time{"x": {paris}}, are(is(map[string][]time.Time{"x": {paris}}))},
	} {
		a, err := runtimetest.Call("calls.echo", c.x)
		if err != nil {
			t.Errorf("%T: %v", c.x, err)
			continue
		}
		for _, check := range c.checks {
			if wrong := check(a); wrong != "" {
				t.Errorf("%T: %s", c.x, wrong)
			}
		}
		a.Release()
	}
	if x, err := tvmffi.Convert[complex128](runtimetest.MustCall(t, "calls.echo", 3)); err != nil || x != 3 {
		t.Errorf("an int is %v, %v", x, err)
	}
	for _, c := range []struct {
		x    any
		as   func(a tvmffi.Any) error
		kind error
		want string
	}{
		{"noon", decode[time.Time], tvmffi.ErrType, "expected Tuple<int, int, int>, got ffi.SmallStr"},
		{[]int64{1, 2}, decode[time.Time], tvmffi.ErrType, "got an array of 2 elements"},
		{[]int64{1, 1e9, 0}, decode[time.Time], tvmffi.ErrValue, "1 seconds and 1000000000 nanoseconds since 1970, 0 seconds east of UTC, are not a time"},
		{[]int64{1 << 60, 0, 0}, decode[time.Time], tvmffi.ErrValue, "are not a time"},
		{[]int64{0, 0, -86400}, decode[time.Time], tvmffi.ErrValue, "are not a time"},
		{[]float64{1e300, 0}, decode[complex64], tvmffi.ErrOverflow, "(1e+300+0i) does not fit complex64"},
		{1e300, decode[complex64], tvmffi.ErrOverflow, "does not fit complex64"},
		{"i", decode[complex128], tvmffi.ErrType, "expected Tuple<float, float>, got ffi.SmallStr"},
		{[]int64{256}, decode[map[uint8]struct{}], tvmffi.ErrOverflow, "element 0: expected an int from 0 to 255, got 256"},
		{[]any{"a", 1}, decode[map[string]struct{}], tvmffi.ErrType, "element 1: expected ffi.String, got int"},
		{map[string]int{"a": 1}, decode[map[string]struct{}], tvmffi.ErrType, "expected ffi.Array of string, got ffi.Map"},
		{[]float64{0.1, 0.1 + 1e-12}, decode[map[float32]struct{}], tvmffi.ErrValue, "two elements of the ffi.Array differ and are one element of a Go set of float32: take a slice"},
		{[][]float64{{0.1, 1}, {0.1 + 1e-12, 1}}, decode[map[[2]float32]struct{}], tvmffi.ErrValue, "a Go set of [2]float32"},
		{[]float64{0, math.Copysign(0, -1)}, decode[map[any]struct{}], tvmffi.ErrValue, "a Go set of interface {}"},
		{[]int64{1 << 53, 1<<53 + 1}, decodeLoosely[map[float64]struct{}], tvmffi.ErrValue, "a Go set of float64"},
		{[]int64{1, 2}, decodeLoosely[map[bool]struct{}], tvmffi.ErrValue, "a Go set of bool"},
	} {
		a := runtimetest.MustCall(t, "calls.echo", c.x)
		runtimetest.WantError(t, c.as(a), c.kind, c.want)
		a.Release()
	}
	// Two elements of a set must not become one outside Go. NaN differs from itself there, too.
	p, q, noon := int64(1), int64(1), time.Unix(43200, 0)
	for _, x := range []any{map[any]struct{}{int8(1): {}, int64(1): {}}, map[time.Time]struct{}{noon.UTC(): {}, noon.In(time.FixedZone("Greenwich", 0)): {}}, map[*int64]struct{}{&p: {}, &q: {}}, []any{map[any]struct{}{float32(0.5): {}, 0.5: {}}}} {
		_, err := tvmffi.AnyOf(x)
		runtimetest.WantError(t, err, tvmffi.ErrValue, "are the same value outside Go")
	}
	if a, err := tvmffi.AnyOf(map[any]struct{}{1: {}, true: {}, 1.0: {}, "1": {}, math.NaN(): {}, math.Inf(1): {}}); err != nil || a.Value().(*tvmffi.Array[tvmffi.Any]).Len() != 6 {
		t.Errorf("a set of six values is %v, %v", a, err)
	} else {
		a.Release()
	}
	metadata, err := tvmffi.MetadataOf(func(time.Time, []complex64, map[string]struct{}) time.Duration { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	m, err := schema.ParseMetadata(metadata)
	if got, want := m.Type.String(), "(Tuple<int, int, int>, ffi.Array<Tuple<float, float>>, ffi.Array<ffi.String>) -> int"; err != nil || got != want {
		t.Errorf("the schema is %s, %v, want %s", got, err, want)
	}
}

func are(checks ...func(tvmffi.Any) string) []func(tvmffi.Any) string { return checks }

// is returns a check that a value is want if it is read as a T.
func is[T any](want T) func(tvmffi.Any) string {
	return func(a tvmffi.Any) string {
		got, err := tvmffi.As[T](a)
		if err != nil {
			return fmt.Sprintf("as %T: %v", want, err)
		}
		return cmp.Diff(want, got)
	}
}

func decode[T any](a tvmffi.Any) error {
	_, err := tvmffi.As[T](a)
	return err
}

func decodeLoosely[T any](a tvmffi.Any) error {
	_, err := tvmffi.Convert[T](a)
	return err
}

// TestWire_same: an element may occur in a set again, in another form too.
func TestWire_same(t *testing.T) {
	runtimetest.Balanced(t)
	type pair struct {
		A int64 `ffi:"a"`
	}
	for _, c := range []struct {
		x     any
		check func(tvmffi.Any) (int, error)
		want  int
	}{
		{[]any{1, 1.0, true, 2}, setOf[float64], 2},
		{[]any{1 << 53, float64(1 << 53)}, setOf[float64], 1},
		{[]string{"a", "a", "a long text of more than 8 bytes", "a long text of more than 8 bytes"}, setOf[string], 2},
		{[][]any{{0.5, 1}, {0.5, 1.0}}, setOf[[2]float64], 1},
		{[]map[string]any{{"a": 1}, {"a": 1}}, setOf[pair], 1},
		{[]float64{math.NaN(), math.NaN()}, setOf[float64], 2},
		{[]any{tvmffi.Float32, tvmffi.Float32}, setOf[tvmffi.DataType], 1},
	} {
		a := runtimetest.MustCall(t, "calls.echo", c.x)
		if n, err := c.check(a); n != c.want || err != nil {
			t.Errorf("%v is a set of %d, %v, want %d", c.x, n, err, c.want)
		}
		a.Release()
	}
}

// TestWire_beyondInt64: elements of a set that only a BigInt holds are compared as numbers, too.
func TestWire_beyondInt64(t *testing.T) {
	runtimetest.Balanced(t)
	differ, err := tvmffi.AnyOf([]any{uint64(1 << 63), uint64(1<<63 + 1)})
	if capi.API.BigIntFromByteArray == 0 {
		runtimetest.WantError(t, err, tvmffi.ErrOverflow, "the loaded libtvm_ffi has no integers beyond those of int64")
		return
	}
	runtimetest.WantError(t, decodeLoosely[map[float64]struct{}](differ), tvmffi.ErrValue, "a Go set of float64")
	differ.Release()
	same := runtimetest.MustCall(t, "calls.echo", []any{uint64(1 << 63), float64(1 << 63)})
	if n, err := setOf[float64](same); n != 1 || err != nil {
		t.Errorf("a set of %d, %v, want 1", n, err)
	}
	same.Release()
}

func setOf[K comparable](a tvmffi.Any) (int, error) {
	set, err := tvmffi.Convert[map[K]struct{}](a)
	return len(set), err
}
