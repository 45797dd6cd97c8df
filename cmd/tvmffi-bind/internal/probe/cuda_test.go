//go:build e2e

package probe

import (
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestAddCUDA: a library that calls the CUDA runtime without naming it gets the newest one, unless there is one.
func TestAddCUDA(t *testing.T) {
	spec, err := pinnedWheel(newestCUDA, "")
	if err != nil {
		t.Skip(err)
	}
	cache := t.TempDir()
	t.Setenv("TVMFFI_CACHE", cache)
	const path = "nvidia/cu13/lib/libcudart.so.13"
	tree := filepath.Join(cache, "wheels", spec.Package+"-"+spec.Version+"-"+spec.SHA256[:8])
	write(t, filepath.Join(tree, find.Marker), spec.SHA256+"\n")
	write(t, filepath.Join(tree, filepath.FromSlash(path)), "")

	build := func(name, text string, flags ...string) string {
		return nativetest.BuildText(t, name, text, nativetest.Standalone(), nativetest.Flags(flags...))
	}
	const calls = `extern "C" int cudaGraphExecDestroy(void*); int f() { return cudaGraphExecDestroy(nullptr); }`
	stub := build("stub_cudart", `extern "C" int cudaGraphExecDestroy(void*) { return 0; }`, "-Wl,-soname,libstub_cudart.so")
	linked := build("cudart", `extern "C" int cudaGraphExecDestroy(void*) { return 0; }`, "-Wl,-soname,libcudart.so.13")
	for _, c := range []struct {
		what, file string
		deps       []project.LibrarySpec
		linked     bool
		want       bool
	}{
		{"calls", build("loose", calls), nil, false, true},
		{"calls, and has one", build("loose", calls), []project.LibrarySpec{{File: "lib/libcudart.so.12"}}, true, false},
		{"weak", build("weak", `extern "C" __attribute__((weak)) int cudaFree(void*); int f() { return cudaFree ? 1 : 0; }`), nil, true, false},
		{"of another library", build("driver", `extern "C" int cuInit(int); extern "C" int cudnnCreate(int); int f() { return cuInit(0) + cudnnCreate(0); }`), nil, true, false},
		{"looks for it itself", build("stubbed", calls, stub), nil, true, false},
		{"linked", build("linked", calls, linked), nil, true, true},
		{"linked, and the loader looks", build("linked", calls, linked), nil, false, false},
		{"missing", "libgone.so", nil, true, false},
	} {
		p := offline(io.Discard)
		conf := project.NewConfig(".", "")
		conf.Deps = slices.Clone(c.deps)
		if err := p.AddCUDA(t.Context(), conf, []string{c.file}, c.linked); err != nil {
			t.Fatal(c.what, err)
		}
		var want []project.LibrarySpec
		if c.want {
			want = []project.LibrarySpec{{Package: spec.Package, Version: spec.Version, Path: path}}
		}
		if got := conf.Deps[len(c.deps):]; !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", c.what, got, want)
		}
	}
}
