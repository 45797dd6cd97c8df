package tvmffi

import (
	"path/filepath"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/libraries"
)

// LoadOption changes where [Load], and the Load of a generated package, look for libraries.
// [WithLibrary], [WithFile] and [WithDir] make one. [WithLightCalls] changes how functions are called.
type LoadOption func(*find.Options)

// WithLibrary sets the file of libtvm_ffi, like the environment variable TVMFFI_LIBRARY.
func WithLibrary(path string) LoadOption {
	return func(o *find.Options) { o.Core = path }
}

// WithFile sets the file of a library that bindings need. The base name of path identifies
// the library. If the process has already loaded a library of that name with another
// content, Load returns an error.
func WithFile(path string) LoadOption {
	return func(o *find.Options) {
		if o.Paths == nil {
			o.Paths = map[string]string{}
		}
		o.Paths[filepath.Base(path)] = path
	}
}

// WithDir adds a folder. Load searches it before the folders that it searches by default. It
// has no effect on a library that the process has already loaded.
func WithDir(dir string) LoadOption {
	return func(o *find.Options) { o.Dirs = append(o.Dirs, dir) }
}

// WithLightCalls makes calls of functions, and of the getters and setters of fields, cheaper where
// that is safe: on Linux, with a release of Go that was tested. Calls of a function that has been
// brief cross without a word to the Go scheduler, which learns of them only if it needs the thread,
// or if the function calls Go. So a profile of the CPU does not say who called such a function, and
// a system call in it may be interrupted (EINTR). C must call Go only through Functions: a call
// through a cgo export or a purego callback would end the process. WithLightCalls must come with
// the first Load of the process, in package main, and has no effect where light calls would not be
// safe. docs/LIGHT.md explains it.
func WithLightCalls() LoadOption {
	return func(o *find.Options) { o.LightCalls = true }
}

// Load finds and loads libtvm_ffi. The package documentation says where it looks. Later
// calls do nothing, except that a call that names a file with another content than the
// loaded one returns an error, because a process has only one libtvm_ffi. The error is of kind [ErrNotFound]
// if no file was found. Load may be called from several goroutines at once.
func Load(options ...LoadOption) error {
	if len(options) == 0 && capi.Attached() {
		return nil
	}
	var o find.Options
	for _, option := range options {
		option(&o)
	}
	return libraries.OpenCore(&o)
}

// LibraryPath returns the file of the loaded libtvm_ffi, or "" if it is not loaded.
func LibraryPath() string { return libraries.CorePath() }

// Version returns the version that libtvm_ffi reports, such as "0.1.16". It can differ from
// the version of the Python package that contains the file.
func Version() (string, error) {
	if err := Load(); err != nil {
		return "", err
	}
	return libraries.VersionText(capi.Version()), nil
}

// LoadLibrary loads a shared library that registers functions and types when it is loaded.
// Its symbols are visible to libraries that are loaded later. It is never unloaded. If the
// process has already loaded the library, from this file or from a copy of it,
// LoadLibrary does not load it again, because two copies would register the same names.
// The package documentation says which libraries do not fit the loaded libtvm_ffi.
// [LoadModule] loads a library whose functions belong to a [Module].
func LoadLibrary(path string) error {
	if err := Load(); err != nil {
		return err
	}
	if path == "" {
		return failure.Errorf(failure.KindValue, "the path of a library is empty: name its file")
	}
	return libraries.OpenFile(path)
}
