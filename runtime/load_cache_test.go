package tvmffi_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/runtimetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel/sites"
)

// cachedCopy puts a copy of a library of a wheel into a cache and returns its path.
func cachedCopy(t *testing.T, cache, entry, library, path string) string {
	t.Helper()
	tree := filepath.Join(cache, "wheels", entry)
	file := copyFile(t, library, filepath.Join(tree, filepath.FromSlash(path)))
	write(t, filepath.Join(tree, sites.Marker), "hash")
	return file
}

// wantFailure expects that a child ends with an error that has these parts, not by a signal.
func wantFailure(t *testing.T, child string, env []string, parts ...string) {
	t.Helper()
	out, err := runtimetest.Child(t, child, env...)
	if err == nil || strings.Contains(out, "SIGBUS") {
		t.Errorf("with %v the child ended with %v:\n%s", env, err, out)
	}
	for _, part := range parts {
		if !strings.Contains(out, part) {
			t.Errorf("with %v the error lacks %q:\n%s", env, part, out)
		}
	}
}

// A library of the cache that is not what its wheel had ends the search; one that RECORD knows
// with this hash is another version.
func TestAltered(t *testing.T) {
	library, garden := nativetest.Library(t), nativetest.Build(t, "garden")
	cache := filepath.Join(t.TempDir(), "cache")
	file := cachedCopy(t, cache, "garden-1.0-deadbeef", garden, "garden/libgarden.so")
	env := []string{"TVMFFI_LIBRARY=" + library, "TVMFFI_CACHE=" + cache, envHash + "=" + strings.Repeat("0", 64)}
	wantFailure(t, "bindings", env, "another version: its sha256 is ")
	write(t, filepath.Join(cache, "wheels", "garden-1.0-deadbeef", "garden-1.0.dist-info", "RECORD"),
		"garden/libgarden.so,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n")
	wantFailure(t, "bindings", env, file+" is damaged: its sha256 is ", `run "go tool tvmffi-bind setup", which repairs the cache`)
}

// Others must not be able to plant a library in the cache.
func TestSharedCache(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("file modes do not say who may write on Windows")
	}
	library, garden := nativetest.Library(t), nativetest.Build(t, "garden")
	cache := filepath.Join(t.TempDir(), "cache")
	cachedCopy(t, cache, "apache-tvm-ffi-0.1.15-deadbeef", library, sites.Library(runtime.GOOS))
	cachedCopy(t, cache, "garden-1.0-deadbeef", garden, "garden/libgarden.so")
	if out, err := runtimetest.Child(t, "bindings", "TVMFFI_CACHE="+cache); err != nil {
		t.Fatalf("a cache of one's own: %v\n%s", err, out)
	}
	wheels := filepath.Join(cache, "wheels")
	if err := os.Chmod(wheels, 0o777); err != nil {
		t.Fatal(err)
	}
	reason := wheels + " is not safe to load code from: it can be written by every user (mode 777); run chmod go-w " + wheels
	wantFailure(t, "load", []string{"TVMFFI_CACHE=" + cache}, "cannot be loaded; tried:", "cache of tvmffi-bind setup: "+reason)
	wantFailure(t, "bindings", []string{"TVMFFI_CACHE=" + cache, "TVMFFI_LIBRARY=" + library}, "cannot be loaded; tried:", "cache of tvmffi-bind: "+reason)
}
