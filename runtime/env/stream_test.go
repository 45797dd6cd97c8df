package env_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/env"
)

// A host without the function of signals does not interrupt.
func TestCheckSignals(t *testing.T) {
	runtimetest.LoadTensors(t)
	defer func(f uintptr) { capi.API.EnvCheckSignals = f }(capi.API.EnvCheckSignals)
	for range 2 {
		if err := env.CheckSignals(); err != nil {
			t.Error(err)
		}
		capi.API.EnvCheckSignals = 0
	}
}

func TestWithStream(t *testing.T) {
	runtimetest.LoadTensors(t)
	current := func(t *testing.T, d tvmffi.Device) uintptr {
		t.Helper()
		inGo := runtimetest.Must[tvmffi.Pointer](t)(env.CurrentStream(d)).Address
		inC := runtimetest.Get[tvmffi.Pointer](t, "tensors.stream", int64(d.Type), int64(d.ID)).Address
		if inGo != inC {
			t.Errorf("the current stream is %#x in Go and %#x in C++", inGo, inC)
		}
		return inC
	}
	t.Run("the stream belongs to one device and thread until f returns", func(t *testing.T) {
		mine := errors.New("mine")
		err := env.WithStream(tvmffi.CUDA(1), tvmffi.Pointer{Address: 0x10}, func() error {
			if s := current(t, tvmffi.CUDA(1)); s != 0x10 {
				t.Errorf("the stream is %#x, want 0x10", s)
			}
			if s := current(t, tvmffi.CUDA(0)); s != 0 {
				t.Errorf("another device has the stream %#x, want 0", s)
			}
			if s := runtimetest.Get[tvmffi.Pointer](t, "tensors.stream_on_thread", int64(tvmffi.DeviceCUDA), int64(1)); s.Address != 0 {
				t.Errorf("another thread has %#x", s)
			}
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the panic of f did not pass through WithStream")
					}
				}()
				env.WithStream(tvmffi.CUDA(1), tvmffi.Pointer{Address: 0x20}, func() error {
					if s := current(t, tvmffi.CUDA(1)); s != 0x20 {
						t.Errorf("the inner stream is %#x, want 0x20", s)
					}
					panic("inner")
				})
			}()
			if s := current(t, tvmffi.CUDA(1)); s != 0x10 {
				t.Errorf("the stream after the panic is %#x, want 0x10", s)
			}
			runtime.Gosched()
			if err := env.WithStream(tvmffi.CPU, tvmffi.Pointer{Address: 0x30}, func() error { return nil }); err != nil {
				t.Error(err)
			}
			return mine
		})
		if err != mine {
			t.Error(err)
		}
	})
	t.Run("every goroutine has a thread of its own meanwhile", func(t *testing.T) {
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for range 100 {
					s := tvmffi.Pointer{Address: uintptr(16 * (i + 1))}
					if err := env.WithStream(tvmffi.CUDA(0), s, func() error {
						runtime.Gosched()
						if got, err := env.CurrentStream(tvmffi.CUDA(0)); err != nil || got != s {
							return fmt.Errorf("%v, want %v: %v", got, s, err)
						}
						return nil
					}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if s := current(t, tvmffi.CUDA(0)); s != 0 {
			t.Errorf("the stream is %#x at the end, want 0", s)
		}
	})
	t.Run("devices", func(t *testing.T) {
		for _, d := range []tvmffi.Device{{}, {Type: -1}, {Type: tvmffi.DeviceCUDA, ID: -1}, {Type: tvmffi.DeviceCUDA, ID: 1 << 12}, {Type: tvmffi.DeviceCUDA, ID: math.MaxInt32}, {Type: 1 << 12}, {Type: math.MaxInt32}} {
			runtimetest.WantError(t, env.WithStream(d, tvmffi.Pointer{}, nil), tvmffi.ErrValue, "is not a device: expected a type from 1 and an ID from 0")
			runtimetest.WantError(t, runtimetest.ErrorOf(env.CurrentStream(d)), tvmffi.ErrValue, "is not a device: expected a type from 1 and an ID from 0")
		}
	})
}
