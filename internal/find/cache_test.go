package find

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestAdvise(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{
		syscall.ENOSPC: "; free some space, or set TVMFFI_CACHE to a folder on another disk",
		syscall.EROFS:  "; set TVMFFI_CACHE to a folder that you can write to",
		syscall.EACCES: "; set TVMFFI_CACHE to a folder that you can write to",
		syscall.EMFILE: "",
	} {
		err := fmt.Errorf("wheel: %w", &fs.PathError{Op: "mkdir", Path: "here", Err: errno})
		if got := Advise(err); got.Error() != err.Error()+want || !errors.Is(got, errno) || !strings.Contains(got.Error(), "here") {
			t.Errorf("%v, want it to end in %q", got, want)
		}
	}
	if Advise(nil) != nil {
		t.Error("Advise(nil) is not nil")
	}
}

// On Windows a library that a program has loaded cannot be replaced, and the error says so.
func TestInUse(t *testing.T) {
	for err, windows := range map[error]bool{
		&os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EACCES}:   true,
		&fs.PathError{Op: "replace", Path: "here", Err: syscall.Errno(32)}:     true,
		&fs.PathError{Op: "replace", Path: "here", Err: fs.ErrNotExist}:        false,
		&fs.PathError{Op: "write", Path: "here", Err: syscall.EACCES}:          false,
		fmt.Errorf("other: %w", errors.New("no reason that the system gives")): false,
	} {
		got := InUse(err)
		if !errors.Is(got, err) || strings.Contains(got.Error(), "end the programs") != (windows && runtime.GOOS == "windows") {
			t.Errorf("%v became %v", err, got)
		}
	}
	if InUse(nil) != nil {
		t.Error("no error became one")
	}
}

// The cache is never in the working directory.
func TestCacheDirRelative(t *testing.T) {
	for _, env := range [][3]string{{"here", "", "/home"}, {"", "here", "/home"}, {"", "", "here"}, {"", "", "."}} {
		t.Setenv("TVMFFI_CACHE", env[0])
		t.Setenv("XDG_CACHE_HOME", env[1])
		t.Setenv("HOME", env[2])
		t.Setenv("LocalAppData", env[2])
		if dir, err := CacheDir(); err == nil && !filepath.IsAbs(dir) {
			t.Errorf("with TVMFFI_CACHE, XDG_CACHE_HOME and HOME %q the cache is %s", env, dir)
		}
		if found, err := Cached("sample", "lib.so"); err == nil && runtime.GOOS == "linux" {
			t.Errorf("with TVMFFI_CACHE, XDG_CACHE_HOME and HOME %q the cache was searched: %v", env, found)
		}
	}
}
