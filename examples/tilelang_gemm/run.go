//go:build bindings

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tvmffi-go/tvmffi/native"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// compile compiles the two sources of a program for the CPU and loads them. The caller releases
// the function.
func compile(ctx context.Context, kernel, host string) (*tvmffi.Function, error) {
	folder, err := folderOf("libtilelang.so")
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "gemm-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp) // the library stays loaded
	hostFile, library := filepath.Join(temp, "host.c"), filepath.Join(temp, "libgemm.so")
	if err := os.WriteFile(hostFile, []byte(host), 0o600); err != nil {
		return nil, err
	}
	err = native.BuildTo(ctx, native.Code{
		Name:  name,
		CPP:   []string{kernel},   // TileLang writes the kernel for a compiler of C++
		Files: []string{hostFile}, // and the host for one of C
		// The sources include headers of TileLang and of the TVM in it.
		Include: []string{
			filepath.Join(folder, "..", "src"),
			filepath.Join(folder, "..", "3rdparty", "tvm", "include"),
		},
		CXXFlags: []string{"-O3"},
	}, library)
	if err != nil {
		return nil, err
	}
	module, err := tvmffi.LoadModule(library)
	if err != nil {
		return nil, err
	}
	defer module.Release() // the function keeps it
	return module.Function(name)
}

// folderOf returns the folder of a library that this process has loaded.
func folderOf(library string) (string, error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(maps)) {
		if at := strings.IndexByte(line, '/'); at >= 0 {
			if path := strings.TrimSpace(line[at:]); filepath.Base(path) == library {
				return filepath.Dir(path), nil
			}
		}
	}
	return "", fmt.Errorf("%s is not loaded, so its folder with the headers is not known", library)
}

// multiply calls the function with matrices whose rows follow each other.
func multiply(f *tvmffi.Function, p problem, a, b []float32) ([]float32, error) {
	var tensors [3]*tvmffi.Tensor
	for i, shape := range [][]int64{{p.m, p.k}, {p.k, p.n}, {p.m, p.n}} {
		t, err := tvmffi.NewTensor(tvmffi.Float32, shape...) // aligned to 64 bytes, which the kernel relies on
		if err != nil {
			return nil, err
		}
		defer t.Release()
		tensors[i] = t
	}
	if err := tvmffi.CopyFrom(tensors[0], a); err != nil {
		return nil, err
	}
	if err := tvmffi.CopyFrom(tensors[1], b); err != nil {
		return nil, err
	}
	if _, err := f.Call(tensors[0], tensors[1], tensors[2]); err != nil {
		return nil, err
	}
	product := make([]float32, p.m*p.n) // a slice of the memory of the tensor would end with it
	return product, tvmffi.CopyTo(tensors[2], product)
}

// inGo is the same product in loops of Go.
func inGo(p problem, a, b []float32) []float32 {
	c := make([]float32, p.m*p.n)
	for i := range p.m {
		row := c[i*p.n:][:p.n]
		for k := range p.k {
			x := a[i*p.k+k]
			for j, y := range b[k*p.n:][:p.n] {
				row[j] += x * y
			}
		}
	}
	return c
}

// matrices returns two matrices of small whole numbers, whose product float32 holds exactly.
func matrices(p problem) (a, b []float32) {
	a, b = make([]float32, p.m*p.k), make([]float32, p.k*p.n)
	for i := range a {
		a[i] = float32(i*7%11) - 5
	}
	for i := range b {
		b[i] = float32(i*5%13) - 6
	}
	return a, b
}
