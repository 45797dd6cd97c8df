package main

import (
	"context"
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/files"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/packaging"
	"github.com/tvmffi-go/tvmffi/gen"
)

// exportOptions are the flags of export.
type exportOptions struct {
	preview
	out, name, prefix string
	build, debug      bool
	// Of the Python package.
	wheel, python         string
	editable              bool
	target, dist, version string
	// Of the packages for C++ and Rust.
	cpp, rust string
}

// packaged reports whether a Python package is asked for.
func (o *exportOptions) packaged() bool { return o.wheel != "" || o.python != "" || o.editable }

// exportHelp lists the directives of package source; a test there compares the lists.
const exportHelp = `export reads the directives of a Go package and writes what makes it a library for
every TVM-FFI language: a file in the package that registers its functions and
types, and a main package for go build -buildmode=c-shared.

  //tvmffi:export [name] [param=default ...] [lend]
                               above a func
  //tvmffi:export              above the import of a package with directives: all of it
  //tvmffi:object [key] [parent=KEY] [final] [frozen] [kwonly] [structural=KIND]
                               above a struct with tagged fields
  //tvmffi:object [key] opaque [final]
                               above a struct whose fields only Go sees
  //tvmffi:constructor [param=default ...]
                               above the func that makes the objects of such a type
  //tvmffi:method [name] [param=default ...] [lend]
                               above a method of such a type
  //tvmffi:property [name]     above a method without parameters and with one result
  //tvmffi:error [kind] [base=KIND]
                               above an error type that others raise and catch
  //tvmffi:repr, equal, hash, compare
                               above the method that does this for the type

A package of kernels that gen wrote needs no directives and gets only the main package.

PACKAGE is a folder or an import path, by default the current folder. The result is
checked by the compiler before anything is written.`

func newExport(con *console.Console) *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export [PACKAGE]",
		Short: "Turn a Go package into a library for Python, C++ and Rust",
		Long:  exportHelp,
		Example: `  //go:generate go tool tvmffi-bind export
  tvmffi-bind export ./stats --wheel dist
  tvmffi-bind export ./stats --wheel dist --target linux/arm64 --version 1.2.0
  tvmffi-bind export ./stats --editable`,
		Args: console.Takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			pattern := "."
			if len(args) > 0 {
				pattern = args[0]
			}
			return runExport(cmd.Context(), con, &o, pattern)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.out, "out", "", "folder of the main package (default lib<name> in the folder of PACKAGE)")
	f.StringVar(&o.name, "name", "", "name of the library, without lib and .so (default the name of the package)")
	f.StringVar(&o.prefix, "prefix", "", "prefix of names in the registry (default the name of the library and a dot)")
	f.BoolVar(&o.build, "build", false, "also build the shared library into the folder of the main package; needs a C compiler")
	f.BoolVar(&o.debug, "debug", false, "keep the symbols in the library, for debuggers")
	f.StringVar(&o.wheel, "wheel", "", "build, and write a wheel for pip into this folder")
	f.StringVar(&o.python, "python", "", "build, and write the Python package into this folder")
	f.BoolVar(&o.editable, "editable", false, "build, and install in the active Python a package that warns when the Go files change")
	f.StringVar(&o.target, "target", "", "platform of the library, GOOS/GOARCH (default this one); CC names the C compiler")
	f.StringVar(&o.dist, "dist-name", "", "name of the wheel for pip (default the name of the library)")
	f.StringVar(&o.version, "version", "", "version of the wheel (default the tag in git, or 0.0.0.dev0) and of the packages for C++ and Rust (default 0.0.0)")
	f.StringVar(&o.cpp, "cpp", "", "build, and write a C++ header with a CMake package into this folder, with the library in it")
	f.StringVar(&o.rust, "rust", "", "build, and write a crate for Rust into this folder, with the library in it")
	o.preview.flags(cmd)
	for _, flag := range []string{"build", "wheel", "python", "editable", "cpp", "rust"} {
		cmd.MarkFlagsMutuallyExclusive("check", "diff", "dry-run", flag)
	}
	cmd.MarkFlagsMutuallyExclusive("wheel", "editable")
	cmd.MarkFlagsMutuallyExclusive("target", "editable")
	for _, flag := range []string{"out", "wheel", "python", "cpp", "rust"} {
		_ = cmd.MarkFlagDirname(flag)
	}
	return cmd
}

