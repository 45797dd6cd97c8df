package tvmffi_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/env"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

func floats(shape ...int64) env.TensorSpec {
	return env.TensorSpec{DataType: tvmffi.Float32, Device: tvmffi.CPU, Shape: shape}
}

func envAlloc(name string, shape ...int64) (*tvmffi.Tensor, error) {
	v, err := call(name, tvmffi.Of(shape...), tvmffi.Float32, tvmffi.CPU)
	if err != nil {
		return nil, err
	}
	return tvmffi.As[*tvmffi.Tensor](v)
}

func TestWithAllocator(t *testing.T) {
	loadTensors(t)
	balanced(t)
	_, err := env.EnvTensor(floats(2))
	wantError(t, err, tvmffi.ErrRuntime, "allocator is nullptr")
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
		if s := x.String(); s != "float32[2, 3]@cpu:0" || get[float64](t, "tensors.sum", x) != 0 || memstat.UseCount(x) != 1 {
			t.Errorf("%+v, %d references", x, memstat.UseCount(x))
		}
		y, err := env.EnvTensor(env.TensorSpec{DataType: tvmffi.Int16, Device: tvmffi.CPU, Shape: []int64{2, 3, 1, 1, 1}, Strides: []int64{4, 1, 1, 1, 1}})
		if err != nil {
			return err
		}
		defer y.Release()
		if !slices.Equal(y.Strides(), []int64{4, 1, 1, 1, 1}) || y.DataType() != tvmffi.Int16 {
			t.Errorf("%v with strides %v", y, y.Strides())
		}
		// Inside of it another one, on the same thread.
		err = env.WithAllocator(env.GoAllocator, func() error {
			z, err := env.EnvTensor(floats(1))
			z.Release()
			return err
		})
		if err != nil {
			return err
		}
		w, err := env.EnvTensor(floats())
		w.Release()
		if len(specs) != 3 || specs[0].Strides != nil || !slices.Equal(specs[1].Strides, []int64{4, 1, 1, 1, 1}) {
			t.Errorf("%+v", specs)
		}
		_, other := envAlloc("tensors.env_alloc_on_thread", 2)
		wantError(t, other, tvmffi.ErrRuntime, "on the thread", "allocator is nullptr")
		return err
	})
	if err != nil {
		t.Error(err)
	}
	_, err = env.EnvTensor(floats(2))
	wantError(t, err, tvmffi.ErrRuntime, "allocator is nullptr")
	drop(t)
}

// What goes wrong in an allocator comes out of the native function.
func TestWithAllocator_errors(t *testing.T) {
	loadTensors(t)
	balanced(t)
	mine := errors.New("the arena is full")
	for _, c := range []struct {
		text string
		a    env.Allocator
	}{
		{"the arena is full", func(env.TensorSpec) (*tvmffi.Tensor, error) { return nil, mine }},
		{"a bug", func(env.TensorSpec) (*tvmffi.Tensor, error) { panic("a bug") }},
		{"result of the allocator: the object is nil", func(env.TensorSpec) (*tvmffi.Tensor, error) { return nil, nil }},
		{"it made float32[3]@cpu:0 instead of float32[2]@cpu:0", func(spec env.TensorSpec) (*tvmffi.Tensor, error) {
			return tvmffi.NewTensor(spec.DataType, 3)
		}},
	} {
		for _, name := range []string{"C++", "Go"} {
			err := env.WithAllocator(c.a, func() error {
				if name == "Go" {
					return second(env.EnvTensor(floats(2)))
				}
				return second(envAlloc("tensors.env_alloc", 2))
			})
			wantError(t, err, nil, c.text)
			if c.text == mine.Error() && !errors.Is(err, mine) {
				t.Errorf("%s: %v is not the error of the allocator", name, err)
			}
		}
	}
	err := env.WithAllocator(env.GoAllocator, func() error {
		return second(env.EnvTensor(env.TensorSpec{DataType: tvmffi.Float32, Device: tvmffi.CUDA(0), Shape: []int64{1}}))
	})
	wantError(t, err, tvmffi.ErrValue, "cuda:0 is not the host: set an allocator for it")
	wantError(t, env.WithAllocator(nil, nil), tvmffi.ErrValue, "the allocator is nil")
	_, err = env.SetAllocator(nil)
	wantError(t, err, tvmffi.ErrValue, "the allocator is nil")
	_, err = env.EnvTensor(floats(-1))
	wantError(t, err, tvmffi.ErrValue, "dimension 0 of shape [-1] is negative")
	_, err = env.EnvTensor(env.TensorSpec{DataType: tvmffi.Float32, Device: tvmffi.CPU, Shape: []int64{2}, Strides: []int64{1, 1}})
	wantError(t, err, tvmffi.ErrValue, "1 dimensions, but 2 strides")
	// A panic of f goes on, and nothing stays behind.
	func() {
		defer func() {
			if p := recover(); p != "mine" {
				t.Error(p)
			}
		}()
		env.WithAllocator(env.GoAllocator, func() error { panic("mine") })
	}()
	_, err = env.EnvTensor(floats(2))
	wantError(t, err, tvmffi.ErrRuntime, "allocator is nullptr")
	drop(t)
}

