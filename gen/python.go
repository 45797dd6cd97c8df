package gen

import (
	"github.com/tvmffi-go/tvmffi/gen/internal/emit"
	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/gen/internal/pyface"
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
	c, err := x.check(c)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, f := range pyface.Write(face.Of(x.pkg, c.Name, c.Prefix), pyface.Config{
		Marker: emit.Marker(c.ToolVersion), Version: c.Version, Oldest: OldestPython, Below: BelowPython,
	}) {
		files = append(files, File(f))
	}
	return files, nil
}