// runExport runs export: it makes and checks the files in memory, then does what the
// flags say.
func runExport(ctx context.Context, con *console.Console, o *exportOptions, pattern string) error {
	x, err := readExports(con, pattern)
	if err != nil {
		return err
	}
	if err := checkPackage(o, x.Defaults(gen.ExportConfig{Name: o.name}).Name); err != nil {
		return err
	}
	c, changes, err := generateExport(con, o, x)
	if err != nil {
		return err
	}
	switch {
	case o.check:
		return checkFiles(con, x.Dir(), changes, nil)
	case o.diff:
		con.Printf("%s", changes.Diff())
		return nil
	case o.dryRun:
		con.Printf("%s", changes.List())
		return nil
	}
	if err := changes.Write(); err != nil {
		return err
	}
	functions, types, methods := x.Count()
	con.Notef("%s: %s, %s, %s exported as lib%s; %s\n", console.Shown(x.Dir()),
		console.Count(functions, "function"), console.Count(types, "type"), console.Count(methods, "method"), c.Name, written(changes))
	return buildExport(ctx, con, o, x, c)
}

// written says how many files were written.
func written(o *files.Output) string {
	if o.UpToDate() {
		return fmt.Sprintf("up to date (%d files)", o.Same)
	}
	return fmt.Sprintf("wrote %d of %d files", len(o.Changes), len(o.Changes)+o.Same)
}

// readExports reads the package that pattern names.
func readExports(con *console.Console, pattern string) (*gen.Exports, error) {
	wd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	// Other commands take a folder without ./ before it; the go command wants that.
	info, err := os.Stat(pattern)
	switch {
	case err == nil && info.IsDir():
		if pattern, err = filepath.Abs(pattern); err != nil {
			return nil, err
		}
	case err == nil:
		return nil, fmt.Errorf("%s is a file: name the folder or the import path of a Go package", pattern)
	case (build.IsLocalImport(pattern) || filepath.IsAbs(pattern)) && !strings.Contains(pattern, "..."):
		return nil, fmt.Errorf("there is no folder %s: name the folder or the import path of a Go package", pattern)
	}
	var x *gen.Exports
	if _, err = con.Step("reading the package", func() error {
		x, err = gen.ReadExports(wd, pattern)
		return err
	}); err != nil {
		return nil, &console.Refusal{Err: err}
	}
	return x, nil
}

// generateExport makes the files of x, checks them and compares them with the disk.
func generateExport(con *console.Console, o *exportOptions, x *gen.Exports) (gen.ExportConfig, *files.Output, error) {
	c := gen.ExportConfig{Name: o.name, Prefix: o.prefix, ToolVersion: console.Release()}
	if o.out != "" {
		var err error
		if c.Out, err = below(x.Dir(), o.out); err != nil {
			return c, nil, err
		}
	}
	c = x.Defaults(c)
	generated, err := x.Generate(c)
	if err != nil {
		return c, nil, &console.Refusal{Err: err}
	}
	if _, err := con.Step("checking that it compiles", func() error { return x.Verify(generated) }); err != nil {
		what := "the result would not compile"
		if errors.Is(err, gen.ErrOwn) {
			what = "the package does not compile"
		}
		return c, nil, console.Refuse("%s, so nothing was written:\n%s", what, console.FirstLines(err.Error()))
	}
	changes := &files.Output{}
	for _, f := range generated {
		if err := changes.Put(filepath.Join(x.Dir(), filepath.FromSlash(f.Path)), f.Content, gen.IsGenerated); err != nil {
			return c, nil, err
		}
	}
	return c, changes, nil
}

// buildExport builds the library of the main package in a folder, and the Python package, as the
// flags ask.
func buildExport(ctx context.Context, con *console.Console, o *exportOptions, x *gen.Exports, c gen.ExportConfig) error {
	t, err := packaging.ParseTarget(o.target)
	if err != nil {
		return err
	}
	main := filepath.Join(x.Dir(), filepath.FromSlash(c.Out))
	c.Version = o.version
	b := packaging.Build{Target: t, Debug: o.debug, Made: map[bool]string{}}
	if o.build {
		file := filepath.Join(main, t.LibraryFile(c.Name))
		if _, err := con.Step("building the library", func() error { return b.Library(ctx, main, file) }); err != nil {
			return err
		}
		con.Notef("built %s\n", console.Shown(file))
	}
	b.Trim = true // Python alone shows Go source in tracebacks
	if o.cpp != "" {
		if err := exportCpp(ctx, con, x, c, b, main, o.cpp); err != nil {
			return err
		}
	}
	if o.rust != "" {
		if err := exportRust(ctx, con, x, c, b, main, o.rust); err != nil {
			return err
		}
	}
	if o.packaged() {
		return packageExport(ctx, con, o, x, c, b)
	}
	if !o.build && o.cpp == "" && o.rust == "" {
		con.Notef("build it: go build -buildmode=c-shared -o %s ./%s\n", t.LibraryFile(c.Name), console.Shown(main))
	}
	return nil
}

