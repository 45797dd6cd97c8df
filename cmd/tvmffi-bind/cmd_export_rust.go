package main

import (
	"bytes"
	"context"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/packaging"
	"github.com/tvmffi-go/tvmffi/gen"
)

// exportRust writes the crate for x and builds the library of the main package into it.
func exportRust(ctx context.Context, con *console.Console, x *gen.Exports, c gen.ExportConfig, b packaging.Build, main, dir string) error {
	crate, err := x.Rust(c)
	if err != nil {
		return &console.Refusal{Err: err}
	}
	return sources{"crate for Rust", dir, "", crate, generatedCrate}.write(ctx, con, b, main, c.Name)
}

// generatedCrate is gen.IsGenerated for the files of a crate, whose manifest has comments
// that begin with #.
func generatedCrate(content []byte) bool {
	if rest, ok := bytes.CutPrefix(content, []byte("# ")); ok {
		content = append([]byte("// "), rest...)
	}
	return gen.IsGenerated(content)
}
