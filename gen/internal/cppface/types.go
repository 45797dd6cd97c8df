package cppface

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
)

// values are the types of the kinds that have one type, as results and in containers.
var values = map[face.Kind]string{
	face.KindNone: "void", face.KindAny: "ffi::Any", face.KindBool: "bool", face.KindBigInt: "detail::BigInt",
	face.KindString: "ffi::String", face.KindBytes: "ffi::Bytes", face.KindDataType: "DLDataType", face.KindDevice: "DLDevice",
	face.KindPointer: "void*", face.KindShape: "ffi::Shape", face.KindTensor: "ffi::Tensor", face.KindModule: "ffi::Module",
	face.KindObject: "ffi::ObjectRef", face.KindErrorValue: "ffi::Error", face.KindFunction: "ffi::Function",
	// Only a result of a function is an iterator that C++ knows.
	face.KindIterator: "ffi::Function",
}

// containers are the templates of the kinds that have elements.
var containers = map[face.Kind]string{
	face.KindOptional: "ffi::Optional", face.KindUnion: "ffi::Variant", face.KindTuple: "ffi::Tuple",
	face.KindSequence: "ffi::Array", face.KindArray: "ffi::Array", face.KindList: "ffi::List",
	face.KindMapping: "ffi::Map", face.KindMap: "ffi::Map", face.KindDict: "ffi::Dict",
}

// value returns the type of a result, a field or an element.
func (w *writer) value(t *face.Type) string {
	if text := values[t.Kind]; text != "" {
		return text
	}
	switch t.Kind {
	case face.KindInt:
		if t.Unsigned {
			return fmt.Sprintf("uint%d_t", t.Bits)
		}
		return fmt.Sprintf("int%d_t", t.Bits)
	case face.KindFloat:
		if t.Bits == 32 {
			return "float"
		}
		return "double"
	case face.KindRecord:
		return w.own(w.records[t.Record])
	case face.KindClass:
		return w.own(w.classes[t.Class])
	case face.KindEnum:
		return w.own(w.enums[t.Enum])
	case face.KindCallable:
		return w.callable(t)
	}
	template := containers[t.Kind]
	if template == "" {
		panic(fmt.Sprintf("cppface: no type for kind %d", t.Kind))
	}
	if len(t.Elems) == 0 {
		if t.Kind == face.KindMap || t.Kind == face.KindMapping || t.Kind == face.KindDict {
			return template + "<ffi::Any, ffi::Any>"
		}
		return template + "<ffi::Any>"
	}
	if t.Kind == face.KindOptional && t.Elems[0].Kind == face.KindAny {
		return "ffi::Any"
	}
	elems := make([]string, len(t.Elems))
	for i, e := range t.Elems {
		elems[i] = w.value(e)
	}
	return template + "<" + strings.Join(elems, ", ") + ">"
}

// own qualifies a name of the library, which a parameter or a member could hide.
func (w *writer) own(name string) string { return "::" + w.ns + "::" + name }

// callable returns the type of a function. A record is a map among the parameters of a
// function that C++ calls: the call of ffi::TypedFunction could not release a map that it
// makes.
func (w *writer) callable(t *face.Type) string {
	var params []string
	for _, e := range t.Elems[1:] {
		p := w.value(e)
		if w.callbackResult && e.Kind == face.KindRecord {
			p = "ffi::Map<ffi::String, ffi::Any>"
		}
		params = append(params, p)
	}
	return "ffi::TypedFunction<" + w.value(t.Elems[0]) + "(" + strings.Join(params, ", ") + ")>"
}

// result returns the type of a result of a function of Go.
func (w *writer) result(t *face.Type) string {
	w.callbackResult = true
	defer func() { w.callbackResult = false }()
	switch t.Kind {
	case face.KindIterator:
		return "detail::Iterator<" + w.result(t.Elems[0]) + ">"
	case face.KindTuple:
		elems := make([]string, len(t.Elems))
		for i, e := range t.Elems {
			elems[i] = w.value(e)
		}
		return "std::tuple<" + strings.Join(elems, ", ") + ">"
	}
	return w.value(t)
}

