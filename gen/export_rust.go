package gen

import (
	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/gen/internal/rustface"
)

// Rust returns the files of a crate with typed functions and types for the library that
// Generate describes. Paths are relative to the folder of the crate, into which the
// shared library is to be built.
func (x *Exports) Rust(c ExportConfig) ([]File, error) {
	if _, err := x.Generate(c); err != nil {
		return nil, err // the configuration has mistakes
	}
	c = x.Defaults(c)
	if c.ToolVersion == "" {
		c.ToolVersion = "(devel)"
	}
	var files []File
	for _, f := range rustface.Write(face.Of(x.pkg, c.Name, c.Prefix), c.ToolVersion) {
		files = append(files, File{Path: f.Path, Content: f.Content})
	}
	return files, nil
}
