package main

import (
	"context"
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/gen"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/console"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/files"
)

// exportOptions are the flags of export.
type exportOptions struct {
	preview
	out, name, prefix string
	build             bool
	python            string
}

func newExport(con *console.Console) *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export [PACKAGE]",
		Short: "Turn a Go package into a library for Python, C++ and Rust",
		Long: `export reads the directives of a Go package and writes what makes it a library for
every TVM-FFI language: a file in the package that registers its functions and
types, and a main package for go build -buildmode=c-shared.

  //tvmffi:export [name]       above a func
  //tvmffi:export              above the import of a package with directives: all of it
  //tvmffi:object [key] [parent=KEY] [final] [frozen] [kwonly] [structural=KIND]
                               above a struct with tagged fields
  //tvmffi:method [name]       above a method of such a struct
  //tvmffi:error [kind] [base=KIND]
                               above an error type: an exception class, with its tagged fields
  //tvmffi:repr, equal, hash, compare
                               above the method that does this for the type

A package of kernels that gen wrote needs no directives and gets only the main package.

PACKAGE is a folder or an import path, by default the current folder. The result is
checked by the compiler before anything is written.`,
		Example: `  //go:generate go tool tvmffi-bind export
  tvmffi-bind export ./golib --build
  tvmffi-bind export ./golib --python ./python`,
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
	f.StringVar(&o.python, "python", "", "build, and write a Python package with the library into this folder")
	o.preview.flags(cmd)
	cmd.MarkFlagsMutuallyExclusive("check", "diff", "dry-run", "build")
	cmd.MarkFlagsMutuallyExclusive("check", "diff", "dry-run", "python")
	_ = cmd.MarkFlagDirname("out")
	_ = cmd.MarkFlagDirname("python")
	return cmd
}

// runExport runs export: it makes and checks the files in memory, then does what the
// flags say.
func runExport(ctx context.Context, con *console.Console, o *exportOptions, pattern string) error {
	x, err := readExports(con, pattern)
	if err != nil {
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
	return buildExport(ctx, con, o, x, filepath.Join(x.Dir(), filepath.FromSlash(c.Out)), c)
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
		return c, nil, console.Refuse("the result would not compile, so nothing was written:\n%s", console.FirstLines(err.Error()))
	}
	changes := &files.Output{}
	for _, f := range generated {
		if err := changes.Put(filepath.Join(x.Dir(), filepath.FromSlash(f.Path)), f.Content, gen.IsGenerated); err != nil {
			return c, nil, err
		}
	}
	return c, changes, nil
}

// buildExport builds the library of the main package in a folder, and the packages of other
// languages, if the flags ask for them.
func buildExport(ctx context.Context, con *console.Console, o *exportOptions, x *gen.Exports, main string, c gen.ExportConfig) error {
	if o.python != "" {
		if err := exportPython(ctx, con, x, c, o.python, main); err != nil {
			return err
		}
	}
	if !o.build && o.python != "" {
		return nil
	}
	if !o.build {
		con.Notef("build it: go build -buildmode=c-shared -o %s ./%s\n", libraryFile(c.Name), console.Shown(main))
		return nil
	}
	file := filepath.Join(main, libraryFile(c.Name))
	if _, err := con.Step("building the library", func() error { return buildLibrary(ctx, main, file) }); err != nil {
		return err
	}
	con.Notef("built %s\n", console.Shown(file))
	return nil
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

// libraryFile is the file name of a shared library on this platform.
func libraryFile(name string) string {
	switch runtime.GOOS {
	case "darwin":
		return "lib" + name + ".dylib"
	case "windows":
		return name + ".dll"
	}
	return "lib" + name + ".so"
}

// buildLibrary runs go build. TVM-FFI does not need the header that it also
// writes.
func buildLibrary(ctx context.Context, main, file string) error {
	if err := findCompiler(ctx); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-buildmode=c-shared", "-o", file, ".")
	cmd.Dir = main
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build -buildmode=c-shared: %w; it needs a C compiler, such as gcc\n%s", err, console.FirstLines(strings.TrimSpace(string(out))))
	}
	err := os.Remove(strings.TrimSuffix(file, filepath.Ext(file)) + ".h")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// findCompiler returns an error if the C compiler of the go command does not exist.
func findCompiler(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "go", "env", "CC").Output()
	if err != nil {
		return fmt.Errorf("go env CC: %w", err)
	}
	words := strings.Fields(string(out))
	if len(words) == 0 || strings.ContainsAny(words[0], `"'`) {
		return nil // the go command, which also reads quoted paths, says more
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return fmt.Errorf("there is no C compiler %s, which go build -buildmode=c-shared needs: install gcc (package gcc or build-base), or name a compiler by CC", words[0])
	}
	return nil
}

// exportPython writes the Python package of x into the folder dir, and builds the library of
// the main package beside its files. The folder holds packages: each has one of its own.
func exportPython(ctx context.Context, con *console.Console, x *gen.Exports, c gen.ExportConfig, dir, main string) error {
	generated, err := x.Python(c)
	if err != nil {
		return err
	}
	changes := &files.Output{}
	for _, f := range generated {
		if err := changes.Put(filepath.Join(dir, filepath.FromSlash(f.Path)), f.Content, gen.IsGenerated); err != nil {
			return err
		}
	}
	if err := changes.Write(); err != nil {
		return err
	}
	pkg, err := filepath.Abs(filepath.Join(dir, c.Name))
	if err != nil {
		return err
	}
	// A process that uses the old library keeps it: a file that is mapped must not change.
	file := filepath.Join(pkg, libraryFile(c.Name))
	fresh := filepath.Join(pkg, "."+libraryFile(c.Name))
	if _, err := con.Step("building the library", func() error { return buildLibrary(ctx, main, fresh) }); err != nil {
		return err
	}
	if err := os.Rename(fresh, file); err != nil {
		return err
	}
	con.Notef("wrote the Python package %s; %s\n", console.Shown(pkg), written(changes))
	return nil
}
