package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

// tree holds what the benchmark builds, all in the cache of the user.
type tree struct {
	bench  string // the folder of this program's source
	cache  string
	wheel  wheel.Dir
	python string // the Python that has the wheel
}

func newTree(ctx context.Context) (*tree, error) {
	bench, err := filepath.Abs("bench")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(bench, "native", "perf.cc")); err != nil {
		return nil, fmt.Errorf("start bench/run, or go run ./bench in the root of the repository: %w", err)
	}
	root, err := find.CacheDir()
	if err != nil {
		return nil, err
	}
	t := &tree{bench: bench, cache: filepath.Join(root, "bench")}
	if err := os.MkdirAll(t.cache, 0o700); err != nil {
		return nil, err
	}
	spec, err := wheel.TVMFFI("", runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	t.wheel, err = wheel.Get(ctx, spec)
	return t, err
}

// command runs a program and returns what it printed; the error shows it.
func command(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return string(out), nil
}

// compile builds C++ against the wheel, once for each content.
func (t *tree) compile(ctx context.Context, source, file string, flags ...string) (string, error) {
	var text []byte
	for _, file := range []string{source, "harness.h"} {
		part, err := os.ReadFile(filepath.Join(t.bench, "native", file))
		if err != nil {
			return "", err
		}
		text = append(text, part...)
	}
	compiler := compilerName()
	version, err := command(ctx, "", nil, compiler, "--version")
	if err != nil {
		return "", fmt.Errorf("install g++, or name a C++ compiler by CXX: %w", err)
	}
	lib := filepath.Dir(t.wheel.Library())
	args := []string{"-std=c++17", "-O2", "-fPIC", "-pthread"}
	args = append(args, flags...)
	key := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%q\n%s", version, t.wheel.Spec().SHA256, args, text))
	dir := filepath.Join(t.cache, "native", hex.EncodeToString(key[:8]))
	out := filepath.Join(dir, file)
	if _, err := os.Stat(out); err == nil {
		return out, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	for _, d := range t.wheel.Include() {
		args = append(args, "-I", d)
	}
	args = append([]string{compiler}, args...)
	args = append(args, "-o", out+".part", filepath.Join(t.bench, "native", source), "-L", lib, "-ltvm_ffi", "-Wl,-rpath,"+lib, "-ldl")
	if _, err := command(ctx, "", nil, args...); err != nil {
		return "", err
	}
	return out, os.Rename(out+".part", out)
}

// library builds the library that all peers call.
func (t *tree) library(ctx context.Context) (string, error) {
	return t.compile(ctx, "perf.cc", "libperf.so", "-shared", "-Wl,-soname,libperf.so")
}

// venv makes a Python environment with the same version of the wheel.
func (t *tree) venv(ctx context.Context) (err error) {
	t.python, err = t.environment(ctx, "venv-"+wheel.DefaultVersion, "apache-tvm-ffi=="+wheel.DefaultVersion, "numpy")
	return err
}

// environment makes a Python environment in the cache, and returns its Python.
func (t *tree) environment(ctx context.Context, name string, pip ...string) (string, error) {
	return t.environmentBy(ctx, "python3", name, pip...)
}

// environmentBy is environment with another Python.
func (t *tree) environmentBy(ctx context.Context, interpreter, name string, pip ...string) (string, error) {
	dir := filepath.Join(t.cache, name)
	python := filepath.Join(dir, "bin", "python")
	ready := filepath.Join(dir, ".complete")
	if _, err := os.Stat(ready); err == nil {
		return python, nil
	}
	if _, err := command(ctx, t.cache, nil, interpreter, "-m", "venv", dir); err != nil {
		return "", err
	}
	fmt.Fprintln(os.Stderr, "installing", strings.Join(pip, " "))
	if _, err := command(ctx, t.cache, nil, append([]string{python, "-m", "pip", "install", "--quiet"}, pip...)...); err != nil {
		return "", err
	}
	return python, os.WriteFile(ready, nil, 0o600)
}

// program is the path of a built peer.
func (t *tree) program(name string) string { return filepath.Join(t.cache, "bin", name) }

// goBuild builds a Go program from its folder.
func (t *tree) goBuild(ctx context.Context, dir, name string, env ...string) (string, error) {
	out := t.program(name)
	_, err := command(ctx, dir, append(env, "GOFLAGS=-buildvcs=false"), "go", "build", "-o", out, ".")
	return out, err
}

// goLibrary builds a Go library for programs in other languages.
func (t *tree) goLibrary(ctx context.Context) (string, error) {
	out := t.program("libgolib.so")
	_, err := command(ctx, filepath.Join(filepath.Dir(t.bench), "examples"), []string{"CGO_ENABLED=1", "GOFLAGS=-buildvcs=false"},
		"go", "build", "-buildmode=c-shared", "-o", out, "./go_library/golib/libgolib")
	return out, err
}

// cgo builds the peer that uses cgo.
func (t *tree) cgo(ctx context.Context) (string, error) {
	lib := filepath.Dir(t.wheel.Library())
	include := "-O2"
	for _, d := range t.wheel.Include() {
		include += " -I" + d
	}
	return t.goBuild(ctx, filepath.Join(t.bench, "testdata", "byhand"), "cgo", "CGO_ENABLED=1",
		"CGO_CFLAGS="+include, "CGO_LDFLAGS=-L"+lib+" -Wl,-rpath,"+lib)
}

// rust builds the peer that uses the crate; it is optional.
func (t *tree) rust(ctx context.Context) (string, error) {
	if _, err := exec.LookPath("cargo"); err != nil {
		return "", err
	}
	target := filepath.Join(t.cache, "rust")
	// The build script of the crate asks tvm-ffi-config where the library is.
	path := "PATH=" + filepath.Dir(t.python) + string(os.PathListSeparator) + os.Getenv("PATH")
	_, err := command(ctx, filepath.Join(t.bench, "testdata", "rust"), []string{path, "CARGO_TARGET_DIR=" + target},
		"cargo", "build", "--quiet", "--release", "--locked")
	return filepath.Join(target, "release", "peer"), err
}
