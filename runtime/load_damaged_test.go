package tvmffi_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// cut shortens a file to a part of its size and returns its path.
func cut(t *testing.T, path string, part int64) string {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()/part); err != nil {
		t.Fatal(err)
	}
	return path
}

// cachedCopy puts a copy of a library of a wheel into a cache and returns its path.
func cachedCopy(t *testing.T, cache, entry, library, path string) string {
	t.Helper()
	tree := filepath.Join(cache, "wheels", entry)
	file := copyFile(t, library, filepath.Join(tree, filepath.FromSlash(path)))
	write(t, filepath.Join(tree, find.Marker), "hash")
	return file
}

// The loader maps a truncated library and the process dies by SIGBUS. An error comes before,
// and no other library is taken instead.
func TestTruncated(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the other loaders refuse a truncated library themselves")
	}
	library := nativetest.Library(t)
	dir := t.TempDir()
	for _, part := range []int64{2, 8} {
		file := cut(t, copyFile(t, library, filepath.Join(dir, "named.so")), part)
		for _, env := range []string{"TVMFFI_LIBRARY=", envOption + "="} {
			wantFailure(t, "load", []string{env + file}, file+": the file is truncated or malformed: it has ", "copy, install or build "+file+" again", "kind LibraryNotFound")
		}
	}
	cache := filepath.Join(dir, "cache")
	newest := cut(t, cachedCopy(t, cache, "apache-tvm-ffi-0.1.15-deadbeef", library, find.PathOfCore(runtime.GOOS)), 2)
	cachedCopy(t, cache, "apache-tvm-ffi-0.1.12-deadbeef", library, find.PathOfCore(runtime.GOOS))
	wantFailure(t, "load", []string{"TVMFFI_CACHE=" + cache}, newest+": the file is truncated", `run "go tool tvmffi-bind setup", which repairs the cache`)
	empty := write(t, filepath.Join(dir, "empty", name), "")
	wantFailure(t, "load", []string{"TVMFFI_CACHE=" + cache, "TVMFFI_LIBRARY_PATH=" + filepath.Dir(empty)}, empty+": the file is truncated or malformed: it is empty")

	garden := cut(t, copyFile(t, nativetest.Build(t, "garden"), filepath.Join(dir, "libgarden.so")), 2)
	wantFailure(t, "bindings", []string{"TVMFFI_LIBRARY=" + library, envFile + "=" + garden}, "load "+garden+": the file is truncated", "copy, install or build")

	whole := copyFile(t, nativetest.Build(t, "garden"), filepath.Join(dir, "whole", "libgarden.so"))
	wantFailure(t, "bindings", []string{"TVMFFI_LIBRARY=" + library, "TVMFFI_LIBRARY_PATH=" + dir + ":" + filepath.Dir(whole)}, "load "+garden+": the file is truncated")

	runtimetest.Load(t)
	if err := tvmffi.LoadLibrary(garden); err == nil || !strings.Contains(err.Error(), "load "+garden+": the file is truncated") {
		t.Errorf("LoadLibrary: %v", err)
	}
	_, err := tvmffi.LoadModule(garden)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "load "+garden+": the file is truncated", "copy, install or build")
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
	cachedCopy(t, cache, "apache-tvm-ffi-0.1.15-deadbeef", library, find.PathOfCore(runtime.GOOS))
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
