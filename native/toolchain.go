package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/compiler"
	"github.com/tvmffi-go/tvmffi/internal/find"
)

// Flags are the flags that a C++ compiler needs to build a TVM-FFI library.
type Flags struct {
	Compile []string `json:"cxxflags"`
	Link    []string `json:"ldflags"` // after the sources
}

// FlagsFor returns the flags for a libtvm_ffi, whose headers lie next to it, like in
// its Python package.
func FlagsFor(library string) (Flags, error) {
	include, err := headers(library)
	if err != nil {
		return Flags{}, err
	}
	f := Flags{
		Compile: compiler.Flags(),
		Link:    []string{"-L" + filepath.Dir(library), "-ltvm_ffi"},
	}
	for _, dir := range include {
		f.Compile = append(f.Compile, "-I"+dir)
	}
	return f, nil
}

// headers finds the folders with the headers of TVM-FFI and of DLPack.
func headers(library string) ([]string, error) {
	pkg := filepath.Dir(filepath.Dir(library))
	var dirs []string
	// Older wheels keep the headers of DLPack elsewhere.
	for _, header := range []struct {
		file  string
		roots []string
	}{
		{"tvm/ffi/c_api.h", []string{"include"}},
		{"dlpack/dlpack.h", []string{"include", "3rdparty/dlpack/include"}},
	} {
		i := slices.IndexFunc(header.roots, func(root string) bool { return find.IsFile(filepath.Join(pkg, root, header.file)) })
		if i < 0 {
			return nil, fmt.Errorf("libtvm_ffi at %s comes without the header %s: unset TVMFFI_LIBRARY, so that the Python package with the headers is used", library, header.file)
		}
		if dir := filepath.Join(pkg, header.roots[i]); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// toolchain holds the tools that compile one Code.
type toolchain struct {
	cxx, nvcc string // nvcc is "" without CUDA
	cudaRoot  string // the folder of bin/nvcc
	identity  string // of both: the library depends on the compilers
	flags     Flags
	include   []string // folders of headers that belong to the toolchain
}

func (c *Code) toolchain(ctx context.Context, cuda bool) (*toolchain, error) {
	if runtime.GOOS == "windows" {
		return nil, errors.New("native: building on Windows is not supported, because the headers of TVM-FFI want the compiler of Microsoft")
	}
	flags, err := FlagsFor(c.Library)
	if err != nil {
		return nil, fmt.Errorf("native: %w", err)
	}
	t := &toolchain{flags: flags}
	for _, f := range flags.Compile {
		if dir, ok := strings.CutPrefix(f, "-I"); ok {
			t.include = append(t.include, dir)
		}
	}
	if t.cxx, err = compiler.Find(); err != nil {
		return nil, fmt.Errorf("native: %w", err)
	}
	compilers := []string{t.cxx}
	if cuda {
		if t.nvcc, err = findNVCC(); err != nil {
			return nil, err
		}
		t.cudaRoot = filepath.Dir(filepath.Dir(t.nvcc))
		t.include = append(t.include, filepath.Join(t.cudaRoot, "include"))
		compilers = append(compilers, t.nvcc)
	}
	for _, c := range compilers {
		id, err := compiler.Identify(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("native: %w", err)
		}
		t.identity += id.Version + id.Machine
	}
	return t, nil
}

// findNVCC looks in CUDA_HOME and CUDA_PATH, in PATH, in the usual folder of CUDA, and
// in the Python package nvidia-cuda-nvcc.
func findNVCC() (string, error) {
	for _, variable := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if root := os.Getenv(variable); root != "" {
			path, err := exec.LookPath(filepath.Join(root, "bin", "nvcc"))
			if err != nil {
				return "", fmt.Errorf("native: %s: no nvcc there: %w", variable, err)
			}
			return path, nil
		}
	}
	for _, name := range []string{"nvcc", "/usr/local/cuda/bin/nvcc"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	for _, major := range []string{"cu13", "cu12"} {
		for _, found := range find.Installed("nvidia-cuda-nvcc", "nvidia/"+major+"/bin/nvcc") {
			return found.Path, nil
		}
	}
	return "", errors.New("native: CUDA sources need nvcc, which is not in CUDA_HOME, CUDA_PATH, PATH, /usr/local/cuda or an installed Python package nvidia-cuda-nvcc: install one of them, or compile at run time with cuda/nvrtc")
}

// cudart is how the CUDA runtime is linked: into the library if possible, so that it
// needs no other file at run time.
func (t *toolchain) cudart() ([]string, error) {
	var patterns []string
	for _, lib := range []string{"lib64", "lib", "targets/*/lib"} {
		patterns = append(patterns, filepath.Join(t.cudaRoot, lib, "libcudart_static.a"))
	}
	for _, lib := range []string{"lib64", "lib", "targets/*/lib"} {
		patterns = append(patterns, filepath.Join(t.cudaRoot, lib, "libcudart.so*"))
	}
	for _, p := range patterns {
		if found, err := filepath.Glob(p); err == nil && len(found) > 0 {
			return []string{found[0], "-ldl", "-lrt", "-pthread"}, nil
		}
	}
	return nil, fmt.Errorf("nvcc is at %s, but there is neither libcudart_static.a nor libcudart.so below %s: install the CUDA runtime, for example the Python package nvidia-cuda-runtime", t.nvcc, t.cudaRoot)
}
