package rustface

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// option is a parameter or a field that a caller may leave out.
type option struct {
	name, doc string
	typ       *face.Type
	value     *face.Value // nil if only the library knows it
}

// known returns a default, or nil if it has no value in Rust, where a Duration is not negative: then a caller gives the
// parameter, or leaves the field to the library.
func known(v *face.Value) *face.Value {
	if v != nil && v.Kind == crossing.KindDuration && v.Text[0] == '-' {
		return nil
	}
	return v
}

// options writes the struct of the parameters that a caller may leave out.
func (w *writer) options(name, of string, list []option) {
	w.p("/// Optional arguments of %s. Name the fields that differ from their\n/// defaults, and write `..Default::default()` for the others.\n", of)
	w.p("#[derive(Clone)]\npub struct %s {\n", name)
	for _, o := range list {
		typ, text := w.value(o.typ), ""
		if o.value == nil {
			typ, text = optionOf+"<"+typ+">", "It is the default of the library if it is `None`."
		} else {
			text = "The default is `" + strings.ReplaceAll(strings.TrimSpace(defaultText(o.value)), "`", "'") + "`."
		}
		w.comment("    ", "///", o.doc, text)
		w.p("    pub %s: %s,\n", o.name, typ)
	}
	w.p("}\n\nimpl ::std::default::Default for %s {\n    fn default() -> Self {\n        Self {\n", name)
	for _, o := range list {
		w.p("            %s: %s,\n", o.name, w.literal(o.value, o.typ))
	}
	w.p("        }\n    }\n}\n\n")
}

// defaultText shows a default in a doc comment.
func defaultText(v *face.Value) string {
	switch v.Kind {
	case crossing.KindNone:
		return "None"
	case crossing.KindString, crossing.KindDataType:
		return quoted(v.Text)
	case crossing.KindDuration:
		n, _ := strconv.ParseInt(v.Text, 10, 64)
		return time.Duration(n).String()
	}
	return v.Text
}

// literal returns a default as a value of type t.
func (w *writer) literal(v *face.Value, t *face.Type) string {
	if v == nil || v.Kind == crossing.KindNone {
		return optionOf + "::None"
	}
	switch t.Kind {
	case crossing.KindOptional:
		return optionOf + "::Some(" + w.literal(v, t.Elems[0]) + ")"
	case crossing.KindEnum:
		if t.Enum.Kind == crossing.KindString {
			return w.names[t.Enum] + "(::std::borrow::Cow::Borrowed(" + quoted(v.Text) + "))"
		}
		return w.names[t.Enum] + "(" + v.Text + ")"
	case crossing.KindFloat:
		if name := limits[v.Text]; name != "" {
			return "::std::primitive::" + number(t) + "::" + name
		}
		return v.Text
	case crossing.KindDuration:
		return "::std::time::Duration::from_nanos(" + v.Text + ")"
	case crossing.KindBool, crossing.KindInt:
		return v.Text
	case crossing.KindString:
		return "::std::string::String::from(" + quoted(v.Text) + ")"
	case crossing.KindDataType:
		return "library::data_type(" + quoted(v.Text) + ")"
	}
	panic(fmt.Sprintf("rustface: a default of kind %d", t.Kind)) // face.defaultOf makes no other
}

// limits are the numbers that have no literal.
var limits = map[string]string{"NaN": "NAN", "+Inf": "INFINITY", "-Inf": "NEG_INFINITY"}
