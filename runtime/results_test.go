package tvmffi_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestSeveralResults: the results of a Go func are a tuple, in both directions, and its
// metadata says so.
func TestSeveralResults(t *testing.T) {
	runtimetest.Load(t)
	divMod := func(a, b int64) (quotient, rest int64, err error) {
		if b == 0 {
			return 0, 0, tvmffi.NewError("ValueError", "b is zero")
		}
		return a / b, a % b, nil
	}
	fn, err := tvmffi.FuncOf(divMod)
	if err != nil {
		t.Fatal(err)
	}
	defer fn.Release()
	got, err := tvmffi.As[[]int64](runtimetest.Must[tvmffi.Any](t)(fn.Call(17, 5)))
	if err != nil || len(got) != 2 || got[0] != 3 || got[1] != 2 {
		t.Error(got, err)
	}
	if _, err := fn.Call(1, 0); !errors.Is(err, tvmffi.ErrValue) {
		t.Error(err)
	}
	// A Function becomes a Go func with several results.
	both := func(call func(int64, int64) (int64, string, error)) string {
		_, text, err := call(17, 5)
		if err != nil {
			return err.Error()
		}
		return text
	}
	apply, err := tvmffi.FuncOf(both)
	if err != nil {
		t.Fatal(err)
	}
	defer apply.Release()
	for _, c := range []struct {
		f    any
		want string
	}{
		{func(a, b int64) (int64, string) { return a - b, "minus" }, "minus"},
		{divMod, "tuple element 1: expected ffi.String, got int"},
		{func(a, b int64) int64 { return a }, "expected Tuple<int, ffi.String>, got int"},
	} {
		text, err := tvmffi.As[string](runtimetest.Must[tvmffi.Any](t)(apply.Call(c.f)))
		if err != nil || !strings.Contains(text, c.want) {
			t.Errorf("%q, %v, want %q", text, err, c.want)
		}
	}
	metadata, err := tvmffi.MetadataOf(divMod)
	if err != nil || !strings.Contains(metadata, `Tuple`) {
		t.Error(metadata, err)
	}
}
