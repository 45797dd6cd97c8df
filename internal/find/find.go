// Package find is the only search for the file of a shared library. It loads nothing and keeps no state.
//
// # Order
//
// Unless the process has already loaded a library of that name, a program looks for a library in this order:
//
//  1. the file that the options of Load or, for libtvm_ffi, TVMFFI_LIBRARY name; then no other place counts;
//  2. the folders that the options of Load name;
//  3. the absolute folders of TVMFFI_LIBRARY_PATH;
//  4. the folder of the executable;
//  5. the folder lib there;
//  6. the cache of tvmffi-bind, the newest version first;
//  7. the installed Python packages, without running Python: the environment that is active (VIRTUAL_ENV,
//     CONDA_PREFIX, PYTHONPATH), the Pythons on PATH, the user's, the system's.
//
// The last two count only for libtvm_ffi, and for a library that was bound from a Python package. If bindings name a
// version of libtvm_ffi, the copies of that version come before all others. A relative folder in a variable is never
// searched: it would lie in the working directory, where others may have planted a library.
//
// The command tvmffi-bind reads the files that its configuration names, and TVMFFI_LIBRARY. It looks for the library
// of a package at the last two places, and then downloads the wheel.
//
// # Checks
//
// A file is taken if it passes these checks, in this order:
//
//   - owner: no other user can change a file of the cache or a folder above it, see [Private];
//   - file: it exists;
//   - hash: a file of the cache is the one that the bindings were made from, or has the same version and is what its wheel had;
//   - whole: it has every part that its headers name, see package elfheader;
//   - host: it is for this platform.
//
// # Names
//
// Bindings say which file they were generated from, and look on another system for the same library under the names that it
// has there, by package libname: garden.dll, libgarden.dll or libgarden.dylib for libgarden.so. In each place the first of
// these names that exists is taken, and in a package the folder is the same. The hash belongs to the file of one platform.
// The wheels of a version for several platforms have different files, and the wheel itself says their hashes: so a file of the
// cache with another hash is taken if it is of the same version and has the hash that its wheel names.
//
// # What is compared
//
// The loader makes the last two in a program, and the tool reads the headers itself. The tool compares each file of the
// cache with the hash in its wheel. A program does that only to tell a damaged file from another version, because it
// takes as long as reading the file. A file outside the cache is the user's choice: each function and type is checked
// when it is first used.
//
// A file that fails a check is skipped. But the search ends at a file that the user named, at one that another user
// can change, and at one that is damaged or truncated: the next place could have another version, and nobody would
// notice.
package find

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"github.com/tvmffi-go/tvmffi/internal/libname"
	"github.com/tvmffi-go/tvmffi/internal/nearest"
)

// File is a shared library that a generated package needs.
type File struct {
	// Name is the base name of the file that the bindings were generated from, such as libgarden.so. On another system
	// the library has another name, see [File.Names].
	Name string
	// SHA256 is the hash of the file that the bindings were generated from.
	SHA256 string
	// Package, Version and PathInPackage name the place of the file in an installed
	// Python package, if it came from one.
	Package       string
	Version       string
	PathInPackage string
	// Dependency is set for a file that is only loaded, not bound.
	Dependency bool
}

// Names returns the base names that the library may have on this platform, the most usual first, by package libname.
func (f File) Names() []string { return libname.On(runtime.GOOS, f.Name) }

// Called reports whether the library may have this base name on this platform.
func (f File) Called(name string) bool { return libname.Same(runtime.GOOS, f.Name, name) }

// In returns the path of the library in a folder: that of the first of its names that exists there, and otherwise that of the
// most usual one.
func (f File) In(dir string) string {
	names := f.Names()
	for _, name := range names {
		if path := filepath.Join(dir, name); len(names) > 1 && IsFile(path) {
			return path
		}
	}
	return filepath.Join(dir, names[0])
}

// InTree returns the path of the library in the folder of its package, as [File.In] does.
func (f File) InTree(root string) string {
	return File{Name: path.Base(f.PathInPackage)}.In(filepath.Join(root, filepath.FromSlash(path.Dir(f.PathInPackage))))
}

// Options holds the arguments of Load.
type Options struct {
	// Paths are explicit files by base name.
	Paths map[string]string
	// Dirs are folders that are searched first.
	Dirs []string
	// Core is the explicit path of libtvm_ffi.
	Core string
	// Program is the executable in whose folder libraries may lie, "" for the one that runs.
	Program string
	// CoreVersion is the version of the Python package of libtvm_ffi to prefer.
	CoreVersion string
	// Package is the Python package that is loaded, as NAME==VERSION, if it is one. With it come libtvm_ffi and
	// other libraries.
	Package string
	// LightCalls asks for light calls.
	LightCalls bool
}

