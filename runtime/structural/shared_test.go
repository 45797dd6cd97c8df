package structural_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/jsongraph"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

// doubled is an Array that refers twice to the Array one level below it.
func doubled(t *testing.T, levels int) *tvmffi.Array[tvmffi.Any] {
	t.Helper()
	x := runtimetest.Must[*tvmffi.Array[tvmffi.Any]](t)(tvmffi.NewArray[tvmffi.Any]())
	for range levels {
		inner := runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(x))
		x = runtimetest.Must[*tvmffi.Array[tvmffi.Any]](t)(tvmffi.NewArray(inner, inner))
	}
	return x
}

// A function that goes through a shared part once for each reference refuses a value on which
// it would not end. One that goes through each part once takes it.
func TestShared(t *testing.T) {
	runtimetest.Load(t)
	x, y := doubled(t, 60), doubled(t, 60)
	list := runtimetest.Must[*tvmffi.List[*tvmffi.Array[tvmffi.Any]]](t)(tvmffi.NewList(x))
	dict := runtimetest.Must[*tvmffi.Dict[string, *tvmffi.Array[tvmffi.Any]]](t)(tvmffi.NewDict(tvmffi.MapOf(map[string]*tvmffi.Array[tvmffi.Any]{"k": x})))
	older := func(t testing.TB, err error) bool {
		return errors.Is(err, errors.ErrUnsupported) && runtimetest.Older(t, "0.1.12", err)
	}
	for name, call := range map[string]func() error{
		"structural.Equal":         func() error { return runtimetest.ErrorOf(structural.Equal(x, y)) },
		"structural.Equal of List": func() error { return runtimetest.ErrorOf(structural.Equal(list, list)) },
		"structural.Hash":          func() error { return runtimetest.ErrorOf(structural.Hash(x)) },
		"structural.Hash of Dict":  func() error { return runtimetest.ErrorOf(structural.Hash(dict)) },
		"KeyOf":                    func() error { return runtimetest.ErrorOf(structural.KeyOf(x)) },
		"FirstMismatch":            func() error { return runtimetest.ErrorOf(structural.FirstMismatch(x, y)) },
		"Repr":                     func() error { return runtimetest.ErrorOf(tvmffi.Repr(x)) },
		"Equal":                    func() error { return runtimetest.ErrorOf(tvmffi.Equal(x, y)) },
		"Compare":                  func() error { return runtimetest.ErrorOf(tvmffi.Compare(x, y)) },
		"MarshalJSON":              func() error { return runtimetest.ErrorOf(x.MarshalJSON()) },
		"StringifyJSON":            func() error { return runtimetest.ErrorOf(tvmffi.StringifyJSON(x, 0)) },
		"metadata":                 func() error { return runtimetest.ErrorOf(jsongraph.Marshal(1, map[string]any{"k": x})) },
	} {
		t.Run(name, func(t *testing.T) {
			err := call()
			if older(t, err) {
				return
			}
			runtimetest.WantError(t, err, tvmffi.ErrValue, "the value shares parts with itself so often that to go through it takes more than 134217728 visits")
		})
	}
	for name, text := range map[string]string{"String": x.String(), "fmt": fmt.Sprint(x)} {
		if !strings.Contains(text, "<ffi.Array: ValueError: the value shares parts") {
			t.Errorf("%s: %.200s", name, text)
		}
	}
	graph, err := jsongraph.Marshal(x, nil)
	if err != nil || len(graph) > 10_000 {
		t.Errorf("the graph has %d bytes: %v", len(graph), err)
	}
	if same, err := tvmffi.Hash(x); !older(t, err) && (err != nil || same == 0) {
		t.Errorf("the hash of the contents is %d: %v", same, err)
	}
	if _, err := structural.DeepCopy(x); err != nil {
		t.Error(err)
	}
	// Ten levels are 2^10 parts, and a long list shares nothing.
	if same, err := structural.Equal(doubled(t, 10), doubled(t, 10)); err != nil || !same {
		t.Errorf("10 levels are equal: %v, %v", same, err)
	}
}
