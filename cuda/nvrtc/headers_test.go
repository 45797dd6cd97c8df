//go:build e2e

package nvrtc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda/nvrtc"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

const withHeaders = `#include <cuda_fp16.h>
#include <cuda/std/array>
extern "C" __global__ void k(__half* x, cuda::std::array<float, 2> a) {
	x[threadIdx.x] = __hadd(x[threadIdx.x], __float2half(a[0]));
}
`

func init() {
	// headers compiles a program with CUDA headers, twice.
	children["headers"] = func() error {
		p := nvrtc.Program{Name: "h.cu", Source: withHeaders, Arch: "compute_80", Options: strings.Fields(os.Getenv("TVMFFI_TEST_OPTIONS"))}
		c, err := nvrtc.Compile(p)
		if err != nil {
			fmt.Print(err)
			return nil
		}
		again, err := nvrtc.Compile(p)
		if err != nil {
			return err
		}
		fmt.Printf("NVRTC %d.%d: %d bytes, kept: %t", c.Major, c.Minor, len(c.Image), again.Cached)
		return nil
	}
	// crt includes a header that the package of the compiler has.
	children["crt"] = func() error {
		_, err := nvrtc.Compile(nvrtc.Program{Source: "#include <mma.h>", Arch: "sm_80"})
		fmt.Print(err)
		return nil
	}
	// mine compiles with a header of the user that has the name of a CUDA header.
	children["mine"] = func() error {
		p := nvrtc.Program{Source: "#include <cuda_fp16.h>\n#ifndef MINE\n#error not mine\n#endif\n#include <cuda_bf16.h>\n", Arch: "sm_80", Options: []string{"-I" + os.Getenv("TVMFFI_TEST_DIR")}}
		_, err := nvrtc.Compile(p)
		return err
	}
}

// TestHeaders finds CUDA headers in each place: beside NVRTC in the wheels of CUDA 12 and 13, in a
// toolkit, and in NVRTC itself. Seven wheels are a journey: the headers alone are thousands of files.
func TestHeaders(t *testing.T) {
	pinned(t)
	lib13 := nativetest.Pinned(t, "nvidia-cuda-nvrtc").Path(library13)
	lib12 := nativetest.Pinned(t, "nvidia-cuda-nvrtc-cu12").Path(library12)
	runtime12 := nativetest.Pinned(t, "nvidia-cuda-runtime-cu12").Path("nvidia/cuda_runtime/include")
	standard12 := nativetest.Pinned(t, "nvidia-cuda-cccl-cu12").Path("nvidia/cuda_cccl/include")
	wheels12 := []string{"nvidia-cuda-nvrtc-cu12", "nvidia-cuda-runtime-cu12", "nvidia-cuda-cccl-cu12"}
	wheels13 := []string{"nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "nvidia-cuda-crt", "nvidia-cuda-cccl"}

	// A toolkit has all in one folder. So has a site-packages folder after pip install.
	toolkit, site := t.TempDir(), t.TempDir()
	link := func(to, from string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(from)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if err := os.MkdirAll(to, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil && !os.IsExist(err) {
				t.Fatal(err)
			}
		}
	}
	link(filepath.Join(toolkit, "include"), runtime12)
	link(filepath.Join(toolkit, "include"), standard12)
	link(filepath.Join(site, "nvidia", "cuda_runtime", "include"), runtime12)
	link(filepath.Join(site, "nvidia", "cuda_cccl", "include"), standard12)
	link(filepath.Join(site, "nvidia", "cuda_nvrtc", "lib"), filepath.Dir(lib12))

	for _, c := range []struct {
		what     string
		cache    string
		env      []string
		want     []string
		unpacked bool // what NVRTC carries was needed
	}{
		{"the wheels of CUDA 12", cacheWith(t, wheels12...), nil, []string{"NVRTC 12.4: ", "kept: true"}, false},
		{"the wheels of CUDA 13", cacheWith(t, wheels13...), nil, []string{"NVRTC 13.5: ", "kept: true"}, false},
		{"site-packages", t.TempDir(), []string{"PYTHONPATH=" + site}, []string{"NVRTC 12.4: ", "kept: true"}, false},
		{"beside the file", t.TempDir(), []string{"TVMFFI_NVRTC_LIBRARY=" + filepath.Join(site, "nvidia", "cuda_nvrtc", "lib", "libnvrtc.so.12")}, []string{"NVRTC 12.4: ", "kept: true"}, false},
		{"a toolkit", t.TempDir(), []string{"CUDA_HOME=" + toolkit, "TVMFFI_NVRTC_LIBRARY=" + lib12}, []string{"NVRTC 12.4: ", "kept: true"}, false},
		{"CUDA_PATH", t.TempDir(), []string{"CUDA_PATH=" + toolkit, "TVMFFI_NVRTC_LIBRARY=" + lib12}, []string{"NVRTC 12.4: ", "kept: true"}, false},
		{"a toolkit of another version", t.TempDir(), []string{"CUDA_HOME=" + toolkit, "TVMFFI_NVRTC_LIBRARY=" + lib13}, []string{"NVRTC 13.5: ", "kept: true"}, true},
		{"what NVRTC carries", t.TempDir(), []string{"TVMFFI_NVRTC_LIBRARY=" + lib13}, []string{"NVRTC 13.5: ", "kept: true"}, true},
		{"none", t.TempDir(), []string{"TVMFFI_NVRTC_LIBRARY=" + lib12},
			[]string{"NVRTC_ERROR_COMPILATION", "h.cu(1)", `"cuda_fp16.h" is a header of CUDA, and no folder with CUDA headers was found: run pip install nvidia-cuda-runtime-cu12 nvidia-cuda-cccl-cu12, set CUDA_HOME to the folder of a CUDA toolkit 12, or add an option -I`}, false},
		{"the runtime alone", cacheWith(t, wheels12[:2]...), nil, []string{"h.cu(2)", `"cuda/std/array" is a header of CUDA, and it is not in `, "pip install nvidia-cuda-runtime-cu12 nvidia-cuda-cccl-cu12"}, false},
		{"an option", t.TempDir(), []string{"TVMFFI_NVRTC_LIBRARY=" + lib12, "TVMFFI_TEST_OPTIONS=-I" + runtime12 + " -I" + standard12}, []string{"NVRTC 12.4: ", "kept: true"}, false},
	} {
		out := child(t, "headers", alone(t, c.cache, c.env...)...)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %q is not in:\n%s", c.what, want, out)
			}
		}
		if found, _ := filepath.Glob(filepath.Join(c.cache, "nvrtc", "headers-*")); len(found) > 0 != c.unpacked {
			t.Errorf("%s: the headers that NVRTC carries: %q", c.what, found)
		}
	}

	if out := child(t, "crt", alone(t, cacheWith(t, wheels12...))...); !strings.Contains(out, `"crt/mma.h" is a header of CUDA`) || !strings.Contains(out, "run pip install nvidia-cuda-nvcc-cu12, set CUDA_HOME") {
		t.Error(out)
	}

	mine := t.TempDir()
	write(t, mine, map[string]string{"cuda_fp16.h": "#define MINE\n#include_next <cuda_fp16.h>\n"})
	child(t, "mine", alone(t, cacheWith(t, wheels12...), "TVMFFI_TEST_DIR="+mine)...)
}