// packageExport makes the Python packages that the flags ask for.
func packageExport(ctx context.Context, con *console.Console, o *exportOptions, x *gen.Exports, c gen.ExportConfig, b packaging.Build) error {
	p := &packaging.Package{
		Project: packaging.Project{Dir: x.Dir(), Main: filepath.Join(x.Dir(), filepath.FromSlash(c.Out)), Doc: x.Doc(), Target: b.Target},
		Name:    c.Name, Distribution: o.dist, Version: o.version, Build: b, Generator: "tvmffi-bind " + console.Version(), Console: con,
		Python:   func(version string) ([]packaging.File, error) { return pythonFiles(x, c, version) },
		Requires: "apache-tvm-ffi>=" + gen.OldestPython + ",<" + gen.BelowPython,
	}
	if o.wheel != "" {
		if err := p.Wheel(ctx, o.wheel); err != nil {
			return err
		}
	}
	switch {
	case o.editable:
		return p.InstallEditable(ctx, o.python, exportAgain(o, x.Dir()))
	case o.python != "":
		return p.Folder(ctx, o.python)
	}
	return nil
}

// pythonFiles writes the files of the Python package, with paths relative to its folder.
func pythonFiles(x *gen.Exports, c gen.ExportConfig, version string) ([]packaging.File, error) {
	c.Version = version
	written, err := x.Python(c)
	if err != nil {
		return nil, &console.Refusal{Err: err}
	}
	var files []packaging.File
	for _, f := range written {
		files = append(files, packaging.File{Path: strings.TrimPrefix(f.Path, c.Name+"/"), Content: f.Content})
	}
	return files, nil
}

// exportAgain is the command line that makes an editable package anew.
func exportAgain(o *exportOptions, dir string) string {
	line := []string{"cd", dir, "&&", console.Command(), "export", "--editable"}
	for _, flag := range [][2]string{{"--name", o.name}, {"--prefix", o.prefix}, {"--dist-name", o.dist}, {"--version", o.version}} {
		if flag[1] != "" {
			line = append(line, flag[0], flag[1])
		}
	}
	for _, flag := range [][2]string{{"--out", o.out}, {"--python", o.python}} {
		if full, err := filepath.Abs(flag[1]); err == nil && flag[1] != "" {
			line = append(line, flag[0], full)
		}
	}
	return strings.Join(line, " ")
}

// checkPackage finds what is wrong with the flags of a Python package before anything is written.
func checkPackage(o *exportOptions, name string) error {
	if _, err := packaging.ParseTarget(o.target); err != nil {
		return err
	}
	if o.version != "" {
		var err error
		if o.version, err = packaging.Version(o.version); err != nil {
			return err
		}
	}
	if !o.packaged() {
		return nil
	}
	if o.dist != "" {
		if err := packaging.CheckDistribution(o.dist); err != nil {
			return err
		}
	}
	for _, dir := range []string{o.wheel, o.python} {
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			return fmt.Errorf("%s is a file: name a folder", dir)
		}
	}
	return packaging.CheckModule(name)
}

// below returns the folder to, which is relative to the working directory, as a path
// relative to dir.
func below(dir, to string) (string, error) {
	full, err := filepath.Abs(to)
	if err != nil {
		return "", err
	}
	if full, err = resolved(full); err != nil {
		return "", err
	}
	if dir, err = resolved(dir); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(dir, full)
	return filepath.ToSlash(rel), err
}

// resolved follows links in the part of a path that exists: the go command names
// packages by their real folders.
func resolved(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path {
		parent, err := resolved(filepath.Dir(path))
		return filepath.Join(parent, filepath.Base(path)), err
	}
	return real, err
}
