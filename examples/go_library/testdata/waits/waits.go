// Package waits is a Go library for tests of calls that take time: their contexts, their
// asynchronous forms, what they find on their thread, and processes that fork.
package waits

//go:generate go tool tvmffi-bind export

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/define"
	"github.com/tvmffi-go/tvmffi/runtime/env"
)

// running counts the calls of Wait and Held that have not returned.
var running atomic.Int64

// Running returns the number of calls that wait and that have not returned.
//
//tvmffi:export
func Running() int64 { return running.Load() }

// Wait waits, and returns text.
//
//tvmffi:export
func Wait(ctx context.Context, milliseconds int64, text string) (string, error) {
	running.Add(1)
	defer running.Add(-1)
	select {
	case <-time.After(time.Duration(milliseconds) * time.Millisecond):
		return text, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// gate is closed by Open.
var gate = struct {
	sync.Mutex
	c chan struct{}
}{c: make(chan struct{})}

// Open lets the calls of Held that are under way return.
//
//tvmffi:export
func Open() {
	gate.Lock()
	defer gate.Unlock()
	close(gate.c)
	gate.c = make(chan struct{})
}

// Held waits for Open, and returns text. If deaf is set, it does not look at its context.
//
//tvmffi:export
func Held(ctx context.Context, deaf bool, text string) (string, error) {
	gate.Lock()
	c := gate.c
	gate.Unlock()
	running.Add(1)
	defer running.Add(-1)
	if deaf {
		ctx = context.Background()
	}
	select {
	case <-c:
		return text, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// Stubborn waits and does not look at its context.
//
//tvmffi:export
func Stubborn(_ context.Context, milliseconds int64) int64 {
	time.Sleep(time.Duration(milliseconds) * time.Millisecond)
	return milliseconds
}

// Quick does nothing.
//
//tvmffi:export
func Quick(context.Context) {}

// Plain does nothing, without a context.
//
//tvmffi:export
func Plain() {}

// Fails fails in the way that how names.
//
//tvmffi:export
func Fails(_ context.Context, how string) error {
	switch how {
	case "plain":
		return errors.New("a plain error")
	case "panic":
		panic("a panic")
	case "goexit":
		runtime.Goexit()
	}
	return tvmffi.NewError(how, "an error of the kind "+how)
}

// Apply calls f with x, after a while.
//
//tvmffi:export
func Apply(_ context.Context, f func(any) (any, error), x any) (any, error) {
	time.Sleep(10 * time.Millisecond)
	return f(x)
}

// Fill sets all elements of t, after a while.
//
//tvmffi:export
func Fill(_ context.Context, t *tvmffi.Tensor, value float32) error {
	time.Sleep(10 * time.Millisecond)
	elements, err := tvmffi.Slice[float32](t)
	if err != nil {
		return err
	}
	for i := range elements {
		elements[i] = value
	}
	return nil
}

// Big returns a tensor with n elements, after a while, whether the context has ended or not.
//
//tvmffi:export
func Big(_ context.Context, n int64) (*tvmffi.Tensor, error) {
	time.Sleep(20 * time.Millisecond)
	return tvmffi.FromSlice(make([]float32, n))
}

// Stream returns the address of the current stream of a device.
//
//tvmffi:export
func Stream(_ context.Context, d tvmffi.Device) (int64, error) {
	s, err := env.CurrentStream(d)
	return int64(s.Address), err
}

// Inner calls f, and sees what f sees of streams.
//
//tvmffi:export
func Inner(_ context.Context, f func() (int64, error)) (int64, error) { return f() }

// Allocated asks the allocator of the thread for a tensor.
//
//tvmffi:export
func Allocated(_ context.Context, n int64) (*tvmffi.Tensor, error) {
	return env.EnvTensor(env.TensorSpec{DataType: tvmffi.Float32, Device: tvmffi.CPU, Shape: []int64{n}})
}

// Counts returns the numbers of goroutines and of Go values that other languages hold.
//
//tvmffi:export
func Counts() []int64 {
	runtime.GC()
	return []int64{int64(runtime.NumGoroutine()), objects.LiveCallbacks()}
}

// Slow is a number that takes its time.
//
//tvmffi:object
type Slow struct {
	N int64 `ffi:"n"`
}

// Wait waits, and returns the number.
//
//tvmffi:method
func (s Slow) Wait(ctx context.Context, milliseconds int64) (int64, error) {
	_, err := Wait(ctx, milliseconds, "")
	return s.N, err
}

// Add waits, and adds to the number.
//
//tvmffi:method
func (s *Slow) Add(ctx context.Context, milliseconds, n int64) error {
	if _, err := Wait(ctx, milliseconds, ""); err != nil {
		return err
	}
	s.N += n
	return nil
}

// Get returns the number.
//
//tvmffi:method
func (s Slow) Get() int64 { return s.N }

// Made makes a Slow.
//
//tvmffi:export
func Made(n int64) (*define.Instance[Slow], error) { return SlowType.New(Slow{n}) }

// Function makes a function.
//
//tvmffi:export
func Function() func() int64 { return func() int64 { return 42 } }
