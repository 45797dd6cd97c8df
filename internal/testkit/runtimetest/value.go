package runtimetest

import (
	"fmt"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/testkit/values"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Value makes a value of package values one of Go or of package tvmffi. The caller calls release.
func Value(v any) (x any, release func(), err error) {
	nothing := func() {}
	switch v := v.(type) {
	case values.None:
		return nil, nothing, nil
	case values.DataType:
		return tvmffi.DataType(v), nothing, nil
	case values.Device:
		return tvmffi.Device(v), nothing, nil
	case values.Pointer:
		return tvmffi.Pointer(v), nothing, nil
	case values.List:
		return held(tvmffi.NewList([]any(v)...))
	case values.Shape:
		return held(tvmffi.NewShape(v...))
	case values.Map:
		return held(tvmffi.NewMap(pairs(v)))
	case values.Dict:
		return held(tvmffi.NewDict(pairs(v)))
	case values.Loop:
		l, err := tvmffi.NewList[any](1)
		if err == nil {
			err = l.Append(l)
		}
		return l, func() {
			if err := l.Clear(); err == nil {
				l.Release()
			}
		}, err
	}
	return v, nothing, nil
}

func held[T interface{ Release() }](x T, err error) (any, func(), error) {
	if err != nil {
		return nil, func() {}, err
	}
	return x, x.Release, nil
}

func pairs[M ~[]values.Pair](entries M) tvmffi.Pairs[any, any] {
	items := make([]tvmffi.Pair[any, any], len(entries))
	for i, e := range entries {
		items[i] = tvmffi.Pair[any, any](e)
	}
	return tvmffi.PairsOf(items...)
}

// Values gives each row of package values, with its value, to do. The loaded library may have no integers beyond int64.
func Values(t testing.TB, do func(r values.Row, x any)) {
	t.Helper()
	Load(t)
	for _, r := range values.Rows {
		x, release, err := Value(r.Value)
		if err != nil {
			t.Fatalf("%s: %v", r.Name, err)
		}
		if r.Key == "ffi.BigInt" && capi.API.BigIntFromByteArray == 0 {
			WantError(t, ErrorOf(tvmffi.AnyOf(x)), tvmffi.ErrOverflow, "the loaded libtvm_ffi has no integers beyond those of int64")
			continue
		}
		do(r, x)
		release()
	}
}

// Identity is the same for rows whose values are equal.
func Identity(r values.Row, x any) string {
	if r.Graph != "" {
		return r.Key + r.Graph
	}
	return r.Key + Shown(x)
}

// Shown describes x with its Go type, so that floats that differ have two texts, and those that are NaN have one.
func Shown(x any) string { return fmt.Sprintf("%T %#v", x, x) }

// WantBack compares what Go reads of the value x of a row. Of an object it compares the type.
func WantBack(t testing.TB, how string, r values.Row, x any, v tvmffi.Any, err error) {
	t.Helper()
	want := x
	if r.Back != nil {
		want, _, _ = Value(r.Back)
	}
	if err != nil || v.TypeKey() != r.Key {
		t.Errorf("%s: %s came back as a %s, %v, want %s", how, r.Name, v.TypeKey(), err, r.Key)
		return
	}
	got := v.Value()
	if _, isObject := got.(tvmffi.ObjectRef); !isObject && Shown(got) != Shown(want) {
		t.Errorf("%s: %s came back as %.80s, want %.80s", how, r.Name, Shown(got), Shown(want))
	}
}
