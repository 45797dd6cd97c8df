// Package cppface writes the face of a Go library for C++: a header with typed functions
// and classes, and the files by which CMake and pkg-config find it.
package cppface

import (
	_ "embed"
	"fmt"
	"hash/crc32"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// Config says how the files are written.
type Config struct {
	// Marker is the first line of every file, without the comment sign.
	Marker string
	// Version is the version of the library, such as "1.2.0". It defaults to 0.0.0.
	Version string
}

// Write writes the face of a library. Every name of the library is in the header, under
// the Go name if C++ allows it.
func Write(l *face.Library, c Config) ([]face.File, error) {
	if c.Version == "" {
		c.Version = "0.0.0"
	}
	header, err := newWriter(l, c).header()
	if err != nil {
		return nil, fmt.Errorf("write the C++ header of %s: %w", l.Path, err)
	}
	files := []face.File{
		{Path: path.Join("include", l.Name+".hpp"), Content: header},
		{Path: path.Join("include", "tvmffi_go.hpp"), Content: []byte("// " + c.Marker + "\n" + strings.ReplaceAll(shared, "FORM", common))},
	}
	packaging, err := packages(l, c)
	if err != nil {
		return nil, fmt.Errorf("write the CMake package of %s: %w", l.Path, err)
	}
	return append(files, packaging...), nil
}

// shared is the header that all libraries have, and common the name of its namespace.
//
//go:embed tvmffi_go.hpp
var shared string

var common = fmt.Sprintf("form_%08x", crc32.ChecksumIEEE([]byte(shared)))

// libraryPart says how the library is reached.
//
//go:embed library.hpp
var libraryPart string

// writer writes a header.
type writer struct {
	lib *face.Library
	Config
	out strings.Builder
	// ns is the namespace.
	ns string
	// scope holds the names at namespace scope, and names those of *face.Class, *face.Enum, *face.Error and *face.Record.
	scope face.Scope
	names map[any]string
	// recordFields holds the C++ names of the fields of records.
	recordFields map[*face.Record][]string
	// order holds the records, those that others contain first.
	order face.Records
	late  map[*face.Record]bool // lateRecords
	// stage is what is written of the classes: late records come between declaring and defining them.
	stage stage
	// entries are the C symbols, without the prefix __tvm_ffi_, in the order of the table
	// of a library that is loaded at run time.
	entries   []string
	functions []*function
	classes   []*class
	made      map[*face.Function]*function // functions and members
	// callbackResult is set while the type of a function that C++ calls is written.
	callbackResult bool
}

func newWriter(l *face.Library, c Config) *writer {
	w := &writer{
		lib: l, Config: c, ns: namespace(l.Name), recordFields: map[*face.Record][]string{}, made: map[*face.Function]*function{},
	}
	w.scope = newScope(w.ns, "detail", "ffi", "std", "tvm", "load", "loaded")
	w.names = w.scope.Types(l)
	w.order = l.Records()
	w.late = lateRecords(w.order.List)
	for _, r := range w.order.List {
		s := newScope(w.names[r])
		for _, f := range r.Fields {
			w.recordFields[r] = append(w.recordFields[r], s.Claim(f.Name))
		}
	}
	for _, f := range l.Functions {
		w.functions = append(w.functions, w.function(f, w.scope, ""))
		w.entries = append(w.entries, f.Symbol)
	}
	for _, c := range l.Classes {
		w.classes = append(w.classes, w.members(c))
	}
	if len(l.Errors) > 0 {
		w.entries = append(w.entries, errorNew, errorFields)
	}
	return w
}

// namespace returns the namespace of a library.
func namespace(library string) string {
	name := identifier(library)
	switch name {
	case "std", "tvm", "tvmffi_go", "ffi", "detail", "posix":
		return name + "_"
	}
	return name
}

func (w *writer) p(format string, args ...any) { fmt.Fprintf(&w.out, format, args...) }

type stage int

const (
	declaring stage = 1 + iota
	defining
)

// header writes the whole header.
func (w *writer) header() ([]byte, error) {
	w.top()
	w.symbols()
	w.open()
	w.declarations()
	w.objects()
	w.p("}  // namespace detail\n\n")
	w.stringEnums()
	w.close()
	w.traits()
	w.open()
	w.records(false)
	w.stage = declaring
	for _, k := range w.classes {
		w.class(k)
	}
	w.stage = 0
	w.records(true)
	for _, e := range w.lib.Errors {
		w.errorClass(e)
	}
	w.throwers()
	for _, f := range w.all() {
		w.resultStruct(f)
	}
	for _, f := range w.functions {
		w.freeFunction(f)
	}
	w.stage = defining
	for _, k := range w.classes {
		w.definitions(k)
	}
	w.stage = 0
	w.loadFunction()
	w.close()
	w.walks()
	w.hashes()
	w.bottom()
	return []byte(w.out.String()), nil
}

// macro is the name of a macro of the header.
func (w *writer) macro(suffix string) string { return strings.ToUpper(w.lib.Name) + suffix }

func (w *writer) top() {
	guard := "TVMFFI_GO_" + w.macro("_HPP")
	w.p("// %s\n// source: %s\n", w.Marker, face.Clean(w.lib.Path))
	w.p("#ifndef %s\n#define %s\n\n", guard, guard)
	w.p("%s", comment("", "\\file\n\n"+doc(w.lib.Doc)+fmt.Sprintf(`

This is the Go library lib%s for C++17. A program that includes this header links with
lib%s and libtvm_ffi. If %s is defined, it links with
libtvm_ffi only, and calls %s::load with the path of lib%s first.`, w.lib.Name, w.lib.Name, w.macro("_LOAD_AT_RUN_TIME"), w.ns, w.lib.Name)))
	w.p(`
// Some headers define these as macros.
#pragma push_macro("min")
#pragma push_macro("max")
#undef min
#undef max

#include "tvmffi_go.hpp"

#ifndef TVMFFI_GO_%[1]s
#error "tvmffi_go.hpp comes from another release of tvmffi-bind than this header: export both libraries with one release"
#endif

`, common)
}

func (w *writer) bottom() {
	w.p("#undef TVMFFI_GO_ENTRY\n#pragma pop_macro(\"max\")\n#pragma pop_macro(\"min\")\n\n#endif  // TVMFFI_GO_%s\n", w.macro("_HPP"))
}

// symbols declares the C functions of the library.
func (w *writer) symbols() {
	w.p("#ifdef %s\n", w.macro("_LOAD_AT_RUN_TIME"))
	w.p("#define TVMFFI_GO_ENTRY(index, symbol) ::%s::detail::Loaded(index)\n#else\n", w.ns)
	w.p("#define TVMFFI_GO_ENTRY(index, symbol) \\\n  ::%s::detail::Entry { &::symbol, nullptr }\n", w.ns)
	w.p("extern \"C\" {\nint %s(void);\n", symbol(w.lib.Name, ""))
	for _, e := range w.entries {
		w.p("int %s(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);\n", symbol(w.lib.Name, e))
	}
	w.p("}\n#endif\n\n")
}

// symbol is the C symbol of a function by its name without the prefix. It contains the name
// of the library, because a program may link with several that have functions of one name.
func symbol(library, name string) string {
	if name == "" {
		return library + "__tvm_ffi"
	}
	return library + "__tvm_ffi_" + name
}

// entry is the code of the entry of a symbol.
func (w *writer) entry(name string) string {
	i := slices.Index(w.entries, name)
	if i < 0 {
		panic("cppface: no entry " + name)
	}
	return fmt.Sprintf("TVMFFI_GO_ENTRY(%d, %s)", i, symbol(w.lib.Name, name))
}

// open and close begin and end the namespace. Code that loads the library at run time has
// other inline functions than code that links with it, and so it has other names.
func (w *writer) open() {
	w.p("namespace %s {\n#ifdef %s\ninline namespace loaded {\n#endif\n\n", w.ns, w.macro("_LOAD_AT_RUN_TIME"))
}

func (w *writer) close() {
	w.p("#ifdef %s\n}  // namespace loaded\n#endif\n}  // namespace %s\n\n", w.macro("_LOAD_AT_RUN_TIME"), w.ns)
}

// declarations names the classes, records and enums.
func (w *writer) declarations() {
	w.p("namespace ffi = ::tvm::ffi;\n\n")
	for _, c := range w.lib.Classes {
		w.p("class %s;\n", w.names[c])
	}
	for _, r := range w.order.List {
		w.p("struct %s;\n", w.names[r])
	}
	for _, f := range w.all() {
		if f.structName != "" {
			w.p("struct %s;\n", f.structName)
		}
	}
	for _, e := range w.lib.Enums {
		if e.Kind == crossing.KindInt {
			w.intEnum(e)
		}
	}
	w.p("\nnamespace detail {\n\nusing namespace ::tvmffi_go::%s;\n", common)
	for _, name := range w.hidden() {
		w.p("using ::tvmffi_go::%s::%s;\n", common, name)
	}
	w.p("\n")
	w.library()
}

// sharedNames are what the shared header declares in its namespace, but for what libraryPart declares again.
var sharedNames = sync.OnceValue(func() map[string]bool {
	declared := regexp.MustCompile(`(?m)^(?:struct|class|enum class) (\w+)|^using (\w+) =|^inline (?:constexpr |const )*[\w:<>,&* ]+?[ &*](\w+)(?: =|\(|\{|;)`)
	own, _, _ := strings.Cut(shared, "\n}  // namespace FORM")
	names := map[string]bool{}
	for _, m := range declared.FindAllStringSubmatch(own, -1) {
		names[m[1]+m[2]+m[3]] = true
	}
	delete(names, "Global")
	return names
})

// hidden returns the names of the shared header that are names of the library, too. A directive alone would
// find the library's.
func (w *writer) hidden() []string {
	var names []string
	for _, name := range w.names {
		names = append(names, name)
	}
	for _, f := range w.all() {
		names = append(names, f.structName)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !sharedNames()[name] })
	slices.Sort(names)
	return slices.Compact(names)
}

