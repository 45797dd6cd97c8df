package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/tvmffi-go/tvmffi/gen"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/console"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/files"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/packaging"
)

// exportCpp writes the C++ header of x and its CMake package into dir, and builds the
// library of the main package into the subfolder lib.
func exportCpp(ctx context.Context, con *console.Console, x *gen.Exports, c gen.ExportConfig, b packaging.Build, main, dir string) error {
	generated, err := x.Cpp(c)
	if err != nil {
		return &console.Refusal{Err: err}
	}
	if dir, err = filepath.Abs(dir); err != nil {
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
	// A process that uses the old library keeps it: a file that is mapped must not change.
	file := filepath.Join(dir, "lib", b.Target.LibraryFile(c.Name))
	fresh := filepath.Join(dir, "lib", "."+b.Target.LibraryFile(c.Name))
	if _, err := con.Step("building the library", func() error { return b.Library(ctx, main, fresh) }); err != nil {
		return err
	}
	if err := os.Rename(fresh, file); err != nil {
		return err
	}
	con.Notef("C++ header and library in %s; %s\n", console.Shown(dir), written(changes))
	return nil
}
