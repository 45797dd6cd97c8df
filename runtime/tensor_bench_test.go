package tvmffi_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/env"
)

// The costs of making tensors, released at once.

func BenchmarkFromSlice(b *testing.B) {
	runtimetest.Load(b)
	data := make([]float32, 1024)
	b.ReportAllocs()
	for b.Loop() {
		x, err := tvmffi.FromSlice(data, 32, 32)
		if err != nil {
			b.Fatal(err)
		}
		x.Release()
	}
}

func BenchmarkTensorView(b *testing.B) {
	runtimetest.Load(b)
	x := runtimetest.CountingTensor(b, 32, 32)
	b.ReportAllocs()
	for b.Loop() {
		v, err := x.Slice(0, 4, 8)
		if err != nil {
			b.Fatal(err)
		}
		v.Release()
	}
}

func BenchmarkEnvTensor(b *testing.B) {
	runtimetest.LoadTensors(b)
	runtimetest.MustCall(b, "tensors.set_allocator", true, true)
	defer runtimetest.MustCall(b, "tensors.set_allocator", false, true)
	b.ReportAllocs()
	for b.Loop() {
		x, err := env.EnvTensor(runtimetest.FloatSpec(32, 32))
		if err != nil {
			b.Fatal(err)
		}
		x.Release()
	}
}

func BenchmarkEnvTensor_goAllocator(b *testing.B) {
	runtimetest.LoadTensors(b)
	b.ReportAllocs()
	err := env.WithAllocator(env.GoAllocator, func() error {
		for b.Loop() {
			x, err := env.EnvTensor(runtimetest.FloatSpec(32, 32))
			if err != nil {
				return err
			}
			x.Release()
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// A tensor large enough to be counted.
func BenchmarkFromSlice_counted(b *testing.B) {
	runtimetest.Load(b)
	data := make([]float32, 1<<18)
	b.ReportAllocs()
	for b.Loop() {
		x, err := tvmffi.FromSlice(data, 512, 512)
		if err != nil {
			b.Fatal(err)
		}
		x.Release()
	}
}

func BenchmarkWithStream(b *testing.B) {
	runtimetest.Load(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := env.WithStream(tvmffi.CUDA(0), tvmffi.Pointer{Address: 16}, func() error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkElements(b *testing.B) {
	runtimetest.Load(b)
	e, err := tvmffi.ElementsOf[float32](runtimetest.CountingTensor(b, 32, 32))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	sum := float32(0)
	for b.Loop() {
		sum += e.At(3, 4)
	}
	if sum == 0 {
		b.Error("nothing was read")
	}
}

func BenchmarkToFloat32(b *testing.B) {
	runtimetest.Load(b)
	x, err := tvmffi.NewTensor(tvmffi.Float8E4M3FN, 1<<16)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(1 << 16)
	for b.Loop() {
		if _, err := tvmffi.ToFloat32(x); err != nil {
			b.Fatal(err)
		}
	}
}
