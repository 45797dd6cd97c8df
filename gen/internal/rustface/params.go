package rustface

import (
	"fmt"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
)

// param returns the type of a parameter and an expression that makes an Any of it.
func (w *writer) param(t *face.Type, name string) (typ, expr string) {
	item := func(of *face.Type) string { return function(ok(w.to(of, "&x"))) }
	switch t.Kind {
	case face.KindString:
		return "&str", w.to(t, name)
	case face.KindBytes:
		return "&[u8]", w.to(t, name)
	case face.KindAny:
		return "impl ::std::convert::Into<" + anyType + ">", "::std::convert::Into::into(" + name + ")"
	case face.KindBigInt:
		return "impl ::std::convert::Into<::tvm_ffi::BigInt>", anyType + "::from(::std::convert::Into::<::tvm_ffi::BigInt>::into(" + name + "))"
	case face.KindShape:
		return "&[i64]", anyType + "::from(::tvm_ffi::Shape::from(" + name + "))"
	case face.KindSequence:
		return "impl ::std::iter::IntoIterator<Item = " + w.item(t.Elems[0]) + ">", "library::list(" + name + ", " + item(t.Elems[0]) + ")?"
	case face.KindMapping:
		return "impl ::std::iter::IntoIterator<Item = (" + w.list(t.Elems, w.item) + ")>",
			"library::map(" + name + ", " + item(t.Elems[0]) + ", " + item(t.Elems[1]) + ")?"
	case face.KindOptional:
		return w.optional(t.Elems[0], name)
	case face.KindErrorValue:
		return optionOf + "<&::tvm_ffi::Error>", "library::optional(" + name + ", |x| " + okValue + "(library::shared(x)))?"
	case face.KindObject:
		return "&(impl ::tvm_ffi::ObjectRefCore + ::tvm_ffi::AnyCompatible)", w.to(t, name)
	case face.KindCallable:
		return "impl " + w.signature(t), "{ let f = " + name + "; " + w.closure(t) + " }"
	}
	if kindOf(t).byRef {
		return "&" + w.value(t), w.to(t, name)
	}
	return w.value(t), w.to(t, "&"+name)
}

// item returns the type of an element of a sequence that a caller gives.
func (w *writer) item(t *face.Type) string {
	switch t.Kind {
	case face.KindString:
		return "impl ::std::convert::AsRef<str>"
	case face.KindBytes:
		return "impl ::std::convert::AsRef<[u8]>"
	}
	return w.value(t)
}

// optional is param for a parameter that may be None. Its type is a complete one: the
// compiler could not infer the type of a bare None.
func (w *writer) optional(of *face.Type, name string) (typ, expr string) {
	typ, x := w.value(of), "&x"
	switch {
	case of.Kind == face.KindString:
		typ, x = "&str", "x"
	case of.Kind == face.KindBytes:
		typ, x = "&[u8]", "x"
	case kindOf(of).byRef:
		typ, x = "&"+typ, "x"
	}
	return optionOf + "<" + typ + ">", "library::optional(" + name + ", " + function(ok(w.to(of, x))) + ")?"
}

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
