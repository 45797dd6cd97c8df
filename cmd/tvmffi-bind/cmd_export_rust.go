package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"

	"github.com/tvmffi-go/tvmffi/gen"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/console"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/files"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/packaging"
)

// exportRust writes the crate for x and builds the library of the main package into it.
func exportRust(ctx context.Context, con *console.Console, o *exportOptions, x *gen.Exports, c gen.ExportConfig, t packaging.Target) error {
	crate, err := x.Rust(c)
	if err != nil {
		return &console.Refusal{Err: err}
	}
	changes := &files.Output{}
	for _, f := range crate {
		if err := changes.Put(filepath.Join(o.rust, filepath.FromSlash(f.Path)), f.Content, generatedCrate); err != nil {
			return err
		}
	}
	dir, err := filepath.Abs(o.rust)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	main, file := filepath.Join(x.Dir(), filepath.FromSlash(c.Out)), filepath.Join(dir, t.LibraryFile(c.Name))
	b := packaging.Build{Target: t, Debug: o.debug}
	if _, err := con.Step("building the library", func() error { return b.Library(ctx, main, file) }); err != nil {
		return err
	}
	if err := changes.Write(); err != nil {
		return err
	}
	con.Notef("crate for Rust in %s; %s\n", console.Shown(dir), written(changes))
	return nil
}

// generatedCrate is gen.IsGenerated for the files of a crate, whose manifest has comments
// that begin with #.
func generatedCrate(content []byte) bool {
	if rest, ok := bytes.CutPrefix(content, []byte("# ")); ok {
		content = append([]byte("// "), rest...)
	}
	return gen.IsGenerated(content)
}
