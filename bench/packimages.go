package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/nvrtc"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

// nvrtcWheel is a wheel with a compiler.
type nvrtcWheel struct {
	major         int
	pkg, version  string
	file          string
	architectures []string // that it must know
}

// nvrtcWheels are the compilers of the images: a driver of CUDA 12 takes no image of CUDA 13. The versions are those
// with a known hash.
var nvrtcWheels = []nvrtcWheel{
	{12, "nvidia-cuda-nvrtc-cu12", "12.9.86", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12", []string{"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"}},
	{13, "nvidia-cuda-nvrtc", "13.5.37", "nvidia/cu13/lib/libnvrtc.so.13", []string{"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"}},
}

// oldestArch is the oldest architecture that every compiler here knows; its PTX serves devices that are newer than all
// cubins.
const oldestArch = 75

// library gets the wheel and returns the file of NVRTC.
func (w *nvrtcWheel) library(ctx context.Context) (file string, spec wheel.Spec, err error) {
	for _, s := range wheel.Pinned() {
		if s.Package == w.pkg && s.Version == w.version && s.GOOS == runtime.GOOS && s.GOARCH == runtime.GOARCH {
			d, err := wheel.Get(ctx, s)
			return d.Path(w.file), s, err
		}
	}
	return "", spec, fmt.Errorf("the wheel of %s %s has no known hash for %s/%s", w.pkg, w.version, runtime.GOOS, runtime.GOARCH)
}

// compileImages compiles a file of CUDA C++ into a folder, by a process of its own: a process loads one NVRTC.
func (p *packer) compileImages(ctx context.Context, w nvrtcWheel, source, dir string, env ...string) error {
	library, spec, err := w.library(ctx)
	if err != nil {
		return err
	}
	env = append(env, "TVMFFI_NVRTC_LIBRARY="+library)
	out, err := command(ctx, p.dir, env, filepath.Join(p.dir, "bin", "bench"), "-images", dir, "-source", source)
	if err != nil {
		return err
	}
	archs := strings.Fields(out)
	for _, a := range w.architectures {
		if !slices.Contains(archs, a) {
			return fmt.Errorf("%s makes images for %s, not for %s", spec, strings.Join(archs, ", "), a)
		}
	}
	made := fmt.Sprintf("NVRTC %s for %s", spec.Version, strings.Join(archs, " "))
	if !slices.Contains(p.manifest.NVRTC, made) {
		p.manifest.NVRTC = append(p.manifest.NVRTC, made)
	}
	return nil
}

// compileAll compiles a file by the NVRTC of this process: a cubin for each architecture, and PTX. It prints the
// architectures.
func compileAll(source, dir string) error {
	archs, err := nvrtc.Architectures()
	if err != nil {
		return err
	}
	archs = slices.DeleteFunc(archs, func(a cuda.Arch) bool { return 10*a.Major+a.Minor < oldestArch })
	if len(archs) == 0 {
		return errors.New("NVRTC knows no architecture")
	}
	for _, a := range archs {
		if err := compileFor(source, dir, a.String(), ".cubin"); err != nil {
			return err
		}
	}
	return compileFor(source, dir, fmt.Sprintf("compute_%d", oldestArch), ".ptx")
}

// compileFor makes the image for one architecture.
func compileFor(file, dir, arch, extension string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	code, err := nvrtc.Compile(nvrtc.Program{Name: filepath.Base(file), Source: string(text), Arch: arch})
	if err != nil {
		return err
	}
	fmt.Println(arch)
	return os.WriteFile(filepath.Join(dir, strings.TrimSuffix(filepath.Base(file), ".cu")+"."+arch+extension), code.Image, 0o644)
}
