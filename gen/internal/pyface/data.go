package pyface

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
)

// enums writes the enums.
func (w *writer) enums() {
	for _, e := range w.lib.Enums {
		name := w.names[e]
		w.export(name)
		base, stubBase := private+".IntEnum", w.ref("enum", "IntEnum")
		if e.Kind == face.KindString {
			text := w.builtin("str")
			base, stubBase = "str, "+private+".Enum", text+", "+w.ref("enum", "Enum")
		}
		names := members(e)
		doc := cmp.Or(w.text(e.Doc, e.Name, name), name+" is the Go type "+e.Name+".")
		var lines []string
		for i, m := range e.Members {
			lines = append(lines, described(names[i], w.text(m.Doc, m.GoName, names[i]))...)
		}
		w.pyf("\n\nclass %s(%s):\n%s\n", name, base, docstring("    ", doc+section("Members", lines...)))
		w.pyif("\nclass %s(%s):\n", name, stubBase)
		for i, m := range e.Members {
			w.both("    %s = %s\n", names[i], value(m.Value))
		}
		if e.Kind == face.KindString {
			text := w.builtin("str")
			w.pyf("\n    def __str__(self) -> %s:\n        return self.value\n", text)
			w.pyif("    def __str__(self) -> %s: ...\n", text)
		}
	}
}

// typedDicts writes classes for the maps that stand for structs.
func (w *writer) typedDicts() {
	for _, r := range w.records {
		name := w.names[r]
		w.export(name)
		var lines []string
		for _, f := range r.Fields {
			lines = append(lines, described(f.Name, f.Doc)...)
		}
		doc := cmp.Or(w.text(r.Doc, r.Name, name), name+" is a dict with the fields of the Go struct "+r.Name+".") + section("Keys", lines...)
		var required, optional []face.Field
		for _, f := range r.Fields {
			if mayMiss(f) {
				optional = append(optional, f)
			} else {
				required = append(required, f)
			}
		}
		awkward := slices.ContainsFunc(r.Fields, func(f face.Field) bool { return inClass(f.Name) != f.Name })
		switch {
		case awkward:
			w.record(name, doc, []string{w.part(r, "Required", required, true), w.part(r, "Optional", optional, false)}, nil, true)
		case len(required) == 0:
			w.record(name, doc, nil, optional, false)
		case len(optional) == 0:
			w.record(name, doc, nil, required, true)
		default:
			base := w.fresh(r.Name + "Required")
			w.record(base, "", nil, required, true)
			w.record(name, doc, []string{base}, optional, false)
		}
	}
}

// mayMiss reports whether a record may lack a field. A default is for constructors of
// classes: records need their fields, unless these are optional.
func mayMiss(f face.Field) bool { return f.Default != nil && f.Default.Kind == face.KindNone }

// record writes a class of dicts. Without bases, it is a TypedDict.
func (w *writer) record(name, doc string, bases []string, fields []face.Field, total bool) {
	base, stubBase := strings.Join(bases, ", "), strings.Join(bases, ", ")
	if base == "" {
		base, stubBase = private+".TypedDict", w.ref("typing", "TypedDict")
	}
	if !total {
		base, stubBase = base+", total=False", stubBase+", total=False"
	}
	w.pyf("\n\nclass %s(%s):\n%s", name, base, docstring("    ", doc))
	w.pyif("\nclass %s(%s):\n", name, stubBase)
	if len(fields) == 0 {
		w.pyif("    pass\n")
		if doc == "" {
			w.pyf("    pass\n")
		}
		return
	}
	w.pyf("\n")
	for _, f := range fields {
		w.both("    %s: %s\n", f.Name, w.in(f.Type))
	}
}

// part writes the keys of a record that are not names of Python as a class of its own.
func (w *writer) part(r *face.Record, what string, fields []face.Field, total bool) string {
	name := w.fresh(r.Name + what)
	var keys []string
	for _, f := range fields {
		keys = append(keys, quote(f.Name)+": "+quote(w.in(f.Type)))
	}
	rest := "{" + strings.Join(keys, ", ") + "}"
	if !total {
		rest += ", total=False"
	}
	w.pyf("\n%s = %s.TypedDict(%s, %s)\n", name, private, quote(name), rest)
	w.pyif("\n%s = %s(%s, %s)\n", name, w.ref("typing", "TypedDict"), quote(name), rest)
	return name
}

// errors writes the classes of exceptions.
func (w *writer) errors() {
	for _, e := range w.lib.Errors {
		name := w.names[e]
		w.export(name)
		base := cmp.Or(e.Base, "RuntimeError")
		doc := cmp.Or(w.text(e.Doc, e.Name, name), name+" is the Go error type "+e.Name+".")
		var fields, params, lines []string
		for _, f := range e.Fields {
			attribute := inClass(f.Name)
			fields = append(fields, quote(attribute))
			param := attribute + ": " + w.in(f.Type)
			switch {
			case f.Default != nil:
				param += " = " + w.literal(*f.Default, f.Type, true)
			case f.HasDefault:
				param += " = ..."
			}
			params = append(params, param)
			lines = append(lines, attribute+" : "+w.out(f.Type))
			if f.Doc != "" {
				lines = append(lines, "    "+f.Doc)
			}
		}
		if len(fields) == 1 {
			fields = append(fields, "")
		}
		w.pyf("\n\nclass %s(%s_errors.GoError, %s_errors.base(%s)):\n%s", name, private, private, quote(base), docstring("    ", doc+section("Attributes", lines...)))
		w.pyf("\n    _kind = %s\n    _fields = (%s)\n", quote(e.Kind), strings.TrimRight(strings.Join(fields, ", "), " "))
		w.pyf("\n\n%s_errors.register_error(%s, %s)\n", private, quote(e.Kind), name)
		w.pyif("\nclass %s(%s):\n", name, w.builtin(base))
		for _, f := range e.Fields {
			w.pyif("    %s: %s\n", inClass(f.Name), w.out(f.Type))
		}
		text := fmt.Sprintf("self, message: %s | None = None, /", w.builtin("str"))
		if len(params) > 0 {
			text += ", *, " + strings.Join(params, ", ")
		}
		w.pyif("    def __init__(%s) -> None: ...\n", text)
	}
}
