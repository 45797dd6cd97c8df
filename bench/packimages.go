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
	"github.com/tvmffi-go/tvmffi/cuda/nvjitlink"
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

// linkWheels are the compilers and linkers of what the tests link: the oldest, because the linker in a driver must not be
// older than the compiler. Newer drivers take its code, and newer devices its PTX.
var linkWheels = [2]nvrtcWheel{
	{12, "nvidia-cuda-nvrtc-cu12", "12.4.127", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12", []string{"sm_80", "sm_86", "sm_89", "sm_90"}},
	{12, "nvidia-nvjitlink-cu12", "12.4.127", "nvidia/nvjitlink/lib/libnvJitLink.so.12", nil},
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

// linkImages compiles files that need each other into a folder, and links them there by nvJitLink.
func (p *packer) linkImages(ctx context.Context, sources []string, dir string) error {
	library, _, err := linkWheels[1].library(ctx)
	if err != nil {
		return err
	}
	return p.compileImages(ctx, linkWheels[0], strings.Join(sources, ","), dir, "TVMFFI_NVJITLINK_LIBRARY="+library)
}

// compileAll compiles a file by the NVRTC of this process: a cubin for each architecture, and PTX. It prints the
// architectures. Of several files, with commas between, it makes code to link, and links them by nvJitLink to images
// whose name is linked.
func compileAll(source, dir string) error {
	archs, err := nvrtc.Architectures()
	if err != nil {
		return err
	}
	archs = slices.DeleteFunc(archs, func(a cuda.Arch) bool { return 10*a.Major+a.Minor < oldestArch })
	if len(archs) == 0 {
		return errors.New("NVRTC knows no architecture")
	}
	units := strings.Split(source, ",")
	for _, a := range archs {
		if err := compileFor(units, dir, a.String(), ".cubin"); err != nil {
			return err
		}
	}
	return compileFor(units, dir, fmt.Sprintf("compute_%d", oldestArch), ".ptx")
}

// compileFor makes the images for one architecture.
func compileFor(units []string, dir, arch, extension string) error {
	var inputs []cuda.LinkInput
	compile := func(file string, options ...string) (image []byte, err error) {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		code, err := nvrtc.Compile(nvrtc.Program{Name: filepath.Base(file), Source: string(text), Arch: arch, Options: options})
		if err != nil {
			return nil, err
		}
		return code.Image, nil
	}
	write := func(name string, image []byte) error {
		return os.WriteFile(filepath.Join(dir, name+"."+arch+extension), image, 0o644)
	}
	real := strings.Replace(arch, "compute_", "sm_", 1) // LTO IR and links have no virtual architectures
	var options []string
	for _, file := range units {
		name := strings.TrimSuffix(filepath.Base(file), ".cu")
		if len(units) > 1 {
			options = []string{"-rdc=true"}
		}
		image, err := compile(file, options...)
		if err == nil {
			err = write(name, image)
		}
		if err == nil && len(units) > 1 {
			image, err = compile(file, "-dlto")
			inputs = append(inputs, cuda.LinkInput{Name: name, Data: image})
		}
		if err != nil {
			return err
		}
	}
	fmt.Println(arch)
	if len(units) == 1 {
		return nil
	}
	p := nvjitlink.Program{Arch: real, Inputs: inputs}
	if real != arch {
		p.Options = []string{"-ptx"}
	}
	code, err := nvjitlink.Link(p)
	if err != nil {
		return err
	}
	return write("linked", code.Image)
}
