package cppface

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// kind says how the values of a kind of type cross. Words with $ are those that word knows.
type kind struct {
	value    string // the type of a field, or of an element
	result   string // the type of a result of Go; it defaults to value
	param    string // the type of a parameter; it defaults to const $value&
	optional string // the type of a parameter that may be null; it defaults to const ffi::Optional<$value>&
	arg      string // what a parameter is in a call; it defaults to $name
	zero     string // what a field of a record begins with; it defaults to {}
	// restIf says which types a variadic argument may have, and rest makes arguments of several. By default they are what
	// converts to $value.
	restIf, rest string
}

const number = "std::is_arithmetic_v<std::decay_t<Rest>>"

// Kinds is the table of the kinds. A record becomes a map, which an Any holds during the call.
var Kinds = face.Table[kind]{
	crossing.KindNone:     {value: "void"},
	crossing.KindAny:      {value: "ffi::Any", param: "const detail::AnyArgument&", optional: "const detail::AnyArgument&"},
	crossing.KindBool:     {value: "bool", param: "$value", restIf: number, rest: "static_cast<$value>(rest)..."},
	crossing.KindInt:      {value: "$int", param: "$value", restIf: "std::is_integral_v<std::decay_t<Rest>>", rest: "detail::AnyArgument(rest)..."}, // Go checks the range
	crossing.KindFloat:    {value: "$float", param: "$value", restIf: number, rest: "static_cast<$value>(rest)..."},
	crossing.KindComplex:  {value: "std::complex<$value0>", param: "const $value&", optional: "const detail::Nullable<detail::Given<$value>, $value>&", arg: "detail::Owned($name)", rest: "ffi::Any(detail::Element<$value>::Of(rest))..."},
	crossing.KindBigInt:   {value: "detail::BigInt"},
	crossing.KindString:   {value: "ffi::String", result: "std::string", param: "const detail::Text&", optional: "const detail::OptionalText&", restIf: "std::is_convertible_v<Rest, detail::Text>", rest: "detail::Text(rest)..."},
	crossing.KindBytes:    {value: "ffi::Bytes", result: "std::vector<unsigned char>", param: "const detail::Data&", optional: "const detail::OptionalData&"},
	crossing.KindDuration: {value: "std::chrono::nanoseconds", param: "const detail::Given<$value>&", optional: "const detail::Nullable<detail::Given<$value>, $value>&"},
	crossing.KindTime:     {value: "std::chrono::system_clock::time_point", param: "const detail::Given<$value>&", optional: "const detail::Nullable<detail::Given<$value>, $value>&"},
	crossing.KindDataType: {value: "DLDataType", param: "$value"},
	crossing.KindDevice:   {value: "DLDevice", param: "$value"},
	crossing.KindPointer:  {value: "void*", param: "$value"},

	crossing.KindOptional: {value: "$optional", result: "$optionalResult", param: "$optionalParam"},
	crossing.KindTuple:    {value: "ffi::Tuple<$values>", result: "std::tuple<$parts>", param: "const $result&", optional: "const std::optional<$result>&", arg: "detail::Owned($name)"},
	crossing.KindSequence: {value: "ffi::Array<$value0>", result: "std::vector<$part0>", param: "const detail::Sequence<$value0>&", optional: "const detail::Nullable<detail::Sequence<$value0>, $result>&"},
	crossing.KindMapping:  {value: "ffi::Map<$value0, $value1>", result: "std::map<$part0, $part1>", param: "const detail::Mapping<$value0, $value1>&", optional: "const detail::Nullable<detail::Mapping<$value0, $value1>, $result>&"},
	crossing.KindSet:      {value: "std::set<$part0>", param: "const detail::Sequence<$value0>&", optional: "const detail::Nullable<detail::Sequence<$value0>, $value>&"},
	crossing.KindRecord:   {value: "$own", arg: "ffi::Any($name)"},
	crossing.KindArray:    {value: "ffi::Array<$value0>"},
	crossing.KindList:     {value: "ffi::List<$value0>"},
	crossing.KindMap:      {value: "ffi::Map<$value0, $value1>"},
	crossing.KindDict:     {value: "ffi::Dict<$value0, $value1>"},

	crossing.KindShape:    {value: "ffi::Shape"},
	crossing.KindTensor:   {value: "ffi::Tensor", param: "const detail::TensorArgument&"},
	crossing.KindModule:   {value: "ffi::Module"},
	crossing.KindObject:   {value: "ffi::ObjectRef"},
	crossing.KindClass:    {value: "$own", zero: " = nullptr"},
	crossing.KindEnum:     {value: "$own", param: "$value"},
	crossing.KindError:    {value: "ffi::Error", zero: ` = ffi::Error("RuntimeError", "", "")`},
	crossing.KindCallable: {value: "detail::Func<$value0($params)>", result: "ffi::TypedFunction<$value0($params)>", param: "const detail::Callback<$value0($params)>&", optional: "const detail::Nullable<detail::Callback<$value0($params)>, $value>&"},
	crossing.KindFunction: {value: "ffi::Function"},
	crossing.KindIterator: {value: "ffi::Function", result: "detail::Iterator<$part0>"},
}

