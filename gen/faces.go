package gen

import (
	"cmp"

	"github.com/tvmffi-go/tvmffi/gen/internal/cppface"
	"github.com/tvmffi-go/tvmffi/gen/internal/emit"
	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/gen/internal/pyface"
	"github.com/tvmffi-go/tvmffi/gen/internal/rustface"
)

// OldestPython and BelowPython are the versions of the Python package apache-tvm-ffi that
// the packages of Exports.Python work with: from the first, and below the second.
const (
	OldestPython = "0.1.12"
	BelowPython  = "0.2"
)

// Doc is the doc comment of the package.
func (x *Exports) Doc() string { return x.pkg.Doc }

// Python writes a Python package: functions and classes with the names, docs, defaults and
// types of Go, and stubs for type checkers. Paths are relative to the folder that holds the
// package. The shared library belongs beside the files.
func (x *Exports) Python(c ExportConfig) ([]File, error) {
	return x.face(c, func(l *face.Library) ([]face.File, error) {
		return pyface.Write(l, pyface.Config{
			Marker: emit.Marker(c.ToolVersion), Version: c.Version, Oldest: OldestPython, Below: BelowPython,
		}), nil
	})
}

// Cpp makes the files by which C++ programs use the library: a header, a CMake package and
// a file for pkg-config. Their paths are relative to a folder with the subfolders include
// and lib. The shared library belongs into lib.
func (x *Exports) Cpp(c ExportConfig) ([]File, error) {
	return x.face(c, func(l *face.Library) ([]face.File, error) {
		return cppface.Write(l, cppface.Config{Marker: emit.Marker(c.ToolVersion), Version: c.Version})
	})
}

// Rust returns the files of a crate with typed functions and types for the library that
// Generate describes. Paths are relative to the folder of the crate, into which the
// shared library is to be built.
func (x *Exports) Rust(c ExportConfig) ([]File, error) {
	return x.face(c, func(l *face.Library) ([]face.File, error) {
		return rustface.Write(l, cmp.Or(c.ToolVersion, "(devel)"), c.Version), nil
	})
}

// face checks the configuration, and writes the files of a face.
func (x *Exports) face(c ExportConfig, write func(*face.Library) ([]face.File, error)) ([]File, error) {
	c, err := x.check(c)
	if err != nil {
		return nil, err
	}
	written, err := write(face.Of(x.pkg, c.Name, c.Prefix))
	var files []File
	for _, f := range written {
		files = append(files, File(f))
	}
	return files, err
}
