package env_test

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/env"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

func envAlloc(name string, shape ...int64) (*tvmffi.Tensor, error) {
	v, err := runtimetest.Call(name, tvmffi.Of(shape...), tvmffi.Float32, tvmffi.CPU)
	if err != nil {
		return nil, err
	}
	return tvmffi.As[*tvmffi.Tensor](v)
}

func TestWithAllocator(t *testing.T) {
	runtimetest.LoadTensors(t)
	runtimetest.Balanced(t)
	_, err := env.EnvTensor(runtimetest.FloatSpec(2))
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "allocator is nullptr")
	var specs []env.TensorSpec
	count := func(spec env.TensorSpec) (*tvmffi.Tensor, error) {
		specs = append(specs, spec)
		return env.GoAllocator(spec)
	}
	err = env.WithAllocator(count, func() error {
		x, err := envAlloc("tensors.env_alloc", 2, 3)
		if err != nil {
			return err
		}
		defer x.Release()
		if s := x.String(); s != "float32[2, 3]@cpu:0" || runtimetest.Get[float64](t, "tensors.sum", x) != 0 || memstat.UseCount(x) != 1 {
			t.Errorf("the tensor is %v with use count %d, want zeros of float32[2, 3]@cpu:0 with 1", x, memstat.UseCount(x))
		}
		y, err := env.EnvTensor(env.TensorSpec{DataType: tvmffi.Int16, Device: tvmffi.CPU, Shape: []int64{2, 3, 1, 1, 1}, Strides: []int64{4, 1, 1, 1, 1}})
		if err != nil {
			return err
		}
		defer y.Release()
		if !slices.Equal(y.Strides(), []int64{4, 1, 1, 1, 1}) || y.DataType() != tvmffi.Int16 {
			t.Errorf("the tensor is %v with strides %v, want int16 with [4 1 1 1 1]", y, y.Strides())
		}
		// WithAllocator again, on the same thread.
		err = env.WithAllocator(env.GoAllocator, func() error {
			z, err := env.EnvTensor(runtimetest.FloatSpec(1))
			z.Release()
			return err
		})
		if err != nil {
			return err
		}
		w, err := env.EnvTensor(runtimetest.FloatSpec())
		w.Release()
		if len(specs) != 3 || specs[0].Strides != nil || !slices.Equal(specs[1].Strides, []int64{4, 1, 1, 1, 1}) {
			t.Errorf("the allocator got %+v, want 3 specs, the second with strides", specs)
		}
		_, other := envAlloc("tensors.env_alloc_on_thread", 2)
		runtimetest.WantError(t, other, tvmffi.ErrRuntime, "on the thread", "allocator is nullptr")
		return err
	})
	if err != nil {
		t.Error(err)
	}
	_, err = env.EnvTensor(runtimetest.FloatSpec(2))
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "allocator is nullptr")
	runtimetest.DropGarbage(t)
}

