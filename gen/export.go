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

// ExportConfig says how a Go package becomes a library for other languages.
type ExportConfig struct {
	// Name is that of the library: lib<Name>.so. Without it, that of the package.
	Name string
	// Prefix goes before the names in the registry; without it, the name and a dot. For
	// a package of kernels, whose names are in its code, it is that of the package.
	Prefix string
	// Out is the folder of the main package, relative to that of the package, with
	// forward slashes. Without it, lib<Name> in there.
	Out string
	// ToolVersion stands in the header of every file.
	ToolVersion string
}

// Exports is what a Go package offers to other languages.
type Exports struct{ pkg *source.Package }

// ReadExports reads the directives of the Go package that pattern names, seen from
// dir. The error lists everything that is wrong, each with file and line.
func ReadExports(dir, pattern string) (*Exports, error) {
	p, err := source.Read(dir, pattern, IsGenerated)
	if err != nil {
		return nil, err
	}
	return &Exports{p}, nil
}

// Dir is the folder of the package.
func (x *Exports) Dir() string { return x.pkg.Dir }

// Count returns the numbers of functions, with those of included packages, of types
// and of methods.
func (x *Exports) Count() (functions, types, methods int) {
	for _, t := range x.pkg.Types {
		methods += len(t.Methods)
	}
	return len(x.pkg.Symbols()), len(x.pkg.Types), methods
}

// registrationFile is the file that belongs into the package.
const registrationFile = "export_gen.go"

var (
	libraryName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
	prefixText  = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*\.)*$`)
)

// Defaults fills in what c leaves out.
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

// kernels reports whether the package is one of kernels.
func (x *Exports) kernels() bool { return len(x.pkg.Kernels) > 0 }

// Generate writes the registration of the package and the main package of the
// shared library. Paths are relative to the folder of the package.
func (x *Exports) Generate(c ExportConfig) ([]File, error) {
	c = x.Defaults(c)
	var errs []error
	if !libraryName.MatchString(c.Name) {
		errs = append(errs, fmt.Errorf("name: %q is no name for a library: begin with a letter, then letters, digits and _", c.Name))
	}
	if !prefixText.MatchString(c.Prefix) {
		errs = append(errs, fmt.Errorf("prefix: %q is no namespace: write words with a dot after each, such as %q", c.Prefix, strings.Trim(c.Prefix, ".")+"."))
	}
	if x.kernels() && c.Prefix != x.pkg.Name+"." {
		errs = append(errs, errors.New("prefix: kernels have their names from their configuration: give them others with register there"))
	}
	if path.Clean(c.Out) == "." {
		errs = append(errs, errors.New("out: the main package needs a folder of its own"))
	}
	for _, name := range x.taken() {
		errs = append(errs, fmt.Errorf("%s declares %s, which the generated file needs: rename yours", x.pkg.Path, name))
	}
	if err := errors.Join(errs...); err != nil {
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
			continue // the file of the kernels has what would be in it
		}
		content, err := f.write(e)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Path: f.path, Content: content})
	}
	return files, nil
}

// Verify type-checks what Generate has made together with the package, as the
// func of that name does for bindings. The main package is checked without cgo, in
// a folder that is not there: go/packages would run cgo on files that are not yet
// on disk.
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

// taken lists the names of the generated file that the user has declared.
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
