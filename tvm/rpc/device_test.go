//go:build tvm && linux

package rpc_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

// TestNewTensor_device: a device may have the number of its session, once or twice, and no other one. TVM reads where no session
// is, and this process ended.
func TestNewTensor_device(t *testing.T) {
	server, _ := serve(t, rpc.Config{MaxSessions: 2})
	s, other := dial(t, server.Addr().String(), rpc.DialOptions{}), dial(t, server.Addr().String(), rpc.DialOptions{})
	ctx := limited(t, 30*time.Second)
	for _, d := range []tvmffi.Device{tvmffi.CPU, s.Device(tvmffi.CPU), s.Device(s.Device(tvmffi.CPU))} {
		x, err := s.NewTensor(ctx, tvmffi.Float32, d, 4)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Device(); got != s.Device(tvmffi.CPU) {
			t.Errorf("the tensor is on %v", got)
		}
		x.Release()
	}
	module := module(t, s)
	for _, d := range []tvmffi.Device{other.Device(tvmffi.CPU), {Type: -1}, {Type: math.MinInt32}, {Type: 1 << 30}, {Type: math.MaxInt32}} {
		_, err := s.NewTensor(ctx, tvmffi.Float32, d, 4)
		if !errors.Is(err, tvmffi.ErrValue) || !strings.Contains(err.Error(), "is not one of the session with "+s.Addr()+": pass a device of the server, such as tvmffi.CPU") {
			t.Errorf("a tensor on %v: %v", d, err)
		}
		if _, err := module.Timer(ctx, "echo", rpc.TimerOptions{Device: d}); !errors.Is(err, tvmffi.ErrValue) {
			t.Errorf("a timer on %v: %v", d, err)
		}
	}
	timer, err := module.Timer(ctx, "echo", rpc.TimerOptions{Device: s.Device(tvmffi.CPU)})
	if err != nil {
		t.Fatal(err)
	}
	defer timer.Release()
	if times, err := timer.Run(ctx, 1); err != nil || len(times) != 1 {
		t.Errorf("%v, %v", times, err)
	}

	lost, err := other.NewTensor(ctx, tvmffi.Float32, tvmffi.CPU, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer lost.Release()
	other.Close()
	if numbers, err := tvmffi.ReadSlice[float32](lost); err == nil || numbers != nil {
		t.Errorf("a tensor of a closed session has %v, %v", numbers, err)
	}
}

// TestNewTensor_size: TVM gives a tensor with 2^60 or 2^80 elements no memory, and no error.
func TestNewTensor_size(t *testing.T) {
	server, _ := serve(t, rpc.Config{})
	s := dial(t, server.Addr().String(), rpc.DialOptions{})
	for _, shape := range [][]int64{{1 << 60}, {1 << 40, 1 << 40}, {-1}, {3, -1, -1}} {
		if x, err := s.NewTensor(limited(t, 30*time.Second), tvmffi.Float32, tvmffi.CPU, shape...); !errors.Is(err, tvmffi.ErrValue) {
			t.Errorf("shape %v: %v, %v", shape, x, err)
		}
	}
	if x, err := s.NewTensor(limited(t, 30*time.Second), tvmffi.Float32, tvmffi.CPU, 1<<60, 0); err != nil || x.Len() != 0 {
		t.Errorf("no element: %v", err)
	}
}
