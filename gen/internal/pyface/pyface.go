// Package pyface writes the Python package of a Go library: functions and classes with the
// names, docs, defaults and types of Go, and stubs for type checkers.
package pyface

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// Config says what the description of the library does not.
type Config struct {
	// Marker is the first line of each file, without the sign of a comment.
	Marker string
	// Version is the version of the package, or empty.
	Version string
	// Oldest is the first version of apache-tvm-ffi that the package works with, and Below
	// the first one that it does not know.
	Oldest, Below string
}

//go:embed python/_tvmffi.py
var support string

//go:embed python/_columns.py
var columns string

//go:embed python/_errors.py
var exceptions string

//go:embed python/_face.py
var functions string

//go:embed python/_values.py
var values string

// Write returns the files of the package, without the shared library.
func Write(l *face.Library, c Config) []face.File {
	w := newWriter(l, c)
	w.enums()
	w.typedDicts()
	w.lib.EachFunction(w.tuple)
	w.errors()
	for _, class := range l.Classes {
		w.class(class)
	}
	for _, f := range l.Functions {
		w.function(f)
	}
	head := fmt.Sprintf("# %s\n# source: %s\n", c.Marker, l.Path)
	file := func(name, content string) face.File {
		return face.File{Path: path.Join(l.Name, name), Content: []byte(content)}
	}
	return []face.File{
		file("__init__.py", head+w.module()),
		file("__init__.pyi", head+w.stub()),
		file("_columns.py", head+columns),
		file("_errors.py", head+strings.Replace(exceptions, "EXCEPTIONS", exceptionNames(), 1)),
		file("_face.py", head+functions),
		file("_tvmffi.py", head+w.support()),
		file("_values.py", head+values),
		file("py.typed", "# "+c.Marker+"\n"),
	}
}

// support returns the module that loads the library. Its constants stand behind the import
// from __future__, which has to be the first statement.
func (w *writer) support() string {
	const after = "from __future__ import annotations\n"
	first := ""
	if len(w.lib.Functions) > 0 {
		first = w.lib.Functions[0].Symbol
	}
	constants := fmt.Sprintf("\nLIBRARY = %s\nPREFIX = %s\nFIRST = %s  # a function of the library\nOLDEST, BELOW = %s, %s  # versions of apache-tvm-ffi\n",
		quote(w.lib.Name), quote(w.lib.Prefix), quote(first), quote(w.c.Oldest), quote(w.c.Below))
	return strings.Replace(support, after, after+constants, 1)
}

// exceptionNames returns the names of the exceptions in crossing.ErrorKinds, in lines. The first line is shorter, because code
// stands in front of it.
func exceptionNames() string {
	var b strings.Builder
	room := 80
	for i, name := range crossing.Exceptions() {
		switch {
		case i == 0:
		case len(name) < room:
			b.WriteByte(' ')
			room--
		default:
			b.WriteByte('\n')
			room = 132
		}
		b.WriteString(name)
		room -= len(name)
	}
	return b.String()
}

// writer writes a package.
type writer struct {
	lib *face.Library
	c   Config
	// names are the names of functions, classes, enums, errors, records and named tuples.
	names map[any]string
	// async are the names of the asynchronous forms.
	async map[*face.Function]string
	// taken are the names of the module and of members, which hide those that annotations use.
	taken map[string]bool
	used  face.Scope // private names
	// imports are the names for annotations, by module, in the form of an import statement.
	imports map[string]map[string]bool
	// dlpack and numbers are set if the stub needs the protocols of tensors, of arrays and of buffers, functions if the stub has one.
	dlpack, numbers, buffers, functions bool
	// records stand for structs, those first that others contain.
	records []*face.Record
	// tuples are the classes of several results with names.
	tuples map[*face.Function]string
	links  map[string]string // in docs
	// converters are functions that convert results, by their text.
	converters map[string]string
	converted  map[string]string // those of records
	values     bool              // whether the module needs _values
	py         *strings.Builder
	pyi        strings.Builder
	all        []string
}

