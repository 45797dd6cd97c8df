package project

import (
	"errors"
	"fmt"
	"go/token"
	"path/filepath"
)

// Problem returns the first mistake in c, with its YAML path.
func (c *Config) Problem() (path string, err error) {
	switch {
	case c.Package == "":
		return "$", errors.New("package is missing: name the Go package to write")
	case !token.IsIdentifier(c.Package) || c.Package == "main" || c.Package == "_":
		return "$.package", fmt.Errorf("%q cannot be the name of an importable Go package: use letters and digits, but not main or a keyword", c.Package)
	case c.Out == "":
		return "$", errors.New("out is missing: name the folder to write to")
	case c.From != "" && len(c.Libraries)+len(c.Deps) > 0:
		return "$.from", errors.New("from replaces libraries and deps: keep one of them")
	case len(c.Kernels) > 0 && (c.From != "" || len(c.Libraries)+len(c.Deps) > 0):
		return "$.kernels", errors.New("kernels have a package of their own: move them, or the libraries, to another configuration")
	case len(c.Kernels) == 0 && c.From == "" && len(c.Libraries) == 0:
		return "$", errors.New("libraries is missing: name at least one library to bind, or list kernels")
	}
	for _, list := range []struct {
		name  string
		specs []LibrarySpec
	}{{"libraries", c.Libraries}, {"deps", c.Deps}} {
		for i, s := range list.specs {
			if err := s.problem(); err != nil {
				return fmt.Sprintf("$.%s[%d]", list.name, i), err
			}
		}
	}
	return "", nil
}

func (s LibrarySpec) problem() error {
	switch {
	case s.File == "" && s.Package == "":
		return errors.New("a library needs file, or package and path")
	case s.File != "" && s.Package != "":
		return errors.New("a library has either file or package, not both")
	case s.Package != "" && s.Path == "":
		return fmt.Errorf("path is missing: name the file in the Python package %s", s.Package)
	case s.Package == "" && (s.Path != "" || s.Version != ""):
		return errors.New("path and version belong to a library with package")
	case s.Path != "" && !filepath.IsLocal(filepath.FromSlash(s.Path)):
		return fmt.Errorf("path %q leads outside the package", s.Path)
	}
	return nil
}
