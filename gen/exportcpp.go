package gen

import (
	"github.com/tvmffi-go/tvmffi/gen/internal/cppface"
	"github.com/tvmffi-go/tvmffi/gen/internal/emit"
	"github.com/tvmffi-go/tvmffi/gen/internal/face"
)

// Cpp makes the files by which C++ programs use the library: a header, a CMake package and
// a file for pkg-config. Their paths are relative to a folder with the subfolders include
// and lib. The shared library belongs into lib.
func (x *Exports) Cpp(c ExportConfig) ([]File, error) {
	if _, err := x.Generate(c); err != nil {
		return nil, err // the configuration has mistakes
	}
	c = x.Defaults(c)
	written, err := cppface.Write(face.Of(x.pkg, c.Name, c.Prefix), cppface.Config{Marker: emit.Marker(c.ToolVersion), Version: c.Version})
	if err != nil {
		return nil, err
	}
	files := make([]File, len(written))
	for i, f := range written {
		files[i] = File{Path: f.Path, Content: f.Content}
	}
	return files, nil
}