// Candidate is a place where a library may be.
type Candidate struct {
	// Path is the file, "" if the place has none because it cannot be searched.
	Path string
	// Where says why this place is tried, for the error.
	Where string
	// Explicit is set if the user named the file.
	Explicit bool
	// Cached is set for a file of the cache.
	Cached bool
	// Site is the folder with the files of a Python package, and Version its version, "" if that is not known.
	Site, Version string
	// Source says why Site was searched, such as "VIRTUAL_ENV" or "pyenv".
	Source string

	refused error // why the place cannot be searched
}

// Check returns why a candidate cannot be the file of f, nil if it can.
type Check func(c Candidate, f File) error

// source yields the candidates of one kind. It looks for one when it is asked: the first is mostly taken.
type source func(f File, o *Options) iter.Seq[Candidate]

// Candidates yields the places where a program looks for the file of f, in order, each with the error of the first
// check that it fails.
func Candidates(f File, o *Options) iter.Seq2[Candidate, error] {
	return candidates(f, o, []source{explicit, folders, packages}, present, sameHash)
}

// InPackages yields the places of the file of f in the cache and in installed Python packages, in order, each with the
// error of the first check that it fails.
func InPackages(f File, checks ...Check) iter.Seq2[Candidate, error] {
	return candidates(f, &Options{}, []source{packages}, append([]Check{present}, checks...)...)
}

func candidates(f File, o *Options, sources []source, checks ...Check) iter.Seq2[Candidate, error] {
	return func(yield func(Candidate, error) bool) {
		for _, list := range sources {
			for c := range list(f, o) {
				if !yield(c, c.pass(f, checks)) || c.Explicit {
					return
				}
			}
		}
	}
}

// pass returns the error of the first check that the candidate fails.
func (c Candidate) pass(f File, checks []Check) error {
	err := c.refused
	for _, check := range checks {
		if err == nil {
			err = check(c, f)
		}
	}
	return err
}

// present is the check that the file exists. The file may have another name.
func present(c Candidate, _ File) error {
	_, err := os.Stat(c.Path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return errors.New("no such file" + nearest.File(c.Path))
	}
	return err
}

// sameHash is the check that a file of the cache is the one that was bound.
func sameHash(c Candidate, f File) error {
	if !c.Cached || f.SHA256 == "" {
		return nil
	}
	got, err := HashFile(c.Path)
	if err != nil || got == f.SHA256 {
		return err
	}
	if err := c.Damaged(got); err != nil {
		return err
	}
	if f.Version != "" && c.Version == f.Version && c.recorded() == got {
		return nil // its wheel is for another platform or Python
	}
	return fmt.Errorf("another version: its sha256 is %s, the bindings were made from %s", got, f.SHA256)
}

func explicit(f File, o *Options) iter.Seq[Candidate] {
	path := f.Named(o)
	if IsCore(f.Name) {
		path = ExplicitCore(o)
	}
	if path == "" {
		return slices.Values[[]Candidate](nil)
	}
	return slices.Values([]Candidate{{Path: path, Where: explicitly, Explicit: true}})
}

// Named returns the file that the options name for the library, "" if they name none. The name that it has on this platform
// goes before the others.
func (f File) Named(o *Options) string {
	for _, want := range f.Names() {
		for _, name := range slices.Sorted(maps.Keys(o.Paths)) {
			if libname.Same(runtime.GOOS, want, name) {
				return o.Paths[name]
			}
		}
	}
	return ""
}

// executable is replaced by a test: only Linux without /proc does not know it.
var executable = os.Executable

func folders(f File, o *Options) iter.Seq[Candidate] {
	var places []Candidate
	add := func(where string, dirs ...string) {
		for _, dir := range dirs {
			places = append(places, Candidate{Path: f.In(dir), Where: where})
		}
	}
	add("folder of WithDir", o.Dirs...)
	add(pathVariable, slices.DeleteFunc(searchPath(), func(dir string) bool { return !filepath.IsAbs(dir) })...)
	exe, err := o.Program, error(nil)
	if exe == "" {
		exe, err = executable()
	}
	if err == nil {
		add("folder of the executable", filepath.Dir(exe))
		add("lib folder of the executable", filepath.Join(filepath.Dir(exe), "lib"))
	}
	return slices.Values(places)
}

