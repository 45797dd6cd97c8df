package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/nvrtc"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

// The NVRTC of the images in a pack: the oldest with a known hash. Drivers of CUDA 12.4 and newer load its cubins and its
// PTX, which devices take that are newer than the cubins.
const packNVRTC, packNVRTCFile = "12.4.127", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"

// packArchs are the architectures of the kernels of the CuTe DSL. Code for sm_80 runs on 8.x; that for the others uses
// what one architecture has.
var packArchs = []string{"sm_80", "sm_90a", "sm_100a", "sm_120a"}

// pack makes a folder for a machine that has an NVIDIA driver and neither Go nor a compiler: the tests of
// cuda/internal/gputest and of the example cute_dsl, what they load, and the script run.
func (t *tree) pack(ctx context.Context, dir string) error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("a pack is made on linux/amd64, for linux/amd64: this is %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: name another folder, or remove it", dir)
	}
	root := filepath.Dir(t.bench)
	for _, made := range []string{"lib", "fake", "cute", "images"} {
		if err := os.MkdirAll(filepath.Join(dir, made), 0o755); err != nil {
			return err
		}
	}
	test := func(name, pkg string, flags ...string) error {
		args := append([]string{"go", "test", "-c", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, name)}, flags...)
		_, err := command(ctx, filepath.Join(root, pkg), []string{"CGO_ENABLED=0"}, append(args, ".")...)
		return err
	}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"the tests of package cuda", func() error { return test("gputest", "cuda/internal/gputest") }},
		{"their images", func() error {
			return packImages(ctx, filepath.Join(root, "cuda", "internal", "gputest"), filepath.Join(dir, "images"))
		}},
		{"libtvm_ffi", func() error { return copyFile(t.wheel.Library(), filepath.Join(dir, "lib", "libtvm_ffi.so")) }},
		{"the fake driver", func() error {
			_, err := command(ctx, root, nil, compilerName(), "-std=c++17", "-fPIC", "-shared", "-w", "-o", filepath.Join(dir, "fake", "libfakecuda.so"), "testdata/fakecuda/fakecuda.cc", "-ldl")
			return err
		}},
		{"the script", func() error { return copyFile(filepath.Join(t.bench, "gpurun"), filepath.Join(dir, "run")) }},
		{"the tests of cute_dsl", func() error { return test("cutetest", "examples/cute_dsl", "-tags=cute") }},
		{"the kernels of the CuTe DSL, whose compiler has 400 MB", func() error { return t.packCuTe(ctx, root, filepath.Join(dir, "cute")) }},
	} {
		fmt.Fprintln(os.Stderr, "packing", step.what)
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	fmt.Fprintf(os.Stderr, "%s is ready: copy it to a machine with a GPU and start %s/run there\n", dir, dir)
	return nil
}

// packImages compiles the kernels of a folder for all architectures from sm_75 on, and to PTX.
func packImages(ctx context.Context, folder, to string) error {
	for _, s := range wheel.Pinned() {
		if s.Package != "nvidia-cuda-nvrtc-cu12" || s.Version != packNVRTC {
			continue
		}
		d, err := wheel.Get(ctx, s)
		if err != nil {
			return err
		}
		if err := os.Setenv("TVMFFI_NVRTC_LIBRARY", d.Path(packNVRTCFile)); err != nil {
			return err
		}
	}
	archs, err := nvrtc.Architectures()
	if err != nil {
		return err
	}
	sources, err := filepath.Glob(filepath.Join(folder, "*.cu"))
	if err != nil {
		return err
	}
	for _, file := range sources {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, a := range append(archs, cuda.Arch{}) {
			name, extension := a.String(), ".cubin"
			if a == (cuda.Arch{}) {
				name, extension = "compute_75", ".ptx"
			} else if 10*a.Major+a.Minor < 75 {
				continue
			}
			code, err := nvrtc.Compile(nvrtc.Program{Name: filepath.Base(file), Source: string(text), Arch: name})
			if err != nil {
				return err
			}
			image := strings.TrimSuffix(filepath.Base(file), ".cu") + "." + name + extension
			if err := os.WriteFile(filepath.Join(to, image), code.Image, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// packCuTe compiles the kernels of the example cute_dsl by the Python of the tests.
func (t *tree) packCuTe(ctx context.Context, root, to string) error {
	requirements := filepath.Join(root, "internal", "testkit", "nativetest", "testdata", "cute_requirements.txt")
	text, err := os.ReadFile(requirements)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	python, err := t.environmentBy(ctx, "python3.11", filepath.Join("..", "python", "cute-"+hex.EncodeToString(sum[:8])), "--no-deps", "--only-binary=:all:", "--require-hashes", "-r", requirements)
	if err != nil {
		return err
	}
	for _, arch := range packArchs {
		dir := filepath.Join(to, arch)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		env := []string{"PYTHON=" + python, "CUTE_DSL_ARCH=" + arch}
		if _, err := command(ctx, root, env, filepath.Join(root, "examples", "cute_dsl", "native", "build.sh"), dir, filepath.Join(dir, "kernels.json")); err != nil {
			return err
		}
		// The kernels look for it beside them. It has 43 MB.
		const runtimeName = "libcute_dsl_runtime.so"
		err := os.Rename(filepath.Join(dir, runtimeName), filepath.Join(to, runtimeName))
		if err == nil {
			err = os.Symlink(filepath.Join("..", runtimeName), filepath.Join(dir, runtimeName))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

func compilerName() string {
	if name := os.Getenv("CXX"); name != "" {
		return name
	}
	return "g++"
}
