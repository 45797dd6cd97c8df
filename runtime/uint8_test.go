package tvmffi_test

import (
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestSlicesOfBytes: []byte and types made of it are bytes. A slice of a type made of byte is a sequence of its values, as a
// slice of any other type with constants is.
func TestSlicesOfBytes(t *testing.T) {
	runtimetest.Load(t)
	type mode uint8
	type modes []mode
	type blob []byte
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(x []mode, b blob) ([]mode, blob) { return append(x, 7), b }))
	v := runtimetest.Must[tvmffi.Any](t)(f.Call([]int{1, 2}, []byte("ab")))
	got := runtimetest.Must[tvmffi.Tuple2[modes, []byte]](t)(tvmffi.As[tvmffi.Tuple2[modes, []byte]](v))
	if !slices.Equal(got.A, modes{1, 2, 7}) || string(got.B) != "ab" {
		t.Errorf("the func returned %v", got)
	}
	for _, args := range [][]any{{[]byte{1}, []byte{}}, {[]int{256}, []byte{}}, {[]mode{1}, []int{1}}} {
		if v, err := f.Call(args...); err == nil {
			t.Errorf("%v: no error but %v", args, v)
		}
	}
}
