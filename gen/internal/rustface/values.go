package rustface

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
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
	w.comment("", "///", e.Doc, "`"+e.Name+"` of the Go package "+w.lib.Path+".", "A value without a constant here is one that the library knows and this crate does not.")
	copies, of, value, rest := " Copy,", "i64", "%s", ""
	if e.Unsigned {
		of = "u64"
	}
	if e.Kind == crossing.KindString {
		copies, of, value = "", "::std::borrow::Cow<'static, str>", "::std::borrow::Cow::Borrowed(%s)"
		rest = "\n    /// Returns the text.\n    pub fn as_str(&self) -> &str {\n        &self.0\n    }\n"
	}
	w.p("#[derive(Clone,%s Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]\npub struct %s(pub %s);\n\nimpl %[2]s {\n", copies, name, of)
	for i, m := range e.Members {
		w.comment("    ", "///", m.Doc, "`"+m.GoName+"` in Go.")
		text := m.Value.Text
		if e.Kind == crossing.KindString {
			text = quoted(text)
		}
		w.p("    pub const %s: Self = Self("+value+");\n", names[i], text)
	}
	w.p("%s}\n\n", rest)
	if e.Kind == crossing.KindString {
		w.p("library::text_enum!(%s);\n\n", name)
	}
	if e.Flags() {
		w.p("library::bits!(%s);\n\n", name)
	}
}

// fieldsOf returns the names of fields in a scope.
func fieldsOf(s scope, fields []face.Field) []string {
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return s.takeAll(names, snake)
}

// fieldType returns the type of a field of a record, in a box if the record would hold
// itself.
func (w *writer) fieldType(of *face.Record, t *face.Type) string {
	if t.Kind == crossing.KindOptional && of != nil && w.records.Hold(t, of) {
		return optionOf + "<::std::boxed::Box<" + w.value(t.Elems[0]) + ">>"
	}
	return w.value(t)
}

// shows reports whether values of t implement Debug. Those of the crate's containers always do.
func shows(t *face.Type) bool {
	hidden := func(e *face.Type) bool { return !shows(e) }
	return kindOf(t).shows && (t.Kind == crossing.KindArray || t.Kind == crossing.KindMap || !slices.ContainsFunc(t.Elems, hidden))
}

// structure writes a struct with public fields, and a function new.
func (w *writer) structure(name string, of *face.Record, fields []face.Field) {
	names := fieldsOf(newScope(), fields)
	derived, rest := "Clone, Debug", ""
	if slices.ContainsFunc(fields, func(f face.Field) bool { return !shows(f.Type) }) {
		derived, rest = "Clone", "library::plain_debug!("+name+");\n\n"
	}
	w.p("#[derive(%s)]\npub struct %s {\n", derived, name)
	var params, values []string
	for i, f := range fields {
		typ := w.fieldType(of, f.Type)
		w.comment("    ", "///", f.Doc, "The field `"+f.Name+"`.")
		w.p("    pub %s: %s,\n", names[i], typ)
		if known(f.Default) != nil {
			values = append(values, names[i]+": "+w.literal(f.Default, f.Type))
		} else {
			params = append(params, names[i]+": "+typ)
			values = append(values, names[i])
		}
	}
	w.p("}\n\n%simpl %s {\n    /// Makes one with the defaults of the fields that have one.\n", rest, name)
	w.p("    pub fn new(%s) -> Self {\n        Self { %s }\n    }\n\n", joined(params), joined(values))
	w.conversions(of, fields, names)
	w.p("}\n\n")
}

// conversions writes the functions of a struct that make it of an Any, and an Any of it.
func (w *writer) conversions(of *face.Record, fields []face.Field, names []string) {
	w.p("    #[allow(dead_code)]\n    pub(crate) fn from_any(x: &mut library::Values<'_>) -> %s<Self> {\n", result)
	for i := range fields {
		w.p("        let mut field%d = %s::None;\n", i, optionOf)
	}
	w.p("        library::fields(x, |name, x| {\n            match name {\n")
	for i, f := range fields {
		w.p("                %s => field%d = %s::Some(%s?),\n", quoted(f.Name), i, optionOf, w.from(f.Type, "x"))
	}
	w.p("                _ => ::std::mem::drop(x.any()?),\n            }\n            %s(())\n        })?;\n        %[1]s(Self {\n", okValue)
	for i, f := range fields {
		expr := fmt.Sprintf("library::field(field%d, %s)?", i, w.mapper(f.Type))
		if d := known(f.Default); d != nil && d.Kind != crossing.KindNone {
			expr = fmt.Sprintf("field%d.unwrap_or(%s)", i, w.literal(d, f.Type))
		} else if w.fieldType(of, f.Type) != w.value(f.Type) {
			expr += ".map(::std::boxed::Box::new)"
		}
		w.p("            %s: %s,\n", names[i], expr)
	}
	w.p("        })\n    }\n\n    #[allow(dead_code)]\n    pub(crate) fn to_any(&self) -> %s<%s> {\n        %s(library::record(::std::vec![\n", result, anyType, okValue)
	for i, f := range fields {
		expr := w.to(f.Type, "&self."+names[i])
		if w.fieldType(of, f.Type) != w.value(f.Type) {
			expr = "library::optional(self." + names[i] + ".as_deref(), " + w.maker(f.Type.Elems[0], "x") + ")?"
		}
		w.p("            (%s, %s),\n", quoted(f.Name), expr)
	}
	w.p("        ]))\n    }\n")
}

func joined(list []string) string { return strings.Join(list, ", ") }

func (w *writer) recordType(r *face.Record) {
	w.p("/// The struct `%s` of Go, a copy of its values.\n", r.Name)
	w.structure(w.names[r], r, r.Fields)
}

// errorType writes a struct for an error of Go with its fields, which is made from a
// tvm_ffi::Error and becomes one.
func (w *writer) errorType(e *face.Error) {
	name := w.names[e]
	w.comment("", "///", e.Doc, "The error `"+e.Name+"` of Go.",
		"Its kind is `"+e.Kind+"`. `"+name+"::try_from(&error)` takes it from an error, and `?` returns it as one.")
	w.structure(name, nil, e.Fields)
	w.p("library::error_type!(%s, %s);\n\n", name, quoted(e.Kind))
}
