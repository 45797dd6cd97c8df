package nvrtc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda/nvrtc"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// A process looks for NVRTC, headers and the driver once: tests of others start the test binary
// again with childName set.
const childName = "TVMFFI_TEST_CHILD"

var children = map[string]func() error{}

func TestMain(m *testing.M) {
	if name := os.Getenv(childName); name != "" {
		if err := children[name](); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child runs a program of children with more environment variables and returns
// what it printed.
func child(t *testing.T, name string, env ...string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := nativetest.Command(t.Context(), exe)
	cmd.Env = append(append(os.Environ(), childName+"="+name), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// pinned skips a test where there are no wheels with a known hash.
func pinned(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the wheels of CUDA are pinned for linux/amd64 only")
	}
}

const (
	library13 = "nvidia/cu13/lib/libnvrtc.so.13"
	library12 = "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
)

// use makes NVRTC 13 available, in an empty cache.
func use(t *testing.T) {
	t.Helper()
	pinned(t)
	t.Setenv("TVMFFI_NVRTC_LIBRARY", nativetest.Pinned(t, "nvidia-cuda-nvrtc").Path(library13))
	t.Setenv("TVMFFI_CACHE", t.TempDir())
}

// cacheWith returns an empty cache with the wheels of packages in it, as "tvmffi-bind setup"
// would have left them.
func cacheWith(t *testing.T, packages ...string) string {
	t.Helper()
	cache := t.TempDir()
	if err := os.Mkdir(filepath.Join(cache, "wheels"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		root := nativetest.Pinned(t, p).Root()
		if err := os.Symlink(root, filepath.Join(cache, "wheels", filepath.Base(root))); err != nil {
			t.Fatal(err)
		}
	}
	return cache
}

// alone are variables for a child that sees no toolkit and no installed Python package of
// the machine, but what its cache has.
func alone(t *testing.T, cache string, more ...string) []string {
	t.Helper()
	empty := t.TempDir()
	return append([]string{"TVMFFI_CACHE=" + cache, "TVMFFI_NVRTC_LIBRARY=", "CUDA_HOME=", "CUDA_PATH=", "VIRTUAL_ENV=", "CONDA_PREFIX=", "PYTHONPATH=", "PYENV_ROOT=", "PATH=", "HOME=" + empty}, more...)
}

func compile(t *testing.T, p nvrtc.Program) *nvrtc.Code {
	t.Helper()
	c, err := nvrtc.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// write writes files below a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
