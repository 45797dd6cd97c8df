// Package toolkit finds the libraries and headers of the CUDA toolkit that programs need
// while they run: in Python packages, in toolkits, and where the loader of the system looks.
// It knows which versions suit a driver.
package toolkit

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/find"
)

// Version is a version of CUDA, such as 12.4.
type Version struct{ Major, Minor int }

// VersionOf reads a version as the driver writes it, such as 12040.
func VersionOf(v int) Version { return Version{v / 1000, v % 1000 / 10} }

// String returns the version as CUDA writes it.
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Compare returns a negative number if v is older than w, a positive one if it is newer.
func (v Version) Compare(w Version) int {
	if v.Major != w.Major {
		return v.Major - w.Major
	}
	return v.Minor - w.Minor
}

// Cubin reports whether a driver of that version loads a cubin of a compiler of version v:
// one of the same major version, also if its minor version is newer, and all older ones.
// NVIDIA calls the first "minor version compatibility", the second "backward compatibility".
func (v Version) Cubin(driver Version) bool { return v.Major <= driver.Major }

// PTX reports whether a driver of that version compiles PTX of a compiler of version v.
// Minor version compatibility does not cover it: the compiler in the driver refuses PTX
// that is newer than itself.
func (v Version) PTX(driver Version) bool { return v.Compare(driver) <= 0 }

// Package is a Python package and a file of it, with slashes.
type Package struct {
	Distribution, File string
	// DLL is the file in the package for Windows.
	DLL string
}

// Library says how to find a library.
type Library struct {
	// Name is the name in messages, such as NVRTC.
	Name string
	// Variable is the environment variable that names the file.
	Variable string
	// Windows and Others are what the loader of the system is asked for.
	Windows, Others []string
	Packages        []Package
	// File is the file in the folder lib64 of a toolkit. For Windows the toolkit has those of
	// Windows in bin, and from CUDA 13 on in bin/x64.
	File string
	// Unavailable is the error where there is none.
	Unavailable error
}

// usual is where a toolkit is if nobody says otherwise.
const usual = "/usr/local/cuda"

// Roots returns the folders of toolkits that the user names.
func Roots() []string {
	var roots []string
	for _, r := range []string{os.Getenv("CUDA_HOME"), os.Getenv("CUDA_PATH")} {
		if filepath.IsAbs(r) { // never below the working directory, where a library may be planted
			roots = append(roots, filepath.Clean(r))
		}
	}
	return roots
}

// candidates returns where the library may be, in order, and why the cache is not searched.
func (l *Library) candidates(goos string) (files []string, refused []error) {
	if explicit := os.Getenv(l.Variable); explicit != "" {
		return []string{explicit}, nil
	}
	windows := goos == "windows"
	names, roots := l.Others, append(Roots(), usual)
	if windows {
		names, roots = l.Windows, Roots()
	}
	files = append(files, names...)
	for _, p := range l.Packages {
		if windows {
			p.File = p.DLL
		}
		found, err := Installed(p)
		if err != nil {
			refused = append(refused, err)
		}
		for _, f := range found {
			files = append(files, f.Path)
		}
	}
	for _, r := range roots {
		if !windows {
			files = append(files, filepath.Join(r, "lib64", l.File))
			continue
		}
		for _, name := range names { // which are not found by their names: the loader does not search PATH
			files = append(files, filepath.Join(r, "bin", "x64", name), filepath.Join(r, "bin", name))
		}
	}
	return files, refused
}

// Installed returns the installed copies of a package, then those in the cache. With the
// error, which says why the cache is not searched, it returns the former alone.
func Installed(p Package) ([]find.Candidate, error) {
	cached, err := find.Cached(p.Distribution, p.File)
	return append(find.Installed(p.Distribution, p.File), cached...), err
}

// Open opens each copy of the library and gives it to use, with its file. A copy that use
// refuses counts as missing. Where none is left, the error says what was tried.
func (l *Library) Open(use func(h dynlib.Handle, file string) error) error {
	var tried []string
	files, refused := l.candidates(runtime.GOOS)
	seen := map[string]bool{}
	for _, name := range files {
		h, err := dynlib.Open(name)
		if err == nil {
			file := cmp.Or(h.Path(), name)
			id := file
			if real, linked := filepath.EvalSymlinks(file); linked == nil {
				id = real
			}
			if seen[id] {
				continue
			}
			seen[id] = true
			if err = use(h, file); err == nil {
				continue
			}
			seen[id] = false
		}
		tried = append(tried, err.Error())
	}
	for _, ok := range seen {
		if ok {
			return nil
		}
	}
	for _, err := range refused {
		tried = append(tried, err.Error())
	}
	remedy := fmt.Sprintf("install the Python package %s or the CUDA toolkit, or set %s to the file of %s", l.Packages[0].Distribution, l.Variable, l.Name)
	if os.Getenv(l.Variable) != "" {
		remedy = "correct or unset " + l.Variable
	}
	return fmt.Errorf("%w; tried:\n  %s\n%s", l.Unavailable, strings.Join(tried, "\n  "), remedy)
}

// Symbols looks up functions of a library; needs says which version has all of them.
func Symbols(h dynlib.Handle, file, needs string, at map[string]*uintptr) error {
	for symbol, address := range at {
		var err error
		if *address, err = h.Symbol(symbol); err != nil {
			return fmt.Errorf("%s has no %s: %s", file, symbol, needs)
		}
	}
	return nil
}