func kindOf(t *face.Type) kind {
	k := Kinds.Row(t.Kind)
	switch {
	case t.Lent:
		k.param = "const detail::Slice<$value0>&"
	case t.Kind == crossing.KindEnum && t.Enum.Kind == crossing.KindString:
		k.param = ""
	case t.Wide():
		k.arg, k.rest, k.optional = "detail::Owned($name)", "detail::Owned(rest)...", "const detail::Nullable<detail::Given<$value>, $value>&"
	case t.Kind == crossing.KindSequence && t.Elems[0].Kind == crossing.KindInt && t.Elems[0].Bits == 8 && t.Elems[0].Unsigned:
		k.result = "" // a vector of them is bytes
	}
	k.result, k.param, k.arg, k.zero = cmp.Or(k.result, k.value), cmp.Or(k.param, "const $value&"), cmp.Or(k.arg, "$name"), cmp.Or(k.zero, "{}")
	k.optional = cmp.Or(k.optional, "const ffi::Optional<$value>&")
	return k
}

// word returns the text of a word in Kinds. A digit at its end means an element.
func (w *writer) word(t *face.Type, word string) string {
	switch word {
	case "value":
		return w.value(t)
	case "values":
		return face.List(t.Elems, w.value)
	case "parts":
		return face.List(t.Elems, w.result)
	case "part", "result":
		return w.result(t)
	case "params":
		return face.List(t.Elems[1:], w.callbackParam)
	case "own":
		return w.own(w.names[t.Record] + w.names[t.Class] + w.names[t.Enum]) // one of them is there
	case "int":
		return map[bool]string{true: "u"}[t.Unsigned] + fmt.Sprintf("int%d_t", t.Bits)
	case "float":
		return map[bool]string{true: "float", false: "double"}[t.Bits == 32]
	case "optionalResult":
		elem := t.Elems[0]
		standard := elem.Wide()
		switch elem.Kind {
		case crossing.KindString, crossing.KindBytes, crossing.KindTuple, crossing.KindSequence, crossing.KindMapping, crossing.KindDuration, crossing.KindTime, crossing.KindComplex, crossing.KindSet:
			standard = true
		}
		if standard {
			return "std::optional<" + w.result(elem) + ">"
		}
	case "optionalParam":
		return w.expand(t.Elems[0], kindOf(t.Elems[0]).optional)
	}
	if t.Elems[0].Kind == crossing.KindAny { // which has a null
		return "ffi::Any"
	}
	return "ffi::Optional<" + w.value(t.Elems[0]) + ">"
}

func (w *writer) expand(t *face.Type, text string) string { return face.Expand(t, text, w.word) }

// value returns the type of a field or an element.
func (w *writer) value(t *face.Type) string { return w.expand(t, kindOf(t).value) }

// param returns the type of a parameter.
func (w *writer) param(t *face.Type) string { return w.expand(t, kindOf(t).param) }

