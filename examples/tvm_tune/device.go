//go:build bindings

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

// A device is a server that runs kernels. The server has a process for each session. A kernel that
// crashes or does not end costs that process, and the next kernel gets a new one.
type device struct {
	address string
	limit   time.Duration // for one kernel

	turn    sync.Mutex // one kernel runs at a time
	session *rpc.Session
}

// measure runs the kernel in a file with random arguments. It returns several measurements, in seconds
// for one call.
func (d *device) measure(ctx context.Context, file string, arguments []tensorType) (seconds []float64, err error) {
	const repeat, atLeast = 3, 30 * time.Millisecond
	err = d.with(ctx, file, func(ctx context.Context, kernels *rpc.Module) error {
		tensors, release, err := d.random(ctx, arguments)
		if err != nil {
			return err
		}
		defer release()
		timer, err := kernels.Timer(ctx, entry, rpc.TimerOptions{Repeat: repeat, MinRepeat: atLeast})
		if err != nil {
			return err
		}
		defer timer.Release()
		times, err := timer.Run(ctx, tensors...)
		for _, t := range times {
			seconds = append(seconds, t.Seconds())
		}
		return err
	})
	return seconds, err
}

// multiply returns what the kernel in a file makes of two matrices of n rows.
func (d *device) multiply(ctx context.Context, file string, n int64, a, b []float32) (product []float32, err error) {
	err = d.with(ctx, file, func(ctx context.Context, kernels *rpc.Module) error {
		var tensors [3]*tvmffi.Tensor
		for i, numbers := range [][]float32{a, b, make([]float32, n*n)} {
			t, err := d.tensor(ctx, numbers, n, n)
			if err != nil {
				return err
			}
			defer t.Release()
			tensors[i] = t
		}
		multiply, err := kernels.Function(ctx, entry)
		if err != nil {
			return err
		}
		defer multiply.Release()
		if _, err := multiply.Call(ctx, tensors[0], tensors[1], tensors[2]); err != nil {
			return err
		}
		product, err = rpc.ReadSlice[float32](ctx, d.session, tensors[2])
		return err
	})
	return product, err
}

// with loads a library on the device and lets f use it, within the limit. After a failure it begins a new
// session, as the kernel may have left anything behind.
func (d *device) with(ctx context.Context, file string, f func(context.Context, *rpc.Module) error) error {
	d.turn.Lock()
	defer d.turn.Unlock()
	if err := d.connect(ctx); err != nil {
		return err
	}
	limited, cancel := context.WithTimeoutCause(ctx, d.limit, fmt.Errorf("running took more than %v, the -limit", d.limit))
	defer cancel()
	err := d.load(limited, file, f)
	if err == nil {
		return nil
	}
	if limited.Err() != nil {
		err = context.Cause(limited)
	}
	d.disconnect()
	if ctx.Err() != nil {
		return err
	}
	if gone := d.connect(ctx); gone != nil {
		return gone
	}
	return err
}

// load uploads a library, loads it and lets f use it.
func (d *device) load(ctx context.Context, file string, f func(context.Context, *rpc.Module) error) error {
	code, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	name := filepath.Base(file)
	if err := d.session.Upload(ctx, name, code); err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	kernels, err := d.session.LoadModule(ctx, name)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	defer kernels.Release()
	if err := f(ctx, kernels); err != nil {
		return err
	}
	return d.session.Remove(ctx, name)
}

// random makes arguments of random numbers.
func (d *device) random(ctx context.Context, types []tensorType) (tensors []any, release func(), err error) {
	var scope tvmffi.Scope
	for _, t := range types {
		if t.dtype != tvmffi.Float32 {
			return nil, scope.Release, fmt.Errorf("an argument has elements of %v, and only float32 is supported", t.dtype)
		}
		tensor, err := d.tensor(ctx, randomNumbers(t.shape), t.shape...)
		if err != nil {
			scope.Release()
			return nil, nil, err
		}
		scope.Add(tensor)
		tensors = append(tensors, tensor)
	}
	return tensors, scope.Release, nil
}

// tensor copies numbers to the device. The caller releases the tensor.
func (d *device) tensor(ctx context.Context, numbers []float32, shape ...int64) (*tvmffi.Tensor, error) {
	t, err := d.session.NewTensor(ctx, tvmffi.Float32, tvmffi.CPU, shape...)
	if err != nil {
		return nil, err
	}
	if err := rpc.CopyFrom(ctx, d.session, t, numbers); err != nil {
		t.Release()
		return nil, err
	}
	return t, nil
}

// randomNumbers fills a tensor of a shape with numbers between -1 and 1.
func randomNumbers(shape []int64) []float32 {
	n := int64(1)
	for _, size := range shape {
		n *= size
	}
	numbers := make([]float32, n)
	for i := range numbers {
		numbers[i] = 2*rand.Float32() - 1
	}
	return numbers
}

// unreachable is the error of a device that has no session for us, whatever the kernel is.
type unreachable struct{ err error }

// Error says so, with the cause.
func (e *unreachable) Error() string { return "the device cannot be reached: " + e.err.Error() }

// Unwrap returns the cause.
func (e *unreachable) Unwrap() error { return e.err }

// connect begins a session, unless there is one.
func (d *device) connect(ctx context.Context) error {
	if d.session != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second) // starting a process takes longer on a busy machine
	defer cancel()
	session, err := rpc.Dial(ctx, d.address, rpc.DialOptions{})
	if err != nil {
		return &unreachable{err}
	}
	d.session = session
	return nil
}

// disconnect ends the session.
func (d *device) disconnect() {
	if d.session != nil {
		d.session.Close()
		d.session = nil
	}
}

// Close ends the session.
func (d *device) Close() {
	d.turn.Lock()
	defer d.turn.Unlock()
	d.disconnect()
}
