//go:build tvm

package rpc_test

import (
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/crosstest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

// TestCrosses gives each value to a Go func of a server, which returns it.
func TestCrosses(t *testing.T) {
	server, _ := serve(t, rpc.Config{})
	s := dial(t, server.Addr().String(), rpc.DialOptions{})
	ctx := limited(t, time.Minute)
	cells := crosstest.Trips(t, func(x any) (tvmffi.Any, error) { return s.Call(ctx, "rpc.test.echo", x) })
	crosstest.Results(t, cells, func(graph []byte) (tvmffi.Any, error) { return s.Call(ctx, "rpc.test.make", graph) })
	crosstest.Raise(t, cells, func(kind, message string) error {
		_, err := s.Call(ctx, "rpc.test.fail", []byte(kind), []byte(message))
		return err
	})
	crosstest.Check(t, "RPC", "TVM "+nativetest.PinnedVersion(t, "apache-tvm"), cells)
}