func newWriter(l *face.Library, c Config) *writer {
	w := &writer{
		lib: l, c: c, async: map[*face.Function]string{}, taken: map[string]bool{}, used: face.NewScope(func(name string) string { return private + name }),
		tuples: map[*face.Function]string{}, links: map[string]string{},
		imports: map[string]map[string]bool{}, py: &strings.Builder{}, converters: map[string]string{}, converted: map[string]string{},
	}
	w.records = l.Records().List
	w.name()
	w.link()
	for _, name := range append(slices.Collect(maps.Keys(modules)), "builtins", "errors", "face", "values") {
		w.fresh(name) // ref may write it so
	}
	return w
}

// module returns __init__.py.
func (w *writer) module() string {
	var b strings.Builder
	b.WriteString(docstring("", cmp.Or(w.text(w.lib.Doc, "", ""), "Functions and classes of the Go package "+w.lib.Path+".")))
	b.WriteString("\nfrom __future__ import annotations\n\n")
	values := ""
	if w.values {
		values = fmt.Sprintf(", _values as %s_values", private)
	}
	fmt.Fprintf(&b, "from . import _errors as %[1]s_errors, _face as %[1]s_face, _tvmffi as %[1]s%[2]s\n\n", private, values)
	protocols := w.protocols()
	b.WriteString(w.importLines()) // for typing.get_type_hints; after _tvmffi, which says what is not installed
	b.WriteString("\n" + w.exports() + "\n\ndef __dir__():\n    return __all__\n\n" + protocols)
	b.WriteString(w.py.String())
	return b.String()
}

// protocols returns the classes of arguments that other packages make.
func (w *writer) protocols() (text string) {
	if w.dlpack {
		text = fmt.Sprintf("\n# A tensor of NumPy, PyTorch and so on: its memory is not copied.\nclass %s(%s):\n    def __dlpack__(self) -> %s: ...\n    def __dlpack_device__(self) -> %s: ...\n",
			w.protocol(), w.ref("typing", "Protocol"), w.ref("typing", "Any"), w.builtin("tuple")+"["+w.builtin("int")+", "+w.builtin("int")+"]")
	}
	if w.numbers {
		text += fmt.Sprintf("\n# An array of NumPy, a column of pandas and so on: its numbers are copied.\nclass %s(%s):\n    def __array__(self) -> %s: ...\n    def __len__(self) -> %s: ...\n",
			w.arrays(), w.ref("typing", "Protocol"), w.ref("typing", "Any"), w.builtin("int"))
	}
	if w.buffers {
		text += fmt.Sprintf("\n# A memoryview, an array of bytes and so on: its bytes are copied.\nclass %s(%s):\n    def __buffer__(self, flags: %s, /) -> %s: ...\n",
			w.protocolName("_BufferLike"), w.ref("typing", "Protocol"), w.builtin("int"), w.builtin("memoryview"))
	}
	return text
}

// stub returns __init__.pyi.
func (w *writer) stub() string {
	var b strings.Builder
	protocols := w.protocols()
	b.WriteString(w.importLines())
	b.WriteString("\n" + w.exports())
	b.WriteString(protocols)
	b.WriteString(w.pyi.String())
	return b.String()
}

// exports returns __all__ and __version__.
func (w *writer) exports() string {
	all := slices.Sorted(slices.Values(w.all))
	var b strings.Builder
	b.WriteString("__all__ = [\n")
	for _, name := range all {
		fmt.Fprintf(&b, "    %s,\n", quote(name))
	}
	b.WriteString("]\n")
	if w.c.Version != "" {
		fmt.Fprintf(&b, "__version__ = %s\n", quote(w.c.Version))
	}
	return b.String()
}

// importLines returns the imports of annotations.
func (w *writer) importLines() string {
	var b strings.Builder
	for _, module := range slices.Sorted(maps.Keys(w.imports)) {
		names := slices.Sorted(maps.Keys(w.imports[module]))
		if module == "" {
			for _, name := range names {
				fmt.Fprintf(&b, "import %s\n", name)
			}
			continue
		}
		fmt.Fprintf(&b, "from %s import %s\n", module, strings.Join(names, ", "))
	}
	return b.String()
}

// export adds a name for users.
func (w *writer) export(name string) { w.all = append(w.all, name) }

// both writes to the module and to the stub.
func (w *writer) both(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.py.WriteString(text)
	w.pyi.WriteString(text)
}

func (w *writer) pyf(format string, args ...any)  { fmt.Fprintf(w.py, format, args...) }
func (w *writer) pyif(format string, args ...any) { fmt.Fprintf(&w.pyi, format, args...) }
