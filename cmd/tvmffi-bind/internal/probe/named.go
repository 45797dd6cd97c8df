package probe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/nearest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

// Form is what an argument of a command looks like. Every command that takes libraries tells its arguments apart by it.
type Form int

const (
	Word        Form = iota // any other text: a pattern, the name of a function, or of a package that is not known
	SchemaFile              // the name of a file of dump
	LibraryFile             // the name of a library, or any path
	WheelFile               // the name of a wheel
	PackageName             // NAME of a known package, or NAME==VERSION of any
)

// FormOf returns the form of an argument. It looks at no file.
func FormOf(arg string) Form {
	switch {
	case IsSchemaName(arg):
		return SchemaFile
	case strings.EqualFold(filepath.Ext(arg), ".whl"):
		return WheelFile
	case NamesLibrary(arg), strings.ContainsAny(arg, "/"+string(filepath.Separator)):
		return LibraryFile
	case strings.Contains(arg, "=="), project.Known(arg) != nil:
		return PackageName
	}
	return Word
}

// Subject is what the arguments of a command name: one Python package, or library files.
type Subject struct {
	// Known is set for a known package. If Exact is set, its configuration is for the version that is named.
	Known *project.KnownPackage
	Exact bool
	// Package is NAME, NAME==VERSION, or the file of a wheel; "" for library files.
	Package string
	// Files and Deps are library files.
	Files, Deps []string
}

// NewSubject finds out what arguments name, and what --dep names. It downloads nothing.
func NewSubject(args, deps []string) (*Subject, error) {
	s := &Subject{Deps: deps}
	for _, dep := range deps {
		if form := FormOf(dep); form == PackageName || form == WheelFile {
			return nil, fmt.Errorf("--dep takes a library file, not %s: the tool finds what a package requires; for anything else, name the file that \"%s setup %[1]s\" prints", dep, console.Command())
		}
	}
	for _, arg := range args {
		switch FormOf(arg) {
		case PackageName, WheelFile:
			if len(args) > 1 {
				return nil, fmt.Errorf("%s is a Python package: name it alone, because what it requires comes with it", arg)
			}
			return s, s.ofPackage(arg)
		}
		s.Files = append(s.Files, arg)
	}
	return s, nil
}

// NewPackage is like NewSubject for a command that gets packages, so that a word is the name of one, too.
func NewPackage(args, deps []string) (*Subject, error) {
	if len(args) == 1 && FormOf(args[0]) == Word {
		if _, err := os.Stat(args[0]); errors.Is(err, fs.ErrNotExist) {
			s := &Subject{Deps: deps}
			return s, s.ofPackage(args[0])
		}
	}
	return NewSubject(args, deps)
}

// ofPackage makes s name a package.
func (s *Subject) ofPackage(arg string) error {
	s.Package = arg
	if FormOf(arg) == WheelFile {
		name, _, _ := strings.Cut(filepath.Base(arg), "-")
		s.Known = project.Known(wheel.Normal(name))
		if _, err := os.Stat(arg); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no wheel at %s: check the path%s", console.Shown(arg), nearest.File(arg))
		}
		if s.Known != nil {
			hash, err := wheel.Hash(arg, 0) // Open says what is wrong with it
			s.Exact = err == nil && slices.ContainsFunc(wheel.Pinned(), func(w wheel.Spec) bool { return w.SHA256 == hash })
		}
	} else {
		name, version, exact := strings.Cut(arg, "==")
		if strings.ContainsAny(name+version, "<>=!~,*") || name == "" || exact && version == "" {
			return fmt.Errorf("%q names no single version: write NAME or NAME==VERSION", arg)
		}
		if s.Known = project.Known(name); s.Known != nil {
			c, err := s.Known.Config()
			if err != nil {
				return err
			}
			s.Exact = !exact || version == c.Libraries[0].Version
		} else if near := nearest.WordQuestion(name, project.KnownNames()); near != "" && !exact && name != project.CorePackage {
			// To get a package whose name is like a known one could be dangerous.
			return fmt.Errorf("%s is not a known package (known: %s)%s Otherwise name its version: %[1]s==VERSION", name, strings.Join(project.KnownNames(), ", "), near)
		}
	}
	if s.Exact && len(s.Deps) > 0 {
		return fmt.Errorf("the tool knows what %s needs: leave --dep out", arg)
	}
	return nil
}

// Name returns what a Go package for the subject is called after.
func (s *Subject) Name() string {
	switch {
	case s.Package == "":
		return s.Files[0]
	case FormOf(s.Package) == WheelFile:
		name, _, _ := strings.Cut(filepath.Base(s.Package), "-")
		return name
	}
	name, _, _ := strings.Cut(s.Package, "==")
	return name
}

// Config returns a configuration of the subject that is, or will be, in a file, "" if it is for one command only. Before
// [Prober.Open] it lacks the libraries of a package that is not known.
func (s *Subject) Config(file string) (*project.Config, error) {
	c := project.NewConfig(".", file)
	if s.Known != nil {
		known, err := s.Known.Config()
		if err != nil {
			return nil, err
		}
		c.Libraries, c.Deps = known.Libraries, known.Deps
		if file != "" { // with names and the like
			c = known
		}
		if s.Exact {
			return c, nil
		}
		c.Libraries, c.Deps = nil, nil // of another version
	}
	spec := func(file string) project.LibrarySpec { return project.LibrarySpec{File: filepath.ToSlash(file)} }
	if file != "" {
		spec = specOf
	}
	for _, dep := range s.Deps {
		c.Deps = append(c.Deps, spec(dep))
	}
	for _, f := range s.Files {
		c.Libraries = append(c.Libraries, spec(f))
	}
	return c, nil
}

// Open completes the configuration of a subject: it gets the package, and finds what the libraries need. It returns the
// unpacked wheel of a package that is not known, or not in this version.
func (p *Prober) Open(ctx context.Context, s *Subject, c *project.Config) (wheel.Dir, error) {
	if s.Package == "" {
		return wheel.Dir{}, p.completeFiles(ctx, c, s.Files)
	}
	if !s.Exact {
		return p.Discover(ctx, c, s.Package)
	}
	if FormOf(s.Package) == WheelFile {
		_, err := advised(wheel.Take(ctx, s.Package, p.Most<<20))
		return wheel.Dir{}, err
	}
	return wheel.Dir{}, nil
}

// completeFiles adds to c what library files need: the CUDA runtime, and what the packages require that they are of.
func (p *Prober) completeFiles(ctx context.Context, c *project.Config, files []string) error {
	if err := p.AddCUDA(ctx, c, files, c.File() != ""); err != nil {
		return err
	}
	var dirs []wheel.Dir
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		in, ok := find.InCache(path)
		if !ok || in.Package == project.CorePackage {
			continue
		}
		if dir, ok := wheel.Have(in.Package, in.Version, func(d wheel.Dir) bool { return d.Root() == find.CachedTree(path) }); ok {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return nil
	}
	return p.complete(ctx, c, dirs...)
}

// specOf names a library file, or, if it lies in a wheel of the cache, the Python package: the cache of another machine
// has another path. So does a copy of such a file outside of the working folder.
func specOf(file string) project.LibrarySpec {
	if path, err := filepath.Abs(file); err == nil {
		if find.CachedTree(path) == "" && !filepath.IsLocal(file) {
			path = find.CopyInCache(path)
		}
		if c, ok := find.InCache(path); ok {
			return project.LibrarySpec{Package: c.Package, Version: c.Version, Path: c.PathInPackage}
		}
	}
	return project.LibrarySpec{File: filepath.ToSlash(file)}
}
