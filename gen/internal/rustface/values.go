package rustface

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
)

// enum writes a type that holds any value, also one that a newer library knows.
func (w *writer) enum(e *face.Enum) {
	name := w.names[e]
	members := newScope()
	var wanted []string
	for _, m := range e.Members {
		wanted = append(wanted, m.Name)
	}
	names := members.takeAll(wanted, func(s string) string { return s })
	text := e.Kind == face.KindString
	w.comment("", "///", e.Doc, "`"+e.Name+"` of the Go package "+w.lib.Path+".", "A value without a constant here is one that the library knows and this crate does not.")
	if text {
		w.line("#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]")
		w.line("pub struct " + name + "(pub ::std::borrow::Cow<'static, str>);")
	} else {
		w.line("#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]")
		w.line("pub struct " + name + "(pub i64);")
	}
	w.line("")
	w.line("impl " + name + " {")
	for i, m := range e.Members {
		w.comment("    ", "///", m.Doc, "`"+m.GoName+"` in Go.")
		value := m.Value.Text
		if text {
			value = "::std::borrow::Cow::Borrowed(" + quoted(m.Value.Text) + ")"
		}
		w.line("    pub const " + names[i] + ": Self = Self(" + value + ");")
	}
	if text {
		w.line("")
		w.line("    /// Returns the text.")
		w.line("    pub fn as_str(&self) -> &str {")
		w.line("        &self.0")
		w.line("    }")
	}
	w.line("}")
	w.line("")
	if text {
		w.line("library::text_enum!(" + name + ");")
		w.line("")
	}
}

// fieldsOf returns the names of fields of a struct.
func fieldsOf(fields []face.Field) []string {
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return newScope().takeAll(names, snake)
}

// fieldType returns the type of a field of a record, in a box if the record would hold
// itself.
func (w *writer) fieldType(of *face.Record, t *face.Type) string {
	if t.Kind == face.KindOptional && of != nil && holds(t, of, map[*face.Record]bool{}) {
		return optionOf + "<::std::boxed::Box<" + w.value(t.Elems[0]) + ">>"
	}
	return w.value(t)
}

// holds reports whether a value of type t holds one of r in itself.
func holds(t *face.Type, r *face.Record, seen map[*face.Record]bool) bool {
	switch t.Kind {
	case face.KindOptional, face.KindTuple:
		for _, e := range t.Elems {
			if holds(e, r, seen) {
				return true
			}
		}
	case face.KindRecord:
		if t.Record == r {
			return true
		}
		if seen[t.Record] {
			return false
		}
		seen[t.Record] = true
		for _, f := range t.Record.Fields {
			if holds(f.Type, r, seen) {
				return true
			}
		}
	}
	return false
}

// shows reports whether values of t implement Debug. Those of the crate's containers always do.
func shows(t *face.Type) bool {
	hidden := func(e *face.Type) bool { return !shows(e) }
	return kindOf(t).shows && (t.Kind == face.KindArray || t.Kind == face.KindMap || !slices.ContainsFunc(t.Elems, hidden))
}

// structure writes a struct with public fields, and a function new.
func (w *writer) structure(name string, of *face.Record, fields []face.Field) {
	names := fieldsOf(fields)
	debug := true
	for _, f := range fields {
		debug = debug && shows(f.Type)
	}
	if debug {
		w.line("#[derive(Clone, Debug)]")
	} else {
		w.line("#[derive(Clone)]")
	}
	w.line("pub struct " + name + " {")
	var params, values []string
	for i, f := range fields {
		typ := w.fieldType(of, f.Type)
		w.comment("    ", "///", f.Doc, "The field `"+f.Name+"`.")
		w.line("    pub " + names[i] + ": " + typ + ",")
		if f.Default != nil {
			values = append(values, names[i]+": "+w.literal(f.Default, f.Type))
		} else {
			params = append(params, names[i]+": "+typ)
			values = append(values, names[i])
		}
	}
	w.line("}")
	w.line("")
	if !debug {
		w.line("library::plain_debug!(" + name + ");")
		w.line("")
	}
	w.line("impl " + name + " {")
	w.line("    /// Makes one with the defaults of the fields that have one.")
	w.line("    pub fn new(" + joined(params) + ") -> Self {")
	w.line("        Self { " + joined(values) + " }")
	w.line("    }")
	w.line("")
	w.conversions(of, fields, names)
	w.line("}")
	w.line("")
}

// conversions writes the functions of a struct that make it of an Any, and an Any of it.
func (w *writer) conversions(of *face.Record, fields []face.Field, names []string) {
	w.line("    #[allow(dead_code)]")
	w.line(fmt.Sprintf("    pub(crate) fn from_any(x: &%s) -> %s<Self> {", anyType, result))
	w.line("        let fields = library::fields(x)?;")
	w.line("        " + okValue + "(Self {")
	for i, f := range fields {
		expr := w.from(f.Type, "&library::field(&fields, "+quoted(f.Name)+")?") + "?"
		if w.fieldType(of, f.Type) != w.value(f.Type) {
			expr += ".map(::std::boxed::Box::new)"
		}
		w.line("            " + names[i] + ": " + expr + ",")
	}
	w.line("        })")
	w.line("    }")
	w.line("")
	w.line("    #[allow(dead_code)]")
	w.line(fmt.Sprintf("    pub(crate) fn to_any(&self) -> %s<%s> {", result, anyType))
	w.line("        " + okValue + "(library::record(::std::vec![")
	for i, f := range fields {
		expr := w.to(f.Type, "&self."+names[i])
		if w.fieldType(of, f.Type) != w.value(f.Type) {
			expr = "library::optional(self." + names[i] + ".as_deref(), |x| " + ok(w.to(f.Type.Elems[0], "x")) + ")?"
		}
		w.line("            (" + quoted(f.Name) + ", " + expr + "),")
	}
	w.line("        ]))")
	w.line("    }")
}

func joined(list []string) string { return strings.Join(list, ", ") }

func (w *writer) recordType(r *face.Record) {
	w.comment("", "///", r.Doc, "The struct `"+r.Name+"` of Go, a copy of its values.")
	w.structure(w.names[r], r, r.Fields)
}

// errorType writes a struct for an error of Go with its fields, which is made from a
// tvm_ffi::Error and becomes one.
func (w *writer) errorType(e *face.Error) {
	name := w.names[e]
	w.comment("", "///", e.Doc, "The error `"+e.Name+"` of Go.",
		"Its kind is `"+e.Kind+"`. `"+name+"::try_from(&error)` takes it from an error, and `?` returns it as one.")
	w.structure(name, nil, e.Fields)
	w.line("library::error_type!(" + name + ", " + quoted(e.Kind) + ");")
	w.line("")
}
