package gen

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/emit"
	"github.com/tvmffi-go/tvmffi/gen/internal/source"
)

// ExportConfig describes how a Go package becomes a library for other languages.
type ExportConfig struct {
	// Name is the name of the library, lib<Name>.so. It defaults to the name of the
	// package.
	Name string
	// Prefix goes before the names in the registry. It defaults to Name and a dot. A
	// package of kernels has the names in its code, so its prefix is its own name.
	Prefix string
	// Out is the folder of the main package, relative to the folder of the package,
	// with forward slashes. It defaults to lib<Name>.
	Out string
	// ToolVersion is the version in the header of every file; it defaults to (devel).
	ToolVersion string
	// Version is the version of the library, for packages of other languages, in the form
	// of PEP 440. It may be empty.
	Version string
}

// Exports is what a Go package offers to other languages.
type Exports struct{ pkg *source.Package }

// ReadExports reads the directives of the Go package that pattern names, relative to
// dir. The error lists all problems, each with file and line.
func ReadExports(dir, pattern string) (*Exports, error) {
	p, err := source.Read(dir, pattern, IsGenerated)
	if err != nil {
		return nil, err
	}
	return &Exports{p}, nil
}

// Dir is the folder of the package.
func (x *Exports) Dir() string { return x.pkg.Dir }

// Count returns the numbers of functions, with the functions of included packages, of
// types and of methods.
func (x *Exports) Count() (functions, types, methods int) {
	for _, t := range x.pkg.Types {
		methods += len(t.Methods)
	}
	return len(x.pkg.Exported()), len(x.pkg.Types), methods
}

// registrationFile is the generated file in the package itself.
const registrationFile = "export_gen.go"

var (
	libraryName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
	prefixText  = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*\.)*$`)
)

// Defaults returns c with the defaults filled in.
func (x *Exports) Defaults(c ExportConfig) ExportConfig {
	if c.Name == "" {
		c.Name = x.pkg.Name
	}
	if c.Prefix == "" && x.kernels() {
		c.Prefix = x.pkg.Name + "."
	}
	if c.Prefix == "" {
		c.Prefix = c.Name + "."
	}
	if c.Out == "" {
		c.Out = "lib" + c.Name
	}
	return c
}

// kernels reports whether the package consists of kernels.
func (x *Exports) kernels() bool { return len(x.pkg.Kernels) > 0 }

// Generate writes the registration of the package and the main package of the
// shared library. Paths are relative to the folder of the package.
func (x *Exports) Generate(c ExportConfig) ([]File, error) {
	c, err := x.check(c)
	if err != nil {
		return nil, err
	}
	e := emit.Exported{Package: x.pkg, Library: c.Name, Prefix: c.Prefix, Tool: c.ToolVersion}
	if e.Tool == "" {
		e.Tool = "(devel)"
	}
	var files []File
	for _, f := range []struct {
		path  string
		write func(emit.Exported) ([]byte, error)
	}{
		{registrationFile, emit.Registration},
		{path.Join(c.Out, "main_gen.go"), emit.Main},
		{path.Join(c.Out, "symbols_gen.c"), emit.Stubs},
	} {
		if x.kernels() && f.path == registrationFile {
			continue // the file of the kernels contains it
		}
		content, err := f.write(e)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Path: f.path, Content: content})
	}
	return files, nil
}

// check returns c with the defaults filled in, or an error that lists what is wrong with it.
func (x *Exports) check(c ExportConfig) (ExportConfig, error) {
	c = x.Defaults(c)
	var errs []error
	if !libraryName.MatchString(c.Name) {
		errs = append(errs, fmt.Errorf("name: %q is not a valid library name: begin with a letter, then write letters, digits and _", c.Name))
	}
	if !prefixText.MatchString(c.Prefix) {
		errs = append(errs, fmt.Errorf("prefix: %q is not a namespace: write words with a dot after each, such as %q", c.Prefix, strings.Trim(c.Prefix, ".")+"."))
	}
	if x.kernels() && c.Prefix != x.pkg.Name+"." {
		errs = append(errs, errors.New("prefix: the names of kernels come from their configuration: change them there with register"))
	}
	if path.Clean(c.Out) == "." {
		errs = append(errs, errors.New("out: the main package needs a folder of its own"))
	}
	for _, name := range x.taken() {
		errs = append(errs, fmt.Errorf("%s declares %s, which the generated file needs: rename yours", x.pkg.Path, name))
	}
	return c, errors.Join(errs...)
}

// Verify type-checks the files from Generate together with the package, like the
// function Verify for bindings. The main package is checked without cgo, in a folder
// that does not exist: go/packages would run cgo on files that are not on disk yet.
func (x *Exports) Verify(files []File) error {
	var checked []File
	for _, f := range files {
		switch {
		case f.Path == registrationFile:
			checked = append(checked, f)
		case strings.HasSuffix(f.Path, ".go"):
			content := bytes.Replace(f.Content, []byte("import \"C\"\n"), nil, 1)
			checked = append(checked, File{path.Join(path.Dir(f.Path), "checked", path.Base(f.Path)), content})
		}
	}
	return Verify(x.pkg.Dir, checked)
}

// taken lists the names in the generated file that the user has declared.
func (x *Exports) taken() []string {
	names := []string{"Register", "tvmffiExports", "TVMFFIExports"}
	for _, t := range x.pkg.Types {
		names = append(names, t.GoName+"Type", "members"+t.GoName)
	}
	var taken []string
	for _, n := range names {
		if x.pkg.Declared[n] {
			taken = append(taken, n)
		}
	}
	return taken
}
