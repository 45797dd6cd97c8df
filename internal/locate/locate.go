// Package locate knows where the file of a shared library may be: the places, the
// order in which they are tried, the hash that a file must have, and the text of the
// error when no place has it. It loads nothing and keeps no state; package core does.
package locate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/nearest"
	"github.com/tvmffi-go/tvmffi/internal/wheel/sites"
)

// File is a shared library that a generated package needs.
type File struct {
	// Name is the base name, such as libgarden.so.
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

// Options holds what the caller of Load asked for.
type Options struct {
	// Paths are explicit files by base name.
	Paths map[string]string
	// Dirs are folders that are searched first.
	Dirs []string
	// Core is the explicit path of libtvm_ffi.
	Core string
	// CoreVersion is the version of the Python package of libtvm_ffi to prefer.
	CoreVersion string
}

// Candidate is a place where a library may be.
type Candidate struct {
	Path  string
	Where string // why this place is tried, for the error
	// Explicit is set if the caller named the file. Then no other place is tried.
	Explicit bool
	// Refused says why this place must not be used. An error that is sites.ErrShared ends the
	// search: what it would find next is not what the user has installed.
	Refused error
	cached  string // the folder of the wheel in the cache
}

// Ends reports whether the search ends at a candidate that cannot be loaded for this reason.
func (c Candidate) Ends(why error) bool {
	return c.Explicit || errors.Is(why, sites.ErrShared) || errors.Is(why, sites.ErrDamaged)
}

const core = "apache-tvm-ffi"

// CoreName returns the base name of libtvm_ffi on this platform.
func CoreName() string { return filepath.Base(sites.Library(runtime.GOOS)) }

// IsCore reports whether name is the base name of libtvm_ffi on any platform.
func IsCore(name string) bool {
	return slices.ContainsFunc([]string{"linux", "darwin", "windows"}, func(goos string) bool {
		return name == filepath.Base(sites.Library(goos))
	})
}

// ExplicitCore returns the file of libtvm_ffi that the options or TVMFFI_LIBRARY name,
// "" if neither does.
func ExplicitCore(o *Options) string {
	if o.Core != "" {
		return o.Core
	}
	return os.Getenv("TVMFFI_LIBRARY")
}

// Core lists the places of libtvm_ffi in the order in which they are tried.
func Core(o *Options) []Candidate {
	if explicit := ExplicitCore(o); explicit != "" {
		return []Candidate{named(explicit)}
	}
	places := inDirs(CoreName(), o.Dirs)
	installed := sites.FindLibrary()
	var others []Candidate
	add := func(i sites.Installed, where string) {
		if c := (Candidate{Path: i.File, Where: where}); o.CoreVersion != "" && i.Version == o.CoreVersion {
			places = append(places, c)
		} else {
			others = append(others, c)
		}
	}
	const cache = "cache of tvmffi-bind setup"
	cached, err := sites.Cached(core, sites.Library(runtime.GOOS))
	if err != nil {
		places = append(places, Candidate{Where: cache, Refused: err})
	}
	for _, i := range cached {
		add(i, cache)
	}
	for _, i := range installed {
		add(i, "Python package "+i.Version)
	}
	places = append(places, others...)
	if len(installed) == 0 {
		for _, dir := range sites.Searched() {
			places = append(places, Candidate{Path: filepath.Join(dir, sites.Library(runtime.GOOS)), Where: "Python package"})
		}
	}
	return places
}

// Library lists the places of a library other than libtvm_ffi in the order in which
// they are tried.
func Library(f File, o *Options) []Candidate {
	if path, ok := o.Paths[f.Name]; ok {
		return []Candidate{named(path)}
	}
	places := inDirs(f.Name, o.Dirs)
	if f.Package == "" {
		return places
	}
	const cache = "cache of tvmffi-bind"
	cached, err := sites.Cached(f.Package, f.PathInPackage)
	if err != nil {
		places = append(places, Candidate{Where: cache, Refused: err})
	}
	for _, i := range cached {
		places = append(places, Candidate{Path: i.File, Where: cache, cached: i.Site})
	}
	for _, i := range sites.Find(f.Package, f.PathInPackage) {
		places = append(places, Candidate{Path: i.File, Where: "Python package " + i.Version})
	}
	return places
}

func named(path string) Candidate {
	return Candidate{Path: path, Where: "named explicitly", Explicit: true}
}

// inDirs lists the folders of options, of TVMFFI_LIBRARY_PATH, and of the
// executable. The working directory is never searched by accident.
func inDirs(name string, dirs []string) []Candidate {
	var places []Candidate
	for _, dir := range dirs {
		places = append(places, Candidate{Path: filepath.Join(dir, name), Where: "folder of WithDir"})
	}
	for _, dir := range searchPath() {
		if filepath.IsAbs(dir) {
			places = append(places, Candidate{Path: filepath.Join(dir, name), Where: pathVariable})
		}
	}
	if exe, err := executable(); err == nil {
		dir := filepath.Dir(exe)
		places = append(places, Candidate{Path: filepath.Join(dir, name), Where: "folder of the executable"},
			Candidate{Path: filepath.Join(dir, "lib", name), Where: "lib folder of the executable"})
	}
	return places
}

// executable is replaced by a test: only Linux without /proc does not know it.
var executable = os.Executable

const pathVariable = "TVMFFI_LIBRARY_PATH"

func searchPath() []string { return filepath.SplitList(os.Getenv(pathVariable)) }

// Check compares a file from the cache of the tool with the one that was bound. A file
// from elsewhere is the choice of the user: each function and type of it is checked
// when it is first used.
func (c Candidate) Check(f File) error {
	if c.cached == "" || f.SHA256 == "" {
		return nil
	}
	got, err := sites.HashFile(c.Path)
	if err != nil || got == f.SHA256 {
		return err
	}
	if err := sites.Damaged(c.cached, c.Path, got); err != nil {
		return err
	}
	return fmt.Errorf("another version: its sha256 is %s, the bindings were made from %s", got, f.SHA256)
}

// CoreBeside returns the libtvm_ffi in the folder of Python packages that holds the
// library at path. It returns "" if there is none or if it is the file loaded.
func CoreBeside(path, loaded string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		file := filepath.Join(dir, filepath.FromSlash(sites.Library(runtime.GOOS)))
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

// Search collects the places that were tried, for the error.
type Search struct {
	Name string // of the library
	// Refused is set if a file exists and the system cannot load it.
	Refused bool
	// Remedy is what to do, where that is known better than from the places.
	Remedy string
	tried  []string
}

// Miss records why a candidate was not taken.
func (s *Search) Miss(c Candidate, why any) {
	if c.Refused != nil {
		s.tried = append(s.tried, fmt.Sprintf("%s: %v", c.Where, why))
		return
	}
	s.tried = append(s.tried, fmt.Sprintf("%s (%s): %v", c.Path, c.Where, why))
}

// Absent records that the file of a candidate does not exist. It may have another name.
func (s *Search) Absent(c Candidate) { s.Miss(c, "no such file"+nearest.File(c.Path)) }

// CoreError returns the text of the error for libtvm_ffi.
func (s *Search) CoreError(o *Options) string {
	setup, pip := "", ""
	if o.CoreVersion != "" {
		setup, pip = " --version "+o.CoreVersion, "=="+o.CoreVersion
	}
	return s.message("run \"go tool tvmffi-bind setup" + setup + "\", or pip install apache-tvm-ffi" + pip + ", or put it beside the executable, or set TVMFFI_LIBRARY to the file")
}

// LibraryError returns the text of the error for a library other than libtvm_ffi.
func (s *Search) LibraryError(f File, o *Options) string {
	for name, path := range o.Paths {
		if name != f.Name && !IsCore(name) {
			s.Miss(named(path), "has another name")
		}
	}
	for _, dir := range searchPath() {
		if dir != "" && !filepath.IsAbs(dir) {
			s.Miss(Candidate{Path: dir, Where: pathVariable}, "is not an absolute path; not searched")
		}
	}
	remedy := "put it beside the executable, name its folder in TVMFFI_LIBRARY_PATH (absolute), or give its path to Load with tvmffi.WithFile" +
		"\nif it was renamed after the bindings were generated, restore the name, or write the new name under libraries in tvmffi.yaml and run go generate"
	if f.Package != "" {
		remedy = fmt.Sprintf("install the Python package (go tool tvmffi-bind setup %s if that knows it, or pip install %[1]s==%[2]s), or ", f.Package, f.Version) + remedy
	}
	return s.message(remedy)
}

func (s *Search) message(remedy string) string {
	if _, err := executable(); err != nil && s.Remedy == "" {
		s.tried = append(s.tried, "folder of the executable: unknown: "+err.Error())
		if runtime.GOOS == "linux" {
			remedy = "mount /proc, which tells a program its folder, or set TVMFFI_LIBRARY to the file of libtvm_ffi and TVMFFI_LIBRARY_PATH to the folder of other libraries\n" + remedy
		}
	}
	list := "nowhere to look"
	if len(s.tried) > 0 {
		list = "tried:\n  " + strings.Join(s.tried, "\n  ")
	}
	if s.Remedy != "" {
		return s.Name + " cannot be loaded; " + list + "\n" + s.Remedy
	}
	if s.Refused {
		return s.Name + " cannot be loaded; " + list
	}
	return s.Name + " was not found; " + list + "\n" + remedy
}
