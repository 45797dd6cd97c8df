package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
)

// pinned returns the program of a Python that has the packages of a file of requirements with hashes. It is the
// environment of the tests, in the cache.
func (t *tree) pinned(ctx context.Context, interpreter, name string) (string, error) {
	file := filepath.Join(filepath.Dir(t.bench), "internal", "testkit", "nativetest", "testdata", name+"_requirements.txt")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	place := filepath.Join("..", "python", name+"-"+hex.EncodeToString(sum[:8]))
	if !found(interpreter) {
		interpreter = "python3"
	}
	return t.environmentBy(ctx, interpreter, place, "--no-deps", "--only-binary=:all:", "--require-hashes", "-r", file)
}

// cuteArchs are the architectures of the kernels of the CuTe DSL. Code for sm_80 runs on 8.x; that for the others uses
// what one architecture has.
var cuteArchs = []string{"sm_80", "sm_90a", "sm_100a", "sm_120a"}

// cute packs the example cute_dsl.
func (p *packer) cute(ctx context.Context) error {
	python, err := p.pinned(ctx, "python3.11", "cute")
	if err != nil {
		return err
	}
	const runtimeName = "libcute_dsl_runtime.so"
	for _, arch := range cuteArchs {
		dir := filepath.Join(p.scratch, "cute", arch)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		build := filepath.Join(p.root, "examples", "cute_dsl", "native", "build.sh")
		if _, err := command(ctx, p.root, []string{"PYTHON=" + python, "CUTE_DSL_ARCH=" + arch}, build, dir, filepath.Join(dir, "kernels.json")); err != nil {
			return err
		}
		if err := p.copy(filepath.Join(dir, "libcutekernels.so"), "cute/"+arch+"/libcutekernels.so"); err != nil {
			return err
		}
		if err := p.copy(filepath.Join(dir, runtimeName), "cute/"+runtimeName); err != nil {
			return err
		}
		// The kernels look for it beside them. It has 43 MB.
		if err := os.Symlink(filepath.Join("..", runtimeName), filepath.Join(p.dir, "cute", arch, runtimeName)); err != nil {
			return err
		}
	}
	const program = "bin/cute"
	if err := p.build(ctx, program, "./examples/cute_dsl", "test", "-tags=cute"); err != nil {
		return err
	}
	results := testPart("Example cute_dsl, compared with sums and products in Go", program, "TestResults")
	results.NotOnFake = cudaRuntime
	p.add(testPart("Example cute_dsl, calls that are refused", program, "TestRefused"), results)
	return nil
}

const cudaRuntime = "its kernels go through the CUDA runtime, which needs the driver of a GPU"
