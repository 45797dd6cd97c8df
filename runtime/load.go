package tvmffi

import (
	"path/filepath"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/locate"
)

// LoadOption changes where libraries are looked for. WithLibrary, WithFile and WithDir
// make one.
type LoadOption func(*locate.Options)

// WithLibrary names the file of libtvm_ffi, as the variable TVMFFI_LIBRARY does.
func WithLibrary(path string) LoadOption {
	return func(o *locate.Options) { o.Core = path }
}

// WithFile names the file of a library that bindings need; its base name says
// which one it is.
func WithFile(path string) LoadOption {
	return func(o *locate.Options) {
		if o.Paths == nil {
			o.Paths = map[string]string{}
		}
		o.Paths[filepath.Base(path)] = path
	}
}

// WithDir adds a folder that is searched before the others.
func WithDir(dir string) LoadOption {
	return func(o *locate.Options) { o.Dirs = append(o.Dirs, dir) }
}

// Load finds and loads libtvm_ffi, once; the package says where it looks. Later
// calls do nothing, but a call that names another file than the one loaded is an
// error: a process has one libtvm_ffi.
func Load(options ...LoadOption) error {
	if len(options) == 0 && capi.Attached() {
		return nil
	}
	var o locate.Options
	for _, option := range options {
		option(&o)
	}
	return core.Open(&o)
}

// LibraryPath returns the file of the loaded libtvm_ffi, "" before Load.
func LibraryPath() string { return core.LibraryPath() }

// Version returns the version that the loaded libtvm_ffi reports, such as
// "0.1.16". It need not be that of the Python package the file came from.
func Version() (string, error) {
	if err := Load(); err != nil {
		return "", err
	}
	return core.VersionText(capi.Version()), nil
}

// LoadLibrary loads a shared library that registers functions and types when it
// is loaded. Its symbols become visible to libraries loaded later. It is never
// unloaded.
func LoadLibrary(path string) error {
	if err := Load(); err != nil {
		return err
	}
	return core.OpenFile(path)
}