// param returns the type of a parameter.
func (w *writer) param(t *face.Type) string {
	switch t.Kind {
	case face.KindAny:
		return "ffi::AnyView"
	case face.KindBool, face.KindInt, face.KindFloat, face.KindDataType, face.KindDevice, face.KindPointer:
		return w.value(t)
	case face.KindEnum:
		if t.Enum.Kind == face.KindInt {
			return w.value(t)
		}
	case face.KindString:
		return "const detail::Text&"
	case face.KindBytes:
		return "const detail::Data&"
	case face.KindTensor:
		if t.Lent {
			return "const detail::Slice<" + w.value(t.Elems[0]) + ">&"
		}
		return "const detail::TensorArgument&"
	case face.KindTuple:
		return "const " + w.result(t) + "&"
	case face.KindSequence:
		return "const detail::Sequence<" + w.value(t.Elems[0]) + ">&"
	case face.KindMapping:
		return "const detail::Mapping<" + w.value(t.Elems[0]) + ", " + w.value(t.Elems[1]) + ">&"
	case face.KindOptional:
		switch t.Elems[0].Kind {
		case face.KindString:
			return "const detail::OptionalText&"
		case face.KindBytes:
			return "const detail::OptionalData&"
		case face.KindAny: // which has a null
			return w.param(t.Elems[0])
		}
	}
	return "const " + w.value(t) + "&"
}

// arg returns the argument that a parameter becomes. A record becomes a map, which the Any
// holds during the call.
func (w *writer) arg(t *face.Type, name string) string {
	if t.Kind == face.KindRecord || t.Kind == face.KindOptional && t.Elems[0].Kind == face.KindRecord {
		return "ffi::Any(" + name + ")"
	}
	if t.Kind == face.KindTuple {
		return "detail::ArrayOf(" + name + ")"
	}
	return name
}

// literal returns a default as an expression of the type of a parameter.
func (w *writer) literal(v *face.Value, t *face.Type) string {
	if v.Kind == face.KindNone {
		switch t.Kind {
		case face.KindOptional:
			if t.Elems[0].Kind == face.KindAny {
				return "nullptr"
			}
			return "std::nullopt"
		}
		return "nullptr"
	}
	for t.Kind == face.KindOptional {
		t = t.Elems[0]
	}
	switch v.Kind {
	case face.KindBool:
		return v.Text
	case face.KindInt:
		if t.Kind == face.KindEnum {
			return w.member(t.Enum, v)
		}
		return w.value(t) + "{" + integer(v.Text, t.Unsigned) + "}"
	case face.KindFloat:
		return w.float(v.Text, t)
	case face.KindDataType:
		return "ffi::StringToDLDataType(" + quote(v.Text) + ")"
	case face.KindString:
		if t.Kind == face.KindEnum {
			return w.member(t.Enum, v)
		}
		return quoteView(v.Text)
	}
	panic(fmt.Sprintf("cppface: no default of kind %d", v.Kind))
}

// member returns the member of an enum with a value, or the value as the enum.
func (w *writer) member(e *face.Enum, v *face.Value) string {
	for i, m := range e.Members {
		if m.Value.Text == v.Text {
			return w.own(w.enums[e]) + "::" + memberNames(e)[i]
		}
	}
	if e.Kind == face.KindString {
		return w.own(w.enums[e]) + "(" + quote(v.Text) + ")"
	}
	return "static_cast<" + w.own(w.enums[e]) + ">(" + integer(v.Text, false) + ")"
}

// memberNames returns the names of the members of an enum.
func memberNames(e *face.Enum) []string {
	s := newScope()
	if e.Kind == face.KindString {
		s = newScope("value", identifier(e.Name))
	}
	names := make([]string, len(e.Members))
	for i, m := range e.Members {
		names[i] = s.claim(m.Name)
	}
	return names
}

// integer writes an integer as C++ reads it: a minus is an operator there, so that the
// least int64 has no literal.
func integer(text string, unsigned bool) string {
	if text == "-9223372036854775808" {
		return "std::numeric_limits<int64_t>::min()"
	}
	if _, err := strconv.ParseInt(text, 0, 64); err != nil || unsigned {
		return text + "u"
	}
	return text
}

func (w *writer) float(text string, t *face.Type) string {
	x, err := strconv.ParseFloat(text, 64)
	typ := w.value(t)
	switch {
	case math.IsNaN(x):
		return "std::numeric_limits<" + typ + ">::quiet_NaN()"
	case math.IsInf(x, 1):
		return "std::numeric_limits<" + typ + ">::infinity()"
	case math.IsInf(x, -1):
		return "-std::numeric_limits<" + typ + ">::infinity()"
	case err != nil:
		return "static_cast<" + typ + ">(" + text + ")"
	}
	text = strconv.FormatFloat(x, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	if t.Bits == 32 {
		return "static_cast<float>(" + text + ")"
	}
	return text
}

// quote writes a string literal.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\' || c == '?': // two question marks could begin a trigraph
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// quoteView is quote for a text that may have zero bytes.
func quoteView(text string) string {
	if !strings.Contains(text, "\x00") {
		return quote(text)
	}
	return fmt.Sprintf("std::string_view(%s, %d)", quote(text), len(text))
}
