package find

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/elfheader"
)

// Search collects the places that were tried, for the error.
type Search struct {
	File    File
	Options *Options
	// Refused is set if a file exists and the system cannot load it.
	Refused bool
	// Remedy is what to do, where that is known better than from the places.
	Remedy string
	tried  []string
}

// Miss records why a candidate was not taken, with the text of the error, and reports whether the search ends.
func (s *Search) Miss(c Candidate, why error, text string) (ends bool) {
	place := c.Where
	if c.Path != "" {
		place = c.Path + " (" + c.Where + ")"
	}
	s.tried = append(s.tried, place+": "+text)
	shared, damaged := errors.Is(why, ErrShared), errors.Is(why, ErrDamaged)
	s.Refused = s.Refused || shared
	if damaged {
		s.Remedy = RepairCache
	}
	return c.Explicit || shared || damaged || errors.Is(why, elfheader.ErrTruncated)
}

// name returns what the library is called here, and, if that is another name than in the bindings, a sentence about it.
func (s *Search) name() (name, elsewhere string) {
	names := s.File.Names()
	if len(names) == 1 {
		return s.File.Name, ""
	}
	return names[0], fmt.Sprintf("\nthe bindings were generated from %s; on %s/%s the library is called %s", s.File.Name, runtime.GOOS, runtime.GOARCH, strings.Join(names, " or "))
}

// Message returns the text of the error.
func (s *Search) Message() string {
	remedy := ""
	if IsCore(s.File.Name) {
		remedy = s.remedyForCore()
	} else {
		s.noteUnused()
		remedy = s.remedyForLibrary()
	}
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
	name, elsewhere := s.name()
	list += elsewhere
	switch {
	case s.Remedy != "":
		return name + " cannot be loaded; " + list + "\n" + s.Remedy
	case s.Refused:
		return name + " cannot be loaded; " + list
	}
	return name + " was not found; " + list + "\n" + remedy
}

func (s *Search) remedyForCore() string {
	setup, pip := "", "apache-tvm-ffi"
	if o := s.Options; o.Package != "" {
		setup, pip = " "+o.Package, o.Package
	} else if v := o.CoreVersion; v != "" {
		setup, pip = " --version "+v, pip+"=="+v
	}
	return "run \"go tool tvmffi-bind setup" + setup + "\", or pip install " + pip + ", or put it beside the executable, or set TVMFFI_LIBRARY to the file"
}

// noteUnused records the files and folders that the user named in vain.
func (s *Search) noteUnused() {
	for name, path := range s.Options.Paths {
		if !s.File.Called(name) && !IsCore(name) {
			s.tried = append(s.tried, path+" ("+explicitly+"): has another name")
		}
	}
	for _, dir := range searchPath() {
		if dir != "" && !filepath.IsAbs(dir) {
			s.tried = append(s.tried, dir+" ("+pathVariable+"): is not an absolute path; not searched")
		}
	}
}

func (s *Search) remedyForLibrary() string {
	remedy := "put it beside the executable, name its folder in TVMFFI_LIBRARY_PATH (absolute), or give its path to Load with tvmffi.WithFile" +
		"\nif it was renamed after the bindings were generated, restore the name, or write the new name under libraries in tvmffi.yaml and run go generate"
	if s.File.Package != "" {
		pkg := s.File.Package + "==" + s.File.Version
		if s.File.Dependency {
			pkg = cmp.Or(s.Options.Package, pkg)
		}
		remedy = fmt.Sprintf("install the Python package (go tool tvmffi-bind setup %s, or pip install %[1]s), or ", pkg) + remedy
	}
	return remedy
}
