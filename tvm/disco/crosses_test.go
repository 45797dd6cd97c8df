//go:build tvm

package disco_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/crosstest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/disco"
)

// TestCrosses gives each value to a Go func of a worker, a process, which returns it.
func TestCrosses(t *testing.T) {
	need(t)
	s := open(t, disco.Processes, 1, disco.Options{})
	trip := func(name string, args ...any) (tvmffi.Any, error) {
		d, err := s.Call(s.Function(name), args...)
		if err != nil {
			return tvmffi.Any{}, err
		}
		defer d.Release()
		return d.Get(t.Context(), 0)
	}
	cells := crosstest.Trips(t, func(x any) (tvmffi.Any, error) { return trip("disco.test.echo", x) })
	crosstest.Results(t, cells, func(graph []byte) (tvmffi.Any, error) { return trip("disco.test.make", graph) })
	crosstest.Raise(t, cells, func(kind, message string) error {
		_, err := trip("disco.test.raise", []byte(kind), []byte(message))
		return err
	})
	crosstest.Check(t, "Disco", "TVM "+nativetest.PinnedVersion(t, "apache-tvm"), cells)
}