func TestSetAllocator(t *testing.T) {
	loadTensors(t)
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
		if get[float64](t, "tensors.sum", x) != 0 || calls[want] != 1 {
			t.Errorf("calls %v, want one of %s", calls, want)
		}
		x.Release()
	}
	restore := must[func() error](t)(env.SetAllocator(named("first")))
	use("tensors.env_alloc", "first")
	use("tensors.env_alloc_on_thread", "first")
	again := must[func() error](t)(env.SetAllocator(named("second")))
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
				x, err := env.EnvTensor(floats(4))
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
	_, err := env.EnvTensor(floats(1))
	wantError(t, err, tvmffi.ErrRuntime, "allocator is nullptr")
}

// An allocator that a library has set stays the one of its thread.
func TestAllocatorOfALibrary(t *testing.T) {
	loadTensors(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	mustCall(t, "tensors.set_allocator", true, false)
	defer mustCall(t, "tensors.set_allocator", false, false)
	restore := must[func() error](t)(env.SetAllocator(func(env.TensorSpec) (*tvmffi.Tensor, error) {
		return nil, errors.New("the thread has its own")
	}))
	before := get[int64](t, "tensors.live_bytes")
	x := must[*tvmffi.Tensor](t)(env.EnvTensor(floats(100)))
	if n := get[int64](t, "tensors.live_bytes") - before; n != 400 {
		t.Errorf("%d bytes, want 400", n)
	}
	x.Release()
	if n := get[int64](t, "tensors.live_bytes") - before; n != 0 {
		t.Errorf("%d bytes left", n)
	}
	if err := env.WithAllocator(env.GoAllocator, func() error {
		x, err := env.EnvTensor(floats(100))
		x.Release()
		if get[bool](t, "tensors.has_allocator") {
			t.Error("the allocator of the library is still set")
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	if err := restore(); err != nil {
		t.Error(err)
	}
	if !get[bool](t, "tensors.has_allocator") {
		t.Error("the allocator of the library is gone")
	}
}

func TestWithStream(t *testing.T) {
	loadTensors(t)
	current := func(d tvmffi.Device) uintptr {
		t.Helper()
		inGo := must[tvmffi.Pointer](t)(env.CurrentStream(d)).Address
		inC := get[tvmffi.Pointer](t, "tensors.stream", int64(d.Type), int64(d.ID)).Address
		if inGo != inC {
			t.Errorf("Go sees %#x, C++ %#x", inGo, inC)
		}
		return inC
	}
	mine := errors.New("mine")
	err := env.WithStream(tvmffi.CUDA(1), tvmffi.Pointer{Address: 0x10}, func() error {
		if s := current(tvmffi.CUDA(1)); s != 0x10 {
			t.Errorf("%#x", s)
		}
		if s := current(tvmffi.CUDA(0)); s != 0 {
			t.Errorf("another device has %#x", s)
		}
		if s := get[tvmffi.Pointer](t, "tensors.stream_on_thread", int64(tvmffi.DeviceCUDA), int64(1)); s.Address != 0 {
			t.Errorf("another thread has %#x", s)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic is lost")
				}
			}()
			env.WithStream(tvmffi.CUDA(1), tvmffi.Pointer{Address: 0x20}, func() error {
				if s := current(tvmffi.CUDA(1)); s != 0x20 {
					t.Errorf("%#x", s)
				}
				panic("inner")
			})
		}()
		if s := current(tvmffi.CUDA(1)); s != 0x10 {
			t.Errorf("%#x after the panic", s)
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
	// Every goroutine has a thread of its own meanwhile.
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
	if s := current(tvmffi.CUDA(0)); s != 0 {
		t.Errorf("%#x stays behind", s)
	}
	for _, d := range []tvmffi.Device{{}, {Type: -1}, {Type: tvmffi.DeviceCUDA, ID: -1}, {Type: tvmffi.DeviceCUDA, ID: math.MaxInt32}, {Type: math.MaxInt32}} {
		wantError(t, env.WithStream(d, tvmffi.Pointer{}, nil), tvmffi.ErrValue, "is no device")
		wantError(t, second(env.CurrentStream(d)), tvmffi.ErrValue, "is no device")
	}
}

func init() {
	children["memory"] = memoryChild
	children["goexit in an allocator"] = goexitChild
	children["memory limit"] = func() error { return loadChild() }
}

func loadChild() error { return tvmffi.Load(tvmffi.WithLibrary(os.Getenv("CORE"))) }

// goexitChild ends an allocator in the way of testing.T.FailNow.
func goexitChild() error {
	if err := loadChild(); err != nil {
		return err
	}
	exit := func(env.TensorSpec) (*tvmffi.Tensor, error) { runtime.Goexit(); return nil, nil }
	return env.WithAllocator(exit, func() error { return second(env.EnvTensor(floats(1))) })
}

func TestGoexitInAllocator(t *testing.T) {
	out, err := child(t, "goexit in an allocator", "CORE="+nativetest.Library(t))
	var status *exec.ExitError
	if !errors.As(err, &status) || status.ExitCode() != 2 || !strings.Contains(out, "a Go callback ended by runtime.Goexit") {
		t.Errorf("%v: %s", err, out)
	}
}

// memoryChild makes COUNT tensors of 64 MB and releases none.
func memoryChild() error {
	if err := loadChild(); err != nil {
		return err
	}
	if err := tvmffi.LoadLibrary(os.Getenv("TENSORS")); err != nil {
		return err
	}
	const size = 64 << 20
	n, err := strconv.Atoi(os.Getenv("COUNT"))
	if err != nil {
		return err
	}
	for range n {
		if _, err := call("tensors.malloc", int64(size)); err != nil {
			return err
		}
	}
	v, err := call("tensors.peak_bytes")
	if err != nil {
		return err
	}
	fmt.Println("peak", v.Value().(int64)>>20, "MB, now", memstat.ForeignMemory(tvmffi.CPU)>>20)
	if peak := v.Value().(int64); peak > 2<<30 {
		return fmt.Errorf("the peak is %d MB", peak>>20)
	}
	return nil
}

// A loop that makes 100 GB and never releases stays small; without the pacing it
// would not.
func TestMemoryPressure(t *testing.T) {
	env := []string{"CORE=" + nativetest.Library(t), "TENSORS=" + nativetest.Build(t, "tensors"), "COUNT=192"}
	out, err := child(t, "memory", append(env, "COUNT=1600")...)
	if err != nil || !strings.Contains(out, "peak ") {
		t.Errorf("%v: %s", err, out)
	}
	t.Log(strings.TrimSpace(out))
	out, err = child(t, "memory", append(env, "TVMFFI_MEMORY_LIMIT=256MiB")...)
	if err != nil || !strings.Contains(out, "peak 3") && !strings.Contains(out, "peak 2") {
		t.Errorf("with a limit: %v: %s", err, out)
	}
	t.Log(strings.TrimSpace(out))
	out, err = child(t, "memory", append(env, "TVMFFI_MEMORY_LIMIT=off")...)
	if err == nil || !strings.Contains(out, "the peak is 12288 MB") {
		t.Errorf("without pacing: %v: %s", err, out)
	}
	for _, bad := range []string{"much", "-1", "1.5GiB", "9999999999TiB", "GiB"} {
		out, err := child(t, "memory limit", append(env, "TVMFFI_MEMORY_LIMIT="+bad)...)
		if err == nil || !strings.Contains(out, fmt.Sprintf("invalid TVMFFI_MEMORY_LIMIT %q: write bytes", bad)) {
			t.Errorf("%q: %v: %s", bad, err, out)
		}
	}
}

func TestForeignMemory(t *testing.T) {
	loadTensors(t)
	drop(t)
	if old := memstat.SetForeignMemoryLimit(1 << 40); old != 1536<<20 || memstat.SetForeignMemoryLimit(-1) != 1<<40 {
		t.Error(old)
	}
	defer memstat.SetForeignMemoryLimit(1536 << 20)
	before := memstat.ForeignMemory(tvmffi.CPU)
	expect := func(what string, want int64) {
		t.Helper()
		if n := memstat.ForeignMemory(tvmffi.CPU) - before; n != want {
			t.Errorf("%s: %d bytes, want %d", what, n, want)
		}
	}
	x := get[*tvmffi.Tensor](t, "tensors.malloc", int64(1<<20))
	expect("one", 1<<20)
	again := tvmffi.Retain(x)
	expect("two wrappers of one tensor", 1<<20)
	small := get[*tvmffi.Tensor](t, "tensors.malloc", int64(1000))
	expect("a small one", 1<<20)
	local := must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.Uint8, 1<<20))
	back := get[*tvmffi.Tensor](t, "calls.echo_tensor", local)
	expect("memory of Go", 1<<20)
	view := must[*tvmffi.Tensor](t)(x.Slice(0, 1<<19, 1<<20))
	again2 := must[*tvmffi.Tensor](t)(view.Slice(0, 0, 100))
	shared := must[*tvmffi.Tensor](t)(tvmffi.FromDLPackVersioned(must[tvmffi.Pointer](t)(x.ToDLPackVersioned())))
	localView := must[*tvmffi.Tensor](t)(local.Slice(0, 0, 1<<19))
	expect("views, and another tensor, over the same memory", 1<<20)
	x.Release()
	expect("one wrapper left", 1<<20)
	again.Release()
	expect("views left", 1<<20)
	view.Release()
	shared.Release()
	expect("a small view of the memory left", 1<<20)
	again2.Release()
	expect("no view left", 0)
	localView.Release()
	err := env.WithAllocator(env.GoAllocator, func() error {
		made, err := env.EnvTensor(env.TensorSpec{DataType: tvmffi.Uint8, Device: tvmffi.CPU, Shape: []int64{1 << 20}})
		if err == nil {
			expect("a tensor of GoAllocator, whose memory the collector sees", 0)
			made.Release()
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	small.Release()
	local.Release()
	back.Release()
	expect("none", 0)
	get[*tvmffi.Tensor](t, "tensors.malloc", int64(1<<20))
	collect(t, "a tensor that nobody released", func() bool { return memstat.ForeignMemory(tvmffi.CPU) == before })
	device := must[*tvmffi.Tensor](t)(tvmffi.FromPointer(tvmffi.Pointer{Address: 4096}, tvmffi.Uint8, tvmffi.CUDA(5), nil, 1<<20))
	if n := memstat.ForeignMemory(tvmffi.CUDA(5)); n != 1<<20 {
		t.Errorf("%d bytes on the device", n)
	}
	expect("memory of a device", 0)
	device.Release()
}

// The owner that FromPointer keeps goes when native code has let the tensor go.
func TestFromPointer_keeps(t *testing.T) {
	loadTensors(t)
	freed := make(chan bool, 1)
	x := func() *tvmffi.Tensor {
		owner := make([]float32, 1<<16)
		owner[9] = 9
		runtime.AddCleanup(&owner[0], func(int) { freed <- true }, 0)
		source := must[*tvmffi.Tensor](t)(tvmffi.FromSlice(owner))
		defer source.Release()
		return must[*tvmffi.Tensor](t)(tvmffi.FromPointer(source.DataPointer(), tvmffi.Float32, tvmffi.CPU, owner, 256, 256))
	}()
	for range 3 {
		runtime.GC()
	}
	if v := values(t, x); v[9] != 9 || len(freed) > 0 {
		t.Error("the owner went too early")
	}
	x.Release()
	collect(t, "the owner", func() bool { return len(freed) > 0 })
}

// When the library refuses, the allocator from before stays.
func TestSetAllocator_refused(t *testing.T) {
	loadTensors(t)
	var asked []string
	named := func(name string) env.Allocator {
		return func(spec env.TensorSpec) (*tvmffi.Tensor, error) {
			asked = append(asked, name)
			return env.GoAllocator(spec)
		}
	}
	restore := must[func() error](t)(env.SetAllocator(named("first")))
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
		wantError(t, err, tvmffi.ErrRuntime, "failed without saying why")
		must[*tvmffi.Tensor](t)(env.EnvTensor(floats(1))).Release()
	}
	capi.API.EnvSetAllocator = real
	if !slices.Equal(asked, []string{"first", "first"}) {
		t.Errorf("asked: %q", asked)
	}
	if err := restore(); err != nil {
		t.Error(err)
	}
}
