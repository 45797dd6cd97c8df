//go:build bindings

package main

import (
	"context"
	"fmt"
	"path/filepath"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/native"
)

// link writes the machine code of library as an object file into dir and links it with the C++ compiler
// of this machine. It returns the path of the shared library. A program that loads it needs
// libtvm_ffi.so and nothing of the compiler of TVM.
func link(ctx context.Context, library *tvmffi.Module, dir string) (string, error) {
	object := filepath.Join(dir, "kernel.o")
	if err := library.WriteToFile(object, "o"); err != nil {
		return "", fmt.Errorf("write the object file: %w", err)
	}
	shared := filepath.Join(dir, "libkernel.so")
	return shared, native.BuildTo(ctx, native.Code{Name: "kernel", Files: []string{object}}, shared)
}

// applyFrom loads a shared library that link has made, and applies its kernel.
func applyFrom(path string, numbers []float32) ([]float32, error) {
	library, err := tvmffi.LoadModule(path)
	if err != nil {
		return nil, err
	}
	defer library.Release()
	kernel, err := library.Function(twicePlusOneName)
	if err != nil {
		return nil, err
	}
	defer kernel.Release()
	return apply(kernel, numbers)
}

// apply calls a kernel that takes an input and an output tensor of one length.
func apply(kernel *tvmffi.Function, numbers []float32) ([]float32, error) {
	// A kernel of TVM relies on memory that is aligned to 64 bytes, as NewTensor aligns it; the memory of a
	// slice may not be.
	in, err := tvmffi.NewTensor(tvmffi.Float32, int64(len(numbers)))
	if err != nil {
		return nil, err
	}
	defer in.Release()
	if err := tvmffi.CopyFrom(in, numbers); err != nil {
		return nil, err
	}
	out, err := tvmffi.NewTensor(tvmffi.Float32, int64(len(numbers)))
	if err != nil {
		return nil, err
	}
	defer out.Release()
	if _, err := kernel.Call(in, out); err != nil {
		return nil, err
	}
	result := make([]float32, len(numbers)) // a slice of the memory of out would end with out
	return result, tvmffi.CopyTo(out, result)
}
