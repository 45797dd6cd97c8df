package main

import (
	"errors"
	"fmt"
	"io"
	"log"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/flashinfer/norm"
	"github.com/tvmffi-go/tvmffi/examples/flashinfer/page"
	"github.com/tvmffi-go/tvmffi/examples/flashinfer/rope"
)

// attempt is a call with a mistake, and what came of it.
type attempt struct {
	mistake string
	err     error
}

// refused shows what the kernels of a library say about arguments that do not fit. They say so
// before they touch memory or need a GPU, as an error of Go.
func refused(out io.Writer, name string) error {
	attempts, err := libraries[name].refused()
	if err != nil {
		return err
	}
	for _, call := range attempts {
		var e *tvmffi.Error
		if !errors.As(call.err, &e) {
			return fmt.Errorf("%s: the kernel answers %v", call.mistake, call.err)
		}
		fmt.Fprintf(out, "%s:\n  %s: %s\n", call.mistake, e.Kind, e.Message)
	}
	return nil
}

func refusedNorm() ([]attempt, error) {
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

// The shape of a small cache: two sequences have four pages, each of which has room for the keys
// and values of 16 tokens.
const (
	tokens, heads, headSize         = 6, 2, 64
	sequences, pages, tokensPerPage = 2, 4, 16
	tokensFirst                     = 0 // the layout of a page
)

// appended calls the kernel that appends keys and values, with a cache and keys that may not fit,
// and with starts of the pages of each sequence.
func appended(keys, cache, starts *tvmffi.Tensor) error {
	values, places := onGPU(tvmffi.BFloat16, tokens, heads, headSize), onGPU(tvmffi.Int32, tokens)
	indices, last := onGPU(tvmffi.Int32, pages), onGPU(tvmffi.Int32, sequences)
	return page.AppendPagedKVCache(keys, values, places, places, cache, cache, indices, starts, last, tokensFirst)
}

func refusedPage() ([]attempt, error) {
	keys, starts := onGPU(tvmffi.BFloat16, tokens, heads, headSize), onGPU(tvmffi.Int32, sequences+1)
	cache, places := onGPU(tvmffi.BFloat16, pages, tokensPerPage, heads, headSize), onGPU(tvmffi.Int32, tokens)
	host, err := tvmffi.FromSlice(make([]tvmffi.BF16, pages*tokensPerPage*heads*headSize), pages, tokensPerPage, heads, headSize)
	if err != nil {
		return nil, err
	}
	compressed, scales := onGPU(tvmffi.Uint8, pages, tokensPerPage, heads, headSize/2), onGPU(tvmffi.Float8E4M3FN, pages, tokensPerPage, heads, headSize/16)
	return []attempt{
		{"no tensor", appended(nil, cache, starts)},
		{"a tensor of the host", appended(keys, host, starts)},
		{"two devices", appended(keys, onDevice(1, tvmffi.BFloat16, pages, tokensPerPage, heads, headSize), starts)},
		{"other rank", appended(keys, onGPU(tvmffi.BFloat16, pages, tokensPerPage, heads*headSize), starts)},
		{"other number of sequences", appended(keys, cache, onGPU(tvmffi.Int32, sequences))},
		{"other number of heads", appended(onGPU(tvmffi.BFloat16, tokens, heads+1, headSize), cache, starts)},
		{"other elements, in a cache of 4 bits", page.Nvfp4QuantizeAppendPagedKVCacheWithSlotMapping(keys, keys, onGPU(tvmffi.Float32, tokens),
			compressed, compressed, scales, scales, onGPU(tvmffi.Float32, 1), onGPU(tvmffi.Float32, 1), tokensFirst)},
		{"no scale of a cache of 4 bits", page.Nvfp4QuantizeAppendPagedKVCache(keys, keys, places, places,
			compressed, compressed, scales, scales, onGPU(tvmffi.Int32, pages), starts, onGPU(tvmffi.Int32, sequences), 0, 1, tokensFirst)},
	}, nil
}

// rotated calls the kernel that rotates queries and keys, with arguments that may not fit.
func rotated(queries, keys, starts *tvmffi.Tensor) error {
	const scale, theta = 1, 10000
	return rope.ApplyRope(queries, keys, queries, keys, starts, onGPU(tvmffi.Int32, sequences), headSize, false, scale, theta)
}

func refusedRope() ([]attempt, error) {
	queries, keys := onGPU(tvmffi.Float16, tokens, 4*heads, headSize), onGPU(tvmffi.Float16, tokens, heads, headSize)
	starts := onGPU(tvmffi.Int32, sequences+1)
	host, err := tvmffi.FromSlice(make([]tvmffi.F16, tokens*heads*headSize), tokens, heads, headSize)
	if err != nil {
		return nil, err
	}
	places, cosines := onGPU(tvmffi.Int32, tokens), onGPU(tvmffi.Float32, 1024, headSize)
	return []attempt{
		{"no tensor", rotated(queries, nil, starts)},
		{"a tensor of the host", rotated(queries, host, starts)},
		{"two devices", rotated(queries, onDevice(1, tvmffi.Float16, tokens, heads, headSize), starts)},
		{"other rank", rotated(queries, onGPU(tvmffi.Float16, tokens, heads*headSize), starts)},
		{"other number of tokens", rotated(queries, onGPU(tvmffi.Float16, tokens+1, heads, headSize), starts)},
		{"other number of sequences", rotated(queries, keys, onGPU(tvmffi.Int32, sequences))},
		{"other indices", rotated(queries, keys, onGPU(tvmffi.Int64, sequences+1))},
		{"other elements, of 14 arguments", rope.RopeQuantize(queries, keys, queries, keys, queries, keys, queries, keys, cosines, places, 1, 1, false, false)},
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