// arg returns the argument that a parameter becomes.
func (w *writer) arg(t *face.Type, name string) string {
	if bare := t.Bare(); bare.Kind == crossing.KindRecord || bare.Kind == crossing.KindTuple {
		t = bare
	}
	return strings.ReplaceAll(kindOf(t).arg, "$name", name)
}

// result returns the type of a result of a function of Go.
func (w *writer) result(t *face.Type) string {
	before := w.callbackResult
	w.callbackResult = true
	defer func() { w.callbackResult = before }()
	return w.expand(t, kindOf(t).result)
}

// callbackParam returns the type of a parameter of a callback. A function that C++ calls takes what owns the form in
// which a value crosses: the call of ffi::TypedFunction could not release one that it makes.
func (w *writer) callbackParam(t *face.Type) string {
	if !w.callbackResult {
		return w.value(t)
	}
	switch t.Kind {
	case crossing.KindRecord:
		return "ffi::Map<ffi::String, ffi::Any>"
	case crossing.KindTime, crossing.KindComplex:
		return "const detail::Given<" + w.value(t) + ">&"
	}
	switch t.Bare().Kind {
	case crossing.KindDuration, crossing.KindTime, crossing.KindComplex, crossing.KindSet:
		return w.param(t)
	}
	return w.value(t)
}

// own qualifies a name of the library, which a parameter or a member could hide.
func (w *writer) own(name string) string { return "::" + w.ns + "::" + name }

// literal returns a default as an expression of the type of a parameter.
func (w *writer) literal(v *face.Value, t *face.Type) string {
	bare := t.Bare()
	switch {
	case v.Kind == crossing.KindNone && t.Kind == crossing.KindOptional && bare.Kind != crossing.KindAny:
		return "std::nullopt"
	case v.Kind == crossing.KindNone:
		return "nullptr"
	case bare.Kind == crossing.KindEnum:
		return w.member(bare.Enum, v)
	}
	switch v.Kind {
	case crossing.KindBool:
		return v.Text
	case crossing.KindInt, crossing.KindDuration:
		return w.value(bare) + "{" + integer(v.Text, bare.Unsigned) + "}"
	case crossing.KindFloat:
		return w.float(v.Text, bare)
	case crossing.KindDataType:
		return "ffi::StringToDLDataType(" + quote(v.Text) + ")"
	case crossing.KindString:
		return quoteView(v.Text)
	}
	panic(fmt.Sprintf("cppface: no default of the kind %v", v.Kind))
}

// member returns the member of an enum with a value, or the value as the enum.
func (w *writer) member(e *face.Enum, v *face.Value) string {
	for i, m := range e.Members {
		if m.Value.Text == v.Text {
			return w.own(w.names[e]) + "::" + memberNames(e)[i]
		}
	}
	if e.Kind == crossing.KindString {
		return w.own(w.names[e]) + "(" + quote(v.Text) + ")"
	}
	return "static_cast<" + w.own(w.names[e]) + ">(" + integer(v.Text, false) + ")"
}

// memberNames returns the names of the members of an enum.
func memberNames(e *face.Enum) []string {
	s := newScope()
	if e.Kind == crossing.KindString {
		s = newScope("value", identifier(e.Name))
	}
	names := make([]string, len(e.Members))
	for i, m := range e.Members {
		names[i] = s.Claim(m.Name)
	}
	return names
}

// integer writes an integer as C++ reads it: a minus is an operator there, so that the
// least int64 has no literal.
func integer(text string, unsigned bool) string {
	if text == "-9223372036854775808" {
		return "std::numeric_limits<int64_t>::min()"
	}
	if _, err := strconv.ParseInt(text, 10, 64); err != nil || unsigned {
		return text + "u"
	}
	return text
}

// limits are the numbers that have no literal, of a type.
var limits = map[string]string{
	"NaN": "std::numeric_limits<%s>::quiet_NaN()", "+Inf": "std::numeric_limits<%s>::infinity()", "-Inf": "-std::numeric_limits<%s>::infinity()",
}

func (w *writer) float(text string, t *face.Type) string {
	if limit := limits[text]; limit != "" {
		return fmt.Sprintf(limit, w.value(t))
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
