//go:build tvmffi_liveness

package env_test

import (
	"fmt"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/env"
)

//go:noinline
func numbers() *tvmffi.Tensor {
	return runtimetest.Got(tvmffi.FromSlice([]float32{0, 1, 2, 3}, 2, 2))
}

func TestLiveness(t *testing.T) {
	runtimetest.LoadTensors(t)
	shown := func(x *tvmffi.Tensor) string { return fmt.Sprint(x.Shape(), runtimetest.Got(tvmffi.ToFloat32(x))) }
	var made string
	fromGo := func(env.TensorSpec) (*tvmffi.Tensor, error) { return numbers(), nil }
	within := func(a env.Allocator, f func() (*tvmffi.Tensor, error)) any {
		made = ""
		err := env.WithAllocator(a, func() error {
			x, err := f()
			if err == nil {
				made = shown(x)
			}
			return err
		})
		return fmt.Sprintln(made, err)
	}
	inC := func() (*tvmffi.Tensor, error) { return envAlloc("tensors.env_alloc", 2, 2) }
	runtimetest.Alive(t, []runtimetest.Use{
		{"GoAllocator", func() any { return shown(runtimetest.Got(env.GoAllocator(runtimetest.FloatSpec(2, 2)))) }, "[2 2] [0 0 0 0]"},
		{"EnvTensor", func() any {
			return within(env.GoAllocator, func() (*tvmffi.Tensor, error) { return env.EnvTensor(runtimetest.FloatSpec(2, 2)) })
		}, "[2 2] [0 0 0 0] <nil>\n"},
		{"an allocator in Go", func() any { return within(fromGo, inC) }, "[2 2] [0 1 2 3] <nil>\n"},
		{"an allocator in Go of a view", func() any {
			return within(func(env.TensorSpec) (*tvmffi.Tensor, error) { return numbers().Reshape(2, 2) }, inC)
		}, "[2 2] [0 1 2 3] <nil>\n"},
		{"an allocator that fails", func() any {
			return within(func(env.TensorSpec) (*tvmffi.Tensor, error) {
				return nil, tvmffi.NewError("ValueError", "no memory at all")
			}, inC)
		}, " ValueError: no memory at all\n"},
	})
}
