package structural_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

type levels []levels

// The limit of nesting is 1000 levels exactly, for values of the library, with and without
// shared parts, and for values of Go on their way in and out.
func TestDepth(t *testing.T) {
	runtimetest.Load(t)
	chain := func(n int, share bool) *tvmffi.Array[tvmffi.Any] {
		x := runtimetest.Must[*tvmffi.Array[tvmffi.Any]](t)(tvmffi.NewArray[tvmffi.Any]())
		for range n - 1 {
			inner := runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(x))
			above := runtimetest.Must[*tvmffi.Array[tvmffi.Any]](t)(tvmffi.NewArray(inner))
			if !share {
				x.Release()
			}
			x = above
		}
		return x
	}
	hashed := func(x any) error { return runtimetest.ErrorOf(structural.Hash(x)) }
	for name, f := range map[string]func(n int) error{
		"owned by one":  func(n int) error { return hashed(chain(n, false)) },
		"owned by more": func(n int) error { return hashed(chain(n, true)) },
		// The inner part is known when it is met again, one level further down.
		"met again": func(n int) error {
			inner := runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(chain(n-2, true)))
			below := runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(runtimetest.Must[*tvmffi.Array[tvmffi.Any]](t)(tvmffi.NewArray(inner))))
			return hashed(runtimetest.Must[*tvmffi.Array[tvmffi.Any]](t)(tvmffi.NewArray(inner, below)))
		},
		"Go slices": func(n int) error {
			x := levels{}
			for range n - 1 {
				x = levels{x}
			}
			return runtimetest.ErrorOf(tvmffi.AnyOf(x))
		},
		"into Go slices": func(n int) error {
			return runtimetest.ErrorOf(tvmffi.As[levels](runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(chain(n, false)))))
		},
	} {
		if err := f(1000); err != nil {
			t.Errorf("%s: 1000 levels: %v", name, err)
		}
		if err := f(1001); err == nil {
			t.Errorf("%s: 1001 levels are accepted", name)
		} else {
			runtimetest.WantError(t, err, tvmffi.ErrValue, "nested deeper than 1000 levels")
		}
	}
}
