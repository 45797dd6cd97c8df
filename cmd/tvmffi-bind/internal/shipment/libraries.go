package shipment

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/libname"
	"github.com/tvmffi-go/tvmffi/internal/symbols"
	"github.com/tvmffi-go/tvmffi/schema"
)

// library is a shared library that goes into the folder.
type library struct {
	probe.Library
	file symbols.File
	// origin is the file in the package of which this one is, perhaps a copy.
	origin probe.Library
	// optional libraries are for devices: the machine may lack what they need.
	optional bool
}

// read reads a library, which must be one for the program.
func (p *Program) read(path string) (symbols.File, error) {
	f, err := symbols.Read(path)
	if err == nil {
		err = f.CheckHost(p.GOOS, p.GOARCH)
	}
	return f, err
}

// open returns the library at a path, with the package that it is of.
func (p *Program) open(path string) (library, error) {
	f, err := p.read(path)
	if err != nil {
		return library{}, err
	}
	hash, err := find.HashFile(path)
	if err != nil {
		return library{}, err
	}
	l := library{file: f, origin: probe.Library{Path: path, Identity: distribution(path)}}
	if source := find.CopyInCache(path); l.origin.Identity.Package == "" && source != "" {
		l.origin = probe.Library{Path: source, Identity: distribution(source)}
	}
	l.Library = probe.Library{Path: path, Identity: l.origin.Identity}
	l.Identity.File, l.Identity.SHA256 = filepath.Base(path), hash
	return l, nil
}

// distribution reads which Python package lists a file among its own, in the folders above the file.
func distribution(file string) schema.Library {
	const most = 8 // folders between the library and the packages
	root := filepath.Dir(file)
	for range most {
		infos, _ := fs.Glob(os.DirFS(root), "*.dist-info")
		rel, err := filepath.Rel(root, file)
		for _, info := range infos {
			l := schema.Library{PathInPackage: filepath.ToSlash(rel)}
			l.Package, l.PackageVersion, _ = strings.Cut(strings.TrimSuffix(info, ".dist-info"), "-")
			l.Package = strings.ReplaceAll(l.Package, "_", "-")
			if err == nil && probe.Records(filepath.Join(root, info), l.PathInPackage) {
				return l
			}
		}
		if root == filepath.Dir(root) {
			break
		}
		root = filepath.Dir(root)
	}
	return schema.Library{}
}

// here reports whether programs of this machine find libraries as p would.
func (p *Program) here() bool { return p.GOOS == runtime.GOOS && p.GOARCH == runtime.GOARCH }

// locate finds libtvm_ffi and the libraries of the program, and adds those that are named. It returns libtvm_ffi first. If the bindings
// of a program were made with several versions of libtvm_ffi, it looks for any one of them, as the program does for the one that it
// loads first.
func (p *Program) locate(named []string) (all []library, err error) {
	var given []library
	for _, file := range named {
		full, err := filepath.Abs(file)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(full); errors.Is(err, fs.ErrNotExist) {
			return nil, probe.NoLibrary(file)
		}
		l, err := p.open(full)
		if err != nil {
			return nil, fmt.Errorf("--lib %s: %w", console.Shown(file), err)
		}
		if i := slices.IndexFunc(given, func(g library) bool { return g.Identity.File == l.Identity.File }); i >= 0 {
			return nil, fmt.Errorf("--lib: %s and %s are both called %s: name each library once", console.Shown(given[i].Path), console.Shown(full), l.Identity.File)
		}
		given = append(given, l)
	}
	o := &find.Options{Program: p.Path}
	if p.GOOS == "linux" { // os.Executable follows links there
		if at, err := filepath.EvalSymlinks(p.Path); err == nil {
			o.Program = at
		}
	}
	core := find.Core()
	core.Name = path.Base(find.PathOfCore(p.GOOS))
	wanted := []find.File{core}
	for _, f := range p.Libraries {
		if find.IsCore(f.Name) {
			o.CoreVersion = cmp.Or(o.CoreVersion, f.Version)
			continue
		}
		wanted = append(wanted, f)
	}
	var missing []string
	for _, f := range wanted {
		named := func(l library) bool { return libname.Same(p.GOOS, f.Name, l.Identity.File) }
		if i := slices.IndexFunc(given, named); i >= 0 {
			all, given = append(all, given[i]), slices.Delete(given, i, i+1)
			continue
		}
		if !p.here() {
			missing = append(missing, libname.On(p.GOOS, f.Name)[0])
			continue
		}
		l, err := p.find(f, o)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%s was built for %s, and the libraries of this machine are for %s/%s: name the ones for %[2]s with --lib, which are missing: %[5]s",
			console.Shown(p.Path), p.Platform(), runtime.GOOS, runtime.GOARCH, strings.Join(missing, ", "))
	}
	all = append(all, given...)
	return p.withSidecars(all)
}

// find finds a library where the program would.
func (p *Program) find(f find.File, o *find.Options) (library, error) {
	s := find.Search{File: f, Options: o}
	for c, err := range find.Candidates(f, o) {
		if err == nil {
			var l library
			if l, err = p.open(c.Path); err == nil {
				return l, nil
			}
			s.Refused = true
		}
		if s.Miss(c, err, err.Error()) {
			break
		}
	}
	return library{}, fmt.Errorf("%s needs %s, which cannot be shipped: %s\nor name it with --lib", console.Shown(p.Path), f.Name, s.Message())
}

// withSidecars adds the libraries for devices beside those of TVM.
func (p *Program) withSidecars(all []library) ([]library, error) {
	var libs []probe.Library
	for _, l := range all {
		libs = append(libs, l.Library)
	}
	for _, file := range probe.Sidecars(libs) {
		l, err := p.open(file)
		if err != nil {
			return nil, err
		}
		l.optional = true
		all = append(all, l)
	}
	return all, nil
}
