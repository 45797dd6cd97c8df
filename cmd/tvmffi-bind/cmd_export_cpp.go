package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/files"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/packaging"
	"github.com/tvmffi-go/tvmffi/gen"
)

// sources is a folder with files for the compiler of another language, and the library.
type sources struct {
	what string // it is, such as C++ header
	dir  string
	// library is the folder in it for the library.
	library   string
	files     []gen.File
	generated func(content []byte) bool
}

// exportCpp writes the C++ header of x and its CMake package into dir, and builds the
// library of the main package into the subfolder lib.
func exportCpp(ctx context.Context, con *console.Console, x *gen.Exports, c gen.ExportConfig, b packaging.Build, main, dir string) error {
	generated, err := x.Cpp(c)
	if err != nil {
		return &console.Refusal{Err: err}
	}
	return sources{"C++ header", dir, "lib", generated, gen.IsGenerated}.write(ctx, con, b, main, c.Name)
}

// write builds the library of the main package and writes the files. It writes none of
// them if the build fails or one is in the way.
func (s sources) write(ctx context.Context, con *console.Console, b packaging.Build, main, name string) error {
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return err
	}
	changes := &files.Output{}
	for _, f := range s.files {
		if err := changes.Put(filepath.Join(dir, filepath.FromSlash(f.Path)), f.Content, s.generated); err != nil {
			return err
		}
	}
	library := filepath.Join(dir, s.library)
	if err := os.MkdirAll(library, 0o755); err != nil {
		return err
	}
	file := filepath.Join(library, b.Target.LibraryFile(name))
	if _, err := con.Step("building the library", func() error { return b.Library(ctx, main, file) }); err != nil {
		return err
	}
	if err := changes.Write(); err != nil {
		return err
	}
	con.Notef("%s and library in %s; %s\n", s.what, console.Shown(dir), written(changes))
	return nil
}
