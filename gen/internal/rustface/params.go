package rustface

import (
	"fmt"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
)

// option is a parameter or a field that a caller may leave out.
type option struct {
	name, doc string
	typ       *face.Type
	value     *face.Value // nil if only the library knows it
}

// options writes the struct of the parameters that a caller may leave out.
func (w *writer) options(name, of string, list []option) {
	w.line("/// Optional arguments of " + of + ". Name the fields that differ from their")
	w.line("/// defaults, and write `..Default::default()` for the others.")
	w.line("#[derive(Clone)]")
	w.line("pub struct " + name + " {")
	for _, o := range list {
		text := "It is the default of the library if it is `None`."
		if o.value != nil {
			text = "The default is `" + strings.ReplaceAll(strings.TrimSpace(w.defaultText(o)), "`", "'") + "`."
		}
		w.comment("    ", "///", o.doc, text)
		w.line("    pub " + o.name + ": " + w.optionType(o) + ",")
	}
	w.line("}")
	w.line("")
	w.line("impl ::std::default::Default for " + name + " {")
	w.line("    fn default() -> Self {")
	w.line("        Self {")
	for _, o := range list {
		w.line("            " + o.name + ": " + w.literal(o.value, o.typ) + ",")
	}
	w.line("        }")
	w.line("    }")
	w.line("}")
	w.line("")
}

func (w *writer) optionType(o option) string {
	if o.value == nil {
		return optionOf + "<" + w.value(o.typ) + ">"
	}
	return w.value(o.typ)
}

// defaultText shows a default in a doc comment.
func (w *writer) defaultText(o option) string {
	switch o.value.Kind {
	case face.KindNone:
		return "None"
	case face.KindString, face.KindDataType:
		return quoted(o.value.Text)
	}
	return o.value.Text
}

// literal returns a default as a value of type t.
func (w *writer) literal(v *face.Value, t *face.Type) string {
	if v == nil || v.Kind == face.KindNone {
		return optionOf + "::None"
	}
	switch t.Kind {
	case face.KindOptional:
		return optionOf + "::Some(" + w.literal(v, t.Elems[0]) + ")"
	case face.KindEnum:
		if t.Enum.Kind == face.KindString {
			return w.names[t.Enum] + "(::std::borrow::Cow::Borrowed(" + quoted(v.Text) + "))"
		}
		return w.names[t.Enum] + "(" + v.Text + ")"
	case face.KindFloat:
		if name := limits[v.Text]; name != "" {
			return "::std::primitive::" + number(t) + "::" + name
		}
		return v.Text
	case face.KindBool, face.KindInt:
		return v.Text
	case face.KindString:
		return "::std::string::String::from(" + quoted(v.Text) + ")"
	case face.KindDataType:
		return "library::data_type(" + quoted(v.Text) + ")"
	}
	panic(fmt.Sprintf("rustface: a default of kind %d", t.Kind)) // face.defaultOf makes no other
}

// limits are the numbers that have no literal.
var limits = map[string]string{"NaN": "NAN", "+Inf": "INFINITY", "-Inf": "NEG_INFINITY"}