const (
	explicitly   = "named explicitly"
	pathVariable = "TVMFFI_LIBRARY_PATH"
)

func searchPath() []string { return filepath.SplitList(os.Getenv(pathVariable)) }

func packages(f File, o *Options) iter.Seq[Candidate] {
	return func(yield func(Candidate) bool) {
		if f.Package == "" {
			return
		}
		core, cache := IsCore(f.Name), "cache of tvmffi-bind"
		if core {
			cache += " setup"
		}
		cached, err := Cached(f.Package, f.PathInPackage)
		cached = exactFirst(f, cached)
		for i := range cached {
			cached[i].Where = cache
		}
		if err != nil && !yield(Candidate{Where: cache, Cached: true, refused: err}) {
			return
		}
		each := func(places []Candidate, version string, wanted bool) bool {
			for _, c := range places {
				if wanted == (version == "" || c.Version == version) && !yield(c) {
					return false
				}
			}
			return true
		}
		version := ""
		if core {
			version = o.CoreVersion
		}
		if !each(cached, version, true) { // before the Pythons of this machine, which are many folders
			return
		}
		installed := Installed(f.Package, f.PathInPackage)
		if !each(installed, version, true) || !each(cached, version, false) || !each(installed, version, false) {
			return
		}
		var tried []Candidate
		none := len(cached)+len(installed) == 0 && err == nil && filepath.IsLocal(filepath.FromSlash(f.PathInPackage)) // the error lists what was tried
		if dir, err := CacheDir(); none && !core && err == nil {
			tried = append(tried, Candidate{Path: filepath.Join(dir, "wheels", f.Package+"-"+cmp.Or(f.Version, "*"), filepath.FromSlash(f.PathInPackage)), Where: cache})
		}
		if none || core && len(installed) == 0 {
			for _, dir := range Searched() {
				tried = append(tried, Candidate{Path: filepath.Join(dir, filepath.FromSlash(f.PathInPackage)), Where: "Python package"})
			}
		}
		each(tried, "", true)
	}
}

// exactFirst puts the file with the hash of f before others of its version: the cache may have the wheels for several platforms.
func exactFirst(f File, places []Candidate) []Candidate {
	same := func(c Candidate) bool { return c.Version == f.Version }
	first := slices.IndexFunc(places, same)
	if f.SHA256 == "" || first < 0 || // few have several wheels of one version, so few files are read twice
		!slices.ContainsFunc(places[first+1:], same) {
		return places
	}
	exact := slices.IndexFunc(places, func(c Candidate) bool {
		if !same(c) {
			return false
		}
		hash, err := HashFile(c.Path)
		return err == nil && hash == f.SHA256
	})
	if exact < 0 {
		return places
	}
	c := places[exact]
	return slices.Insert(slices.Delete(places, exact, exact+1), first, c)
}

// Core returns the description of libtvm_ffi.
func Core() File {
	return File{Name: CoreName(), Package: "apache-tvm-ffi", PathInPackage: PathOfCore(runtime.GOOS)}
}

// PathOfCore returns the path of libtvm_ffi in its Python package for an operating system.
func PathOfCore(goos string) string {
	switch goos {
	case "windows":
		return "tvm_ffi/lib/tvm_ffi.dll"
	case "darwin":
		return "tvm_ffi/lib/libtvm_ffi.dylib"
	}
	return "tvm_ffi/lib/libtvm_ffi.so"
}

// CoreName returns the base name of libtvm_ffi on this platform.
func CoreName() string { return filepath.Base(PathOfCore(runtime.GOOS)) }

// IsCore reports whether name is the base name of libtvm_ffi on any platform.
func IsCore(name string) bool {
	return slices.ContainsFunc([]string{"linux", "darwin", "windows"}, func(goos string) bool {
		return libname.Same(goos, filepath.Base(PathOfCore(goos)), name)
	})
}

// ExplicitCore returns the file of libtvm_ffi that the options or TVMFFI_LIBRARY name,
// "" if neither does.
func ExplicitCore(o *Options) string { return cmp.Or(o.Core, os.Getenv("TVMFFI_LIBRARY")) }

// CoreBeside returns the libtvm_ffi in the folder of Python packages that holds the
// library at path. It returns "" if there is none or if it is the file loaded.
func CoreBeside(path, loaded string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		file := filepath.Join(dir, filepath.FromSlash(PathOfCore(runtime.GOOS)))
		if info, err := os.Stat(file); err == nil {
			if other, err := os.Stat(loaded); err == nil && os.SameFile(info, other) {
				return ""
			}
			return file
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}
