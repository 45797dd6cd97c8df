//go:build tvm

package disco_test

import (
	"errors"
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/disco"
)

// TestEmpty_size: TVM gives a tensor with 2^60 or 2^80 elements no memory, and no error.
func TestEmpty_size(t *testing.T) {
	need(t)
	s, err := disco.Threads(t.Context(), 1, disco.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, shape := range [][]int64{{1 << 60}, {1 << 40, 1 << 40}, {-1}, {3, -1, -1}} {
		if _, err := s.Empty(tvmffi.Float32, shape...); !errors.Is(err, tvmffi.ErrValue) {
			t.Errorf("Empty of %v: %v", shape, err)
		}
		if _, err := s.EmptyOnWorker0(tvmffi.Float32, shape...); !errors.Is(err, tvmffi.ErrValue) {
			t.Errorf("EmptyOnWorker0 of %v: %v", shape, err)
		}
	}
}