// library writes how the entries of the library are reached.
func (w *writer) library() {
	names := make([]string, len(w.entries))
	for i, e := range w.entries {
		names[i] = fmt.Sprintf("%q", e)
	}
	w.p("// The functions of the library.\n")
	w.p("inline constexpr std::size_t kEntries = %d;\n", len(names))
	w.p("inline constexpr std::array<const char*, %d> kNames = {\n    %s};\n\n", max(1, len(names)), strings.Join(names, ",\n    "))
	w.p("%s", strings.NewReplacer("NAMESPACE", w.ns, "LIBRARY", w.lib.Name, "MACRO", w.macro("_LOAD_AT_RUN_TIME"), "SYMBOL", symbol(w.lib.Name, ""), "FORM", common).Replace(libraryPart))
}

// all returns the functions, properties and methods.
func (w *writer) all() []*function {
	list := slices.Clone(w.functions)
	for _, k := range w.classes {
		list = slices.Concat(list, k.properties, k.methods)
	}
	return list
}

// loadFunction writes what loads the library at run time.
func (w *writer) loadFunction() {
	w.p("#ifdef %s\n", w.macro("_LOAD_AT_RUN_TIME"))
	w.p("%sinline void load(const std::string& path) { detail::Load(path); }\n#endif\n\n",
		comment("", "Loads the shared library, before anything else of this header is used. A second call does nothing.\n\n\\throws tvm::ffi::Error if there is no such library, or if it is another one."))
}
