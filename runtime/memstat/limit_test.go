package memstat_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/env"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

func init() {
	runtimetest.Children["memory"] = memoryChild
	runtimetest.Children["memory limit"] = runtimetest.LoadInChild
}

// memoryChild makes COUNT tensors of 64 MB and releases none.
func memoryChild() error {
	if err := runtimetest.LoadInChild(); err != nil {
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
		if _, err := runtimetest.Call("tensors.malloc", int64(size)); err != nil {
			return err
		}
	}
	v, err := runtimetest.Call("tensors.peak_bytes")
	if err != nil {
		return err
	}
	fmt.Println("peak", v.Value().(int64)>>20, "MB, now", memstat.ForeignMemory(tvmffi.CPU)>>20)
	if peak := v.Value().(int64); peak > 2<<30 {
		return fmt.Errorf("the peak is %d MB", peak>>20)
	}
	return nil
}

// A loop that makes 100 GB and releases nothing stays small, because the collector runs
// in time. Without a limit it does not.
func TestMemoryPressure(t *testing.T) {
	env := []string{"CORE=" + nativetest.Library(t), "TENSORS=" + nativetest.Build(t, "tensors"), "COUNT=192"}
	t.Run("the default limit", func(t *testing.T) {
		out, err := runtimetest.Child(t, "memory", append(env, "COUNT=1600")...)
		if err != nil || !strings.Contains(out, "peak ") {
			t.Errorf("the child ended with %v, want its peak: %s", err, out)
		}
		t.Log(strings.TrimSpace(out))
	})
	t.Run("256MiB", func(t *testing.T) {
		out, err := runtimetest.Child(t, "memory", append(env, "TVMFFI_MEMORY_LIMIT=256MiB")...)
		if err != nil || !strings.Contains(out, "peak 3") && !strings.Contains(out, "peak 2") {
			t.Errorf("the child ended with %v, want a peak that begins with 2 or 3: %s", err, out)
		}
		t.Log(strings.TrimSpace(out))
	})
	t.Run("off", func(t *testing.T) {
		out, err := runtimetest.Child(t, "memory", append(env, "TVMFFI_MEMORY_LIMIT=off", "GOGC=off")...)
		if err == nil || !strings.Contains(out, "the peak is 12288 MB") {
			t.Errorf("the child ended with %v, want an error with a peak of 12288 MB: %s", err, out)
		}
	})
	for _, bad := range []string{"much", "-1", "1.5GiB", "9999999999TiB", "GiB"} {
		t.Run(bad, func(t *testing.T) {
			out, err := runtimetest.Child(t, "memory limit", append(env, "TVMFFI_MEMORY_LIMIT="+bad)...)
			if err == nil || !strings.Contains(out, fmt.Sprintf("invalid TVMFFI_MEMORY_LIMIT %q: write bytes", bad)) {
				t.Errorf("TVMFFI_MEMORY_LIMIT=%q: %v, want an error that names it: %s", bad, err, out)
			}
		})
	}
}

func TestForeignMemory(t *testing.T) {
	runtimetest.LoadTensors(t)
	runtimetest.DropGarbage(t)
	if old := memstat.SetForeignMemoryLimit(1 << 40); old != 1536<<20 || memstat.SetForeignMemoryLimit(-1) != 1<<40 {
		t.Errorf("SetForeignMemoryLimit returned %d first, want %d, and then what was set", old, 1536<<20)
	}
	defer memstat.SetForeignMemoryLimit(1536 << 20)
	before := memstat.ForeignMemory(tvmffi.CPU)
	expect := func(what string, want int64) {
		t.Helper()
		if n := memstat.ForeignMemory(tvmffi.CPU) - before; n != want {
			t.Errorf("%s: %d bytes, want %d", what, n, want)
		}
	}
	x := runtimetest.Get[*tvmffi.Tensor](t, "tensors.malloc", int64(1<<20))
	expect("one", 1<<20)
	again := tvmffi.Retain(x)
	expect("two wrappers of one tensor", 1<<20)
	small := runtimetest.Get[*tvmffi.Tensor](t, "tensors.malloc", int64(1000))
	expect("a small one", 1<<20)
	local := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.Uint8, 1<<20))
	back := runtimetest.Get[*tvmffi.Tensor](t, "calls.echo_tensor", local)
	expect("memory of Go", 1<<20)
	view := runtimetest.Must[*tvmffi.Tensor](t)(x.Slice(0, 1<<19, 1<<20))
	again2 := runtimetest.Must[*tvmffi.Tensor](t)(view.Slice(0, 0, 100))
	shared := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromDLPack(runtimetest.Must[*tvmffi.DLPack](t)(x.ToDLPackVersioned())))
	localView := runtimetest.Must[*tvmffi.Tensor](t)(local.Slice(0, 0, 1<<19))
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
	runtimetest.Get[*tvmffi.Tensor](t, "tensors.malloc", int64(1<<20))
	runtimetest.Collect(t, "a tensor that nobody released", func() bool { return memstat.ForeignMemory(tvmffi.CPU) == before })
	device := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromPointer(tvmffi.Pointer{Address: 4096}, tvmffi.Uint8, tvmffi.CUDA(5), nil, 1<<20))
	if n := memstat.ForeignMemory(tvmffi.CUDA(5)); n != 1<<20 {
		t.Errorf("%d bytes on the device, want %d", n, 1<<20)
	}
	expect("memory of a device", 0)
	device.Release()
}

// A tensor in a struct or a map of a callback belongs to the collector, which counts its
// memory off.
func TestForeignMemory_collected(t *testing.T) {
	runtimetest.LoadTensors(t)
	runtimetest.DropGarbage(t)
	type batch struct {
		X *tvmffi.Tensor `ffi:"x"`
	}
	for name, f := range map[string]any{
		"struct": func(b batch) int64 { return b.X.Len() },
		"map":    func(m map[string]*tvmffi.Tensor) int64 { return m["x"].Len() },
	} {
		t.Run(name, func(t *testing.T) {
			before := memstat.ForeignMemory(tvmffi.CPU)
			callback := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(f))
			defer callback.Release()
			x := runtimetest.Get[*tvmffi.Tensor](t, "tensors.malloc", int64(1<<20))
			v, err := callback.Call(map[string]any{"x": x})
			if err != nil || v.Value() != int64(1<<20) {
				t.Error(v, err)
			}
			x.Release()
			runtimetest.Collect(t, "a tensor of a callback", func() bool { return memstat.ForeignMemory(tvmffi.CPU) == before })
		})
	}
}
