package nvrtc_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/tvmffi-go/tvmffi/cuda/nvrtc"
)

// Compile makes a cubin of a kernel that is a template. It needs no GPU.
func ExampleCompile() {
	code, err := nvrtc.Compile(nvrtc.Program{
		Source: `template <class T> __global__ void scale(T* x, T a, int n) {
			int i = blockIdx.x * blockDim.x + threadIdx.x;
			if (i < n) x[i] *= a;
		}`,
		Arch:    "sm_90",
		Kernels: []string{"scale<float>"},
	})
	if errors.Is(err, nvrtc.ErrUnavailable) {
		log.Fatal("install the Python package nvidia-cuda-nvrtc, or a CUDA toolkit")
	}
	if err != nil {
		log.Fatal(err) // the log of the compiler, with file and line
	}
	fmt.Println("the kernel is", code.Names["scale<float>"], "in an image of", len(code.Image), "bytes")
}
