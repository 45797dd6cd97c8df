package core

import "github.com/tvmffi-go/tvmffi/internal/capi"

// File is a shared library that a generated package needs.
type File struct {
	// Name is the base name, such as libgarden.so.
	Name string
	// SHA256 is the hash of the file that the bindings were generated from.
	SHA256 string
	// Package, Version and PathInPackage say where the file lies in an installed
	// Python package, if it came from one.
	Package       string
	Version       string
	PathInPackage string
	// Dependency is set for a file that is only loaded, not bound.
	Dependency bool
}

// Library is the set of shared libraries behind a generated package. Its zero
// value stands for libtvm_ffi alone.
type Library struct {
	// Files are loaded in order, after libtvm_ffi.
	Files []File

	// The Registry guards the rest: whoever loads holds it in any case, and a lock of
	// its own would be taken before it by one goroutine and after it by another.
	loading, done bool
	state         error
	// Paths holds where each of Files was found, as far as they are loaded.
	Paths []string
}

// LoadOption changes how libraries are found.
type LoadOption func(*LoadConfig)

// LoadConfig is what options of Load set.
type LoadConfig struct {
	// Paths are explicit files by base name.
	Paths map[string]string
	// Dirs are folders that are searched first.
	Dirs []string
	// Core is the explicit path of libtvm_ffi.
	Core string
	// CoreVersion is the version of the Python package of libtvm_ffi to prefer.
	CoreVersion string
}

// Load finds and loads the libraries. Once it has succeeded, later calls do
// nothing; a failure is reported again to each use until a call with options
// succeeds. Nor does a call do anything that comes from a library that is being
// loaded: Go code that its initialisers call finds what is registered so far.
func (l *Library) Load(options ...LoadOption) error {
	if l == nil {
		return Loader(&Library{}, options)
	}
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	if l.loading {
		return nil
	}
	if l.done && (l.state == nil || len(options) == 0) {
		return l.state
	}
	l.loading = true
	defer func() { l.loading = false }()
	l.state = Loader(l, options)
	l.done = true
	return l.state
}

func (l *Library) ensure() error {
	if l == nil && capi.Attached() {
		return nil
	}
	return l.Load()
}

// lacks says why something that was generated is not there, and what to do. It
// follows ensure.
func (l *Library) lacks() string {
	if l != nil && l.loading {
		return "its library is being loaded and has not registered it yet; use it when that is over"
	}
	return "the loaded library differs from the one the bindings were generated from; run go generate, or load the matching version"
}

// Loader loads what a generated package needs; package tvmffi sets it.
var Loader func(l *Library, options []LoadOption) error