// The native function returns the error of the allocator.
func TestWithAllocator_errors(t *testing.T) {
	runtimetest.LoadTensors(t)
	runtimetest.Balanced(t)
	t.Run("of the allocator", func(t *testing.T) {
		mine := errors.New("the arena is full")
		for _, c := range []struct {
			text string
			a    env.Allocator
		}{
			{"the arena is full", func(env.TensorSpec) (*tvmffi.Tensor, error) { return nil, mine }},
			{"a bug", func(env.TensorSpec) (*tvmffi.Tensor, error) { panic("a bug") }},
			{"result of the allocator: the object is nil", func(env.TensorSpec) (*tvmffi.Tensor, error) { return nil, nil }},
			{"it returned float32[3]@cpu:0, expected float32[2]@cpu:0", func(spec env.TensorSpec) (*tvmffi.Tensor, error) {
				return tvmffi.NewTensor(spec.DataType, 3)
			}},
			{"it returned float32[1]@cpu:0, expected float32[2]@cpu:0", func(spec env.TensorSpec) (*tvmffi.Tensor, error) {
				spec.Shape[0] = 1
				return env.GoAllocator(spec)
			}},
			{"float32[2]@cpu:0 is read-only", func(spec env.TensorSpec) (*tvmffi.Tensor, error) {
				x, err := env.GoAllocator(spec)
				objects.StateOf(x).SetReadOnly()
				return x, err
			}},
		} {
			for _, name := range []string{"C++", "Go"} {
				err := env.WithAllocator(c.a, func() error {
					if name == "Go" {
						return runtimetest.ErrorOf(env.EnvTensor(runtimetest.FloatSpec(2)))
					}
					return runtimetest.ErrorOf(envAlloc("tensors.env_alloc", 2))
				})
				runtimetest.WantError(t, err, nil, c.text)
				if c.text == mine.Error() && !errors.Is(err, mine) {
					t.Errorf("%s: %v is not the error of the allocator", name, err)
				}
			}
		}
	})
	t.Run("of arguments", func(t *testing.T) {
		err := env.WithAllocator(env.GoAllocator, func() error {
			return runtimetest.ErrorOf(env.EnvTensor(env.TensorSpec{DataType: tvmffi.Float32, Device: tvmffi.CUDA(0), Shape: []int64{1}}))
		})
		runtimetest.WantError(t, err, tvmffi.ErrValue, "cuda:0 is not the host: set an allocator for it")
		runtimetest.WantError(t, env.WithAllocator(nil, nil), tvmffi.ErrValue, "the allocator is nil")
		_, err = env.SetAllocator(nil)
		runtimetest.WantError(t, err, tvmffi.ErrValue, "the allocator is nil")
		_, err = env.EnvTensor(runtimetest.FloatSpec(-1))
		runtimetest.WantError(t, err, tvmffi.ErrValue, "dimension 0 of shape [-1] is negative")
		for _, f := range []env.Allocator{env.EnvTensor, env.GoAllocator} {
			for _, strides := range [][]int64{{}, {1, 1}} {
				_, err = f(env.TensorSpec{DataType: tvmffi.Float32, Device: tvmffi.CPU, Shape: []int64{2}, Strides: strides})
				runtimetest.WantError(t, err, tvmffi.ErrValue, fmt.Sprintf("1 dimensions, but %d strides", len(strides)))
			}
		}
	})
	t.Run("a panic of f passes through and leaves nothing behind", func(t *testing.T) {
		func() {
			defer func() {
				if p := recover(); p != "mine" {
					t.Errorf("recovered %v, want the panic of f", p)
				}
			}()
			env.WithAllocator(env.GoAllocator, func() error { panic("mine") })
		}()
		_, err := env.EnvTensor(runtimetest.FloatSpec(2))
		runtimetest.WantError(t, err, tvmffi.ErrRuntime, "allocator is nullptr")
	})
	runtimetest.DropGarbage(t)
}

func TestSetAllocator(t *testing.T) {
	runtimetest.LoadTensors(t)
	var mu sync.Mutex
	calls := map[string]int{}
	named := func(name string) env.Allocator {
		return func(spec env.TensorSpec) (*tvmffi.Tensor, error) {
			mu.Lock()
			calls[name]++
			mu.Unlock()
			return env.GoAllocator(spec)
		}
	}
	use := func(name string, want string) {
		t.Helper()
		clear(calls)
		x, err := envAlloc(name, 3)
		if err != nil {
			t.Error(err)
			return
		}
		if runtimetest.Get[float64](t, "tensors.sum", x) != 0 || calls[want] != 1 {
			t.Errorf("calls %v, want one of %s", calls, want)
		}
		x.Release()
	}
	restore := runtimetest.Must[func() error](t)(env.SetAllocator(named("first")))
	use("tensors.env_alloc", "first")
	use("tensors.env_alloc_on_thread", "first")
	again := runtimetest.Must[func() error](t)(env.SetAllocator(named("second")))
	use("tensors.env_alloc_on_thread", "second")
	if err := env.WithAllocator(named("own"), func() error {
		use("tensors.env_alloc", "own")
		use("tensors.env_alloc_on_thread", "second")
		return nil
	}); err != nil {
		t.Error(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				x, err := env.EnvTensor(runtimetest.FloatSpec(4))
				if err != nil {
					t.Error(err)
					return
				}
				x.Release()
			}
		})
	}
	all.Wait()
	for range 2 {
		if err := again(); err != nil {
			t.Error(err)
		}
	}
	use("tensors.env_alloc", "first")
	if err := restore(); err != nil {
		t.Error(err)
	}
	_, err := env.EnvTensor(runtimetest.FloatSpec(1))
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "allocator is nullptr")
}

