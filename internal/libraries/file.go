package libraries

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/elfheader"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/nearest"
)

// OpenFile loads the shared library at path, which registers functions and types while
// it is loaded. Nobody else uses the registries meanwhile. A library that the process
// has already loaded, from this file or from a copy of it, is not loaded again.
func OpenFile(path string) error {
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	_, err := open(path)
	return err
}

// open is OpenFile. The caller holds the Registry. The result is the file of the
// library that the process has now; "" if it could not be loaded. It comes with an
// error if the library is loaded and does not fit.
func open(path string) (string, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(full); err != nil {
		return "", failure.Errorf(failure.KindLibrary, "library %s: %w%s", path, err, nearest.File(full))
	}
	if err := loadable(full); err != nil {
		return "", err
	}
	if loaded := loadedCopy(full); loaded != "" {
		full = loaded
	}
	before := Registered(full)
	if err := before.clash(); err != nil {
		return "", err
	}
	if err := load(full); err != nil {
		return "", failure.Errorf(failure.KindRuntime, "%w%s", err, remedy(full, err))
	}
	if !before.loaded {
		before.keep()
		loads.Add(1)
	}
	return full, before.Fits()
}

// A Provider returns the file to load in place of a library that the loader lacks, "" if there
// is none. The file is hollow if it has not all functions of that library.
type Provider func(needed string) (file string, hollow bool)

// provider is what [Reading] was given, and hollow whether the process has a hollow library. The
// Registry guards them.
var (
	provider Provider
	hollow   bool
)

// Reading is for a process that calls no function of a library, and only reads what libraries
// register. From now on such a library loads although the loader lacks another one that it
// needs, if p has a file in the place of that one. Once such a file is hollow, functions are
// looked up when they are called.
func Reading(p Provider) {
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	provider = p
}

// load calls the loader. The caller holds the Registry.
func load(full string) error {
	const mostProvided = 100
	for tries := 0; ; tries++ {
		open := dynlib.Open
		if hollow {
			open = dynlib.OpenLazily
		}
		_, err := open(full)
		if err == nil || provider == nil || tries == mostProvided {
			return err
		}
		needed := missingLibrary(strings.TrimPrefix(err.Error(), "load "+full+": "))
		if needed == "" || needed == full {
			return err
		}
		file, isHollow := provider(needed)
		if file == "" {
			return err
		}
		if _, missing := dynlib.Open(file); missing != nil {
			return err
		}
		hollow = hollow || isHollow
	}
}

// CheckModule returns an error for what is not a file, and for a file that TVM-FFI would load
// as a shared library and that is truncated: TVM-FFI calls the loader itself.
func CheckModule(full string) error {
	if err := loadable(full); err != nil {
		return err
	}
	switch filepath.Ext(full) {
	case ".so", ".dylib", ".dll":
		if err := elfheader.Check(full); err != nil {
			return failure.Errorf(failure.KindRuntime, "load %s: %w%s", full, err, remedy(full, err))
		}
	}
	return nil
}

// findFile loads a library of bindings and returns its file. A library of that name that
// the process has is the one: another copy would register everything again, which ends
// the process.
func findFile(f find.File, o *find.Options) (string, error) {
	if loaded := loadedAs(f); loaded != "" {
		return useLoaded(f, o, loaded)
	}
	s := find.Search{File: f, Options: o}
	for c, err := range find.Candidates(f, o) {
		if err == nil {
			var path string
			if path, err = open(c.Path); err == nil {
				return path, nil
			}
			if path != "" {
				return "", err // it is in the process now, so no other place counts
			}
			s.Refused = true
		}
		if s.Miss(c, err, failure.Message(err)) {
			break
		}
	}
	return "", failure.NewFailure(failure.Failure{Kind: failure.KindLibrary, Message: s.Message()})
}

// useLoaded makes bindings use a library that the process has. It fails if the options
// name another file. The interface is compared item by item, at the first use of each.
func useLoaded(f find.File, o *find.Options, loaded string) (string, error) {
	if named := f.Named(o); named != "" {
		full, err := filepath.Abs(named)
		if err != nil {
			return "", err
		}
		if full != loaded && !sameContent(full, loaded) {
			return "", failure.Errorf(failure.KindRuntime, "the process has already loaded %s from %s and cannot load another one from %s: name the loaded one, or load the other one first", f.Name, loaded, named)
		}
	}
	// This makes its symbols visible. It fails if the file has been replaced since.
	_, _ = dynlib.Loaded(loaded)
	return loaded, misfits[loaded]
}
