package main

import (
	"errors"
	"fmt"
	"io"
	"log"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/flashinfer/norm"
)

// attempt is a call with a mistake, and what came of it.
type attempt struct {
	mistake string
	err     error
}

// refused shows what the kernels say about arguments that do not fit. They say so
// before they touch memory or need a GPU, as an error of Go.
func refused(out io.Writer) error {
	all, err := attempts()
	if err != nil {
		return err
	}
	for _, call := range all {
		var e *tvmffi.Error
		if !errors.As(call.err, &e) {
			return fmt.Errorf("%s: the kernel answers %v", call.mistake, call.err)
		}
		fmt.Fprintf(out, "%s:\n  %s: %s\n", call.mistake, e.Kind, e.Message)
	}
	return nil
}

func attempts() ([]attempt, error) {
	const eps = 1e-6
	x, weight := onGPU(tvmffi.BFloat16, 4, 1024), onGPU(tvmffi.BFloat16, 1024)
	floats, scale := onGPU(tvmffi.Float32, 1024), onGPU(tvmffi.Float32, 1)
	host, err := tvmffi.FromSlice(make([]tvmffi.BF16, 1024))
	if err != nil {
		return nil, err
	}
	return []attempt{
		{"no tensor", norm.Rmsnorm(x, nil, weight, eps, false)},
		{"a tensor of the host", norm.Rmsnorm(x, x, host, eps, false)},
		{"two devices", norm.Rmsnorm(x, x, onDevice(1, tvmffi.BFloat16, 1024), eps, false)},
		{"other rank", norm.Rmsnorm(x, x, onGPU(tvmffi.BFloat16, 1, 1024), eps, false)},
		{"unknown rank", norm.Rmsnorm(x, onGPU(tvmffi.BFloat16, 1, 1, 4, 1024), weight, eps, false)},
		{"other size", norm.Rmsnorm(x, x, onGPU(tvmffi.BFloat16, 1000), eps, false)},
		{"other elements", norm.LayernormQuant(x, onGPU(tvmffi.Float16, 4, 1024), floats, floats, scale, eps)},
		{"other elements, of 29 arguments", norm.FusedQkRmsnormRope(floats, weight, weight, x, x, x,
			4, 4, 1, 2, 2, 44, 42, 42, 8, 8, 8, 128, eps, 10000, true, 1, 1, 1, 1, true, false, 1, 1)},
	}, nil
}

// onGPU describes a tensor on the first GPU without memory of its own, for calls that
// are refused.
func onGPU(dtype tvmffi.DataType, shape ...int64) *tvmffi.Tensor { return onDevice(0, dtype, shape...) }

func onDevice(device int, dtype tvmffi.DataType, shape ...int64) *tvmffi.Tensor {
	t, err := tvmffi.FromPointer(tvmffi.Pointer{Address: 1 << 20}, dtype, tvmffi.CUDA(device), nil, shape...)
	if err != nil {
		log.Fatal(err)
	}
	return t
}