// An allocator that a library has set for a thread stays.
func TestAllocatorOfALibrary(t *testing.T) {
	runtimetest.LoadTensors(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	runtimetest.MustCall(t, "tensors.set_allocator", true, false)
	defer runtimetest.MustCall(t, "tensors.set_allocator", false, false)
	restore := runtimetest.Must[func() error](t)(env.SetAllocator(func(env.TensorSpec) (*tvmffi.Tensor, error) {
		return nil, errors.New("the thread has its own")
	}))
	before := runtimetest.Get[int64](t, "tensors.live_bytes")
	x := runtimetest.Must[*tvmffi.Tensor](t)(env.EnvTensor(runtimetest.FloatSpec(100)))
	if n := runtimetest.Get[int64](t, "tensors.live_bytes") - before; n != 400 {
		t.Errorf("%d bytes, want 400", n)
	}
	x.Release()
	if n := runtimetest.Get[int64](t, "tensors.live_bytes") - before; n != 0 {
		t.Errorf("%d bytes are left after Release", n)
	}
	if err := env.WithAllocator(env.GoAllocator, func() error {
		x, err := env.EnvTensor(runtimetest.FloatSpec(100))
		x.Release()
		if runtimetest.Get[bool](t, "tensors.has_allocator") {
			t.Error("the allocator of the library is still set")
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	if err := restore(); err != nil {
		t.Error(err)
	}
	if !runtimetest.Get[bool](t, "tensors.has_allocator") {
		t.Error("the allocator of the library is gone")
	}
}

func init() { runtimetest.Children["goexit in an allocator"] = goexitChild }

// goexitChild ends an allocator by runtime.Goexit, like testing.T.FailNow.
func goexitChild() error {
	if err := runtimetest.LoadInChild(); err != nil {
		return err
	}
	exit := func(env.TensorSpec) (*tvmffi.Tensor, error) { runtime.Goexit(); return nil, nil }
	return env.WithAllocator(exit, func() error { return runtimetest.ErrorOf(env.EnvTensor(runtimetest.FloatSpec(1))) })
}

func TestGoexitInAllocator(t *testing.T) {
	out, err := runtimetest.Child(t, "goexit in an allocator", "CORE="+nativetest.Library(t))
	var status *exec.ExitError
	if !errors.As(err, &status) || status.ExitCode() != 2 || !strings.Contains(out, "a Go callback ended by runtime.Goexit") {
		t.Errorf("the process ended with %v, want status 2 and the reason: %s", err, out)
	}
}

// If the library refuses the new allocator, the one from before stays.
func TestSetAllocator_refused(t *testing.T) {
	runtimetest.LoadTensors(t)
	var asked []string
	named := func(name string) env.Allocator {
		return func(spec env.TensorSpec) (*tvmffi.Tensor, error) {
			asked = append(asked, name)
			return env.GoAllocator(spec)
		}
	}
	restore := runtimetest.Must[func() error](t)(env.SetAllocator(named("first")))
	real, calls := capi.API.EnvSetAllocator, 0
	defer func() { capi.API.EnvSetAllocator = real }()
	refuseAt := 1
	capi.API.EnvSetAllocator = purego.NewCallback(func(f, global, old uintptr) uintptr {
		if calls++; calls == refuseAt {
			return ^uintptr(0)
		}
		rc, _, _ := purego.SyscallN(real, f, global, old)
		return rc
	})
	for refuseAt = range []int{1, 2} {
		refuseAt, calls = refuseAt+1, 0
		_, err := env.SetAllocator(named("second"))
		runtimetest.WantError(t, err, tvmffi.ErrRuntime, "failed without an error message")
		runtimetest.Must[*tvmffi.Tensor](t)(env.EnvTensor(runtimetest.FloatSpec(1))).Release()
	}
	capi.API.EnvSetAllocator = real
	if !slices.Equal(asked, []string{"first", "first"}) {
		t.Errorf("the allocators asked are %q, want the first one twice", asked)
	}
	if err := restore(); err != nil {
		t.Error(err)
	}
}

// TestAllocatorRecursion: an allocator that asks for a tensor ends by the error of nested
// callbacks, not by an overflow of the C stack.
func TestAllocatorRecursion(t *testing.T) {
	runtimetest.LoadTensors(t)
	runtimetest.Balanced(t)
	depth := 0
	err := env.WithAllocator(func(spec env.TensorSpec) (*tvmffi.Tensor, error) {
		depth++
		return env.EnvTensor(spec)
	}, func() error {
		_, err := env.EnvTensor(runtimetest.FloatSpec(2))
		return err
	})
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "callbacks are nested", "the C stack of this thread")
	if depth < 100 {
		t.Errorf("the error came at depth %d", depth)
	}
	runtimetest.DropGarbage(t)
}
