package probe

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/symbols"
)

// cudaPackages has the Python packages of the libraries that every CUDA library needs in order to
// be loaded.
var cudaPackages = map[string]string{"libcudart.so.12": "nvidia-cuda-runtime-cu12", "libcudart.so.13": newestCUDA}

const newestCUDA = "nvidia-cuda-runtime"

// AddCUDA writes into c the CUDA runtime that library files need, from the wheel of NVIDIA, in which
// programs find it too. It leaves out one that c names. A library that calls the CUDA runtime without naming it, as
// those of the CuTe DSL do, gets the newest one. If linked is false, only such libraries get one: the loader looks for
// the others.
func (p *Prober) AddCUDA(ctx context.Context, c *project.Config, files []string, linked bool) error {
	needed := map[string]bool{}
	for _, file := range files {
		f, err := symbols.Read(file)
		if err != nil {
			continue // the loader says what is wrong with it
		}
		i := slices.IndexFunc(f.Needed, isCUDA)
		switch {
		case i >= 0 && linked:
			needed[f.Needed[i]] = true
		case i < 0 && len(f.CUDA) > 0:
			for name, pkg := range cudaPackages {
				if pkg == newestCUDA && !slices.ContainsFunc(c.Deps, func(s project.LibrarySpec) bool { return isCUDA(s.FileName()) }) {
					needed[name] = true
				}
			}
		}
	}
	for _, dep := range c.Deps {
		delete(needed, dep.FileName())
	}
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		if cudaPackages[name] == "" {
			continue
		}
		cuda, err := p.getWheel(ctx, cudaPackages[name], "")
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			p.Console.Notef("going on without %s: %v\n", name, err)
			continue
		}
		files, _ := fs.Glob(os.DirFS(cuda.Root()), "nvidia/*/lib/"+name)
		for _, file := range files {
			c.Deps = append(c.Deps, project.LibrarySpec{Package: cuda.Spec().Package, Version: cuda.Spec().Version, Path: file})
		}
	}
	return nil
}

// isCUDA reports whether a library is the CUDA runtime of any version, or looks for it itself, as libstub_cudart.so of
// TileLang does.
func isCUDA(file string) bool { return strings.Contains(filepath.Base(file), "cudart") }

// getCUDA downloads the library of the CUDA runtime with that name, and reports whether it did.
func (p *Prober) getCUDA(ctx context.Context, name string) bool {
	pkg := cudaPackages[name]
	if pkg == "" || p.Offline {
		return false
	}
	_, err := p.getWheel(ctx, pkg, "")
	return err == nil && find.OfNVIDIA(name) != ""
}
