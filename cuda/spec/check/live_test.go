//go:build cute

package check_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

var record = flag.Bool("record", false, "write what the kernels say to "+recorded)

const kernels = "testdata/cute_kernels.py"

// TestCuteLive makes the same calls of the real kernels, which needs no GPU, and
// compares what they say with the recorded messages.
func TestCuteLive(t *testing.T) {
	use(t)
	library, versions := buildKernels(t)
	module, err := tvmffi.LoadModule(library)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range rows(t) {
		f, err := module.Function(r.fn)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Call(r.args...)
		var e *tvmffi.Error
		if errors.As(err, &e) && (strings.HasPrefix(e.Kind, "CUDA") || strings.Contains(strings.ToUpper(e.Message), "CUDA ERROR") || strings.Contains(e.Message, "Cuda Runtime Error")) {
			err = nil // the arguments are right, and what fails is the missing driver
		}
		lines = append(lines, r.fn+", "+r.what+"\t"+text(err))
	}
	reported(t, module)
	got := strings.Join(lines, "\n") + "\n"
	if *record {
		head := fmt.Sprintf("# What kernels of the CuTe DSL say to the calls of table_test.go.\n# Recorded on %s with %s by\n# go test -tags cute ./cuda/spec/check -run TestCuteLive -record\n\n",
			time.Now().UTC().Format(time.DateOnly), versions)
		if err := os.WriteFile(recorded, []byte(head+got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.Split(strings.TrimSpace(string(data)), "\n")
	for _, line := range lines {
		if !slices.Contains(old, line) {
			t.Errorf("not as recorded: %s", line)
		}
	}
}

// reported compares the signatures that the kernels report with those of the table, and
// reads them.
func reported(t *testing.T, module *tvmffi.Module) {
	for name, text := range cuteSpecs {
		f, err := module.Function(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Call(make([]any, 40)...)
		if err == nil {
			t.Fatalf("%s takes 40 arguments", name)
		}
		got, err := spec.ParseMessage(err.Error())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != want.Signature() {
			t.Errorf("%s reports\n%s, the table has\n%s", name, got, want.Signature())
		}
	}
}

// buildKernels compiles and links testdata/cute_kernels.py, once for each content and
// for each place of the libraries that it is linked with.
func buildKernels(t *testing.T) (library, versions string) {
	t.Helper()
	source, err := os.ReadFile(kernels)
	if err != nil {
		t.Fatal(err)
	}
	python, version := nativetest.CuTe(t)
	versions = "nvidia-cutlass-dsl " + version
	ffi := filepath.Dir(nativetest.Library(t))
	cache, err := find.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	support := filepath.Join(filepath.Dir(python), "..", "lib", "python3.11", "site-packages", "nvidia_cutlass_dsl", "cu12", "lib")
	sum := sha256.Sum256(append(source, strings.Join([]string{versions, nativetest.Version(), support, ffi}, "\n")...))
	dir := filepath.Join(cache, "cute-"+hex.EncodeToString(sum[:8]))
	library = filepath.Join(dir, "libcute_kernels.so")
	if _, err := os.Stat(library); err == nil {
		return library, versions
	}
	start := time.Now()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	work, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(work)
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Minute)
	defer cancel()
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Env = append(os.Environ(), "CUTE_DSL_ARCH=sm_90a")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, bytes.TrimSpace(out))
		}
	}
	run(python, kernels, work)
	objects, err := filepath.Glob(filepath.Join(work, "*.o"))
	if err != nil || len(objects) != len(cuteSpecs) {
		t.Fatalf("%d objects, %d functions, %v", len(objects), len(cuteSpecs), err)
	}
	part := library + ".part"
	run("g++", append(append([]string{"-shared", "-o", part}, objects...), "-L"+support, "-lcute_dsl_runtime", "-L"+ffi, "-ltvm_ffi", "-Wl,-rpath,"+support, "-Wl,-rpath,"+ffi)...)
	if err := os.Rename(part, library); err != nil {
		t.Fatal(err)
	}
	t.Logf("compiled in %.0f s", time.Since(start).Seconds())
	return library, versions
}
