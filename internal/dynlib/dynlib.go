package dynlib

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/elfheader"
)

// Handle is a loaded library.
type Handle uintptr

// ErrNotLoaded is the error of Loaded when the process has no such library.
var ErrNotLoaded = errors.New("library is not loaded")

// ErrTruncated is the error of Open for a file that lacks a part that its headers name.
var ErrTruncated = elfheader.ErrTruncated

// Open loads the library at path and makes its symbols visible to libraries
// loaded later. The SIGSEGV action of the process survives if a constructor of
// libtvm_ffi replaces it: otherwise the next nil dereference in Go would kill
// the process. It refuses a file that is shorter than its headers say, with
// ErrTruncated. A name without a folder is looked up by the loader, so that it is
// not known here which file will be opened.
func Open(path string) (Handle, error) { return load(path, false) }

// OpenLazily is [Open], except that the loader of Linux and macOS looks for a function that the
// library imports when the library calls it first. If there is no such function then, the
// process ends.
func OpenLazily(path string) (Handle, error) { return load(path, true) }

func load(path string, lazily bool) (Handle, error) {
	if strings.IndexByte(path, 0) >= 0 { // C would load the file of the name before it
		return 0, fmt.Errorf("load %q: no file can have a name with a zero byte", path)
	}
	if filepath.Base(path) != path {
		if err := elfheader.Check(path); err != nil {
			return 0, fmt.Errorf("load %s: %w", path, err)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	restore := saveSignalAction()
	h, err := open(path, lazily)
	restore()
	if err == nil {
		return h, nil
	}
	if reason, named := strings.CutPrefix(err.Error(), path+": "); named {
		return 0, fmt.Errorf("load %s: %s", path, reason)
	}
	return 0, fmt.Errorf("load %s: %w", path, err)
}

// Loaded returns the library with the given name (a SONAME such as
// libtvm_ffi.so) if the process has already loaded it.
func Loaded(name string) (Handle, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return loaded(name)
}

// Path returns the file of the library as an absolute path, or "" where the loader does
// not know it.
func (h Handle) Path() string {
	path := pathOf(h)
	if path == "" {
		return ""
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	return full
}

// Symbol returns the address of a symbol of the library.
func (h Handle) Symbol(name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return symbol(h, name)
}

// File returns the path of the file that holds the code at address, or "".
func File(address uintptr) string { return fileOf(address) }

// KeepSignalAction remembers the SIGSEGV action of this moment, which must be
// Go's. The func that it returns puts it back if libtvm_ffi, loaded later by
// other code, has replaced it; handlers of other libraries stay.
func KeepSignalAction() (reclaim func()) { return saveSignalAction() }
