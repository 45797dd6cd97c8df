package rustface

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
)

// The paths below are complete, so that a type of Go may be called Option or String.
const (
	anyType   = "::tvm_ffi::Any"
	okValue   = "::std::result::Result::Ok"
	result    = "::tvm_ffi::Result"
	optionOf  = "::std::option::Option"
	objectRef = "::tvm_ffi::object::ObjectRef"
)

// kind says how the values of a kind of type cross. In the expressions, $e is a reference to a value, or to the Any; expand
// knows the other words.
type kind struct {
	value string // the type of a value that Rust owns
	ffi   string // the type of an element of an Array or a Map of the crate; it defaults to Any
	to    string // makes an Any, and may have ? inside; by default it shares the object
	from  string // makes a Result of a value; it defaults to library::get
	shows bool   // values implement Debug, if their elements do
	byRef bool   // a parameter is a reference
}

const copied = anyType + "::from($owned)"

// Kinds is the table of the kinds.
var Kinds = face.Table[kind]{
	face.KindNone: {value: "()", to: anyType + "::new()", from: "library::nothing($e)"},
	face.KindAny:  {value: anyType, to: "::std::clone::Clone::clone($e)", from: "library::same($e)"},

	face.KindBool:     {value: "bool", ffi: "$value", to: copied, shows: true},
	face.KindInt:      {value: "$number", ffi: "i64", to: copied, shows: true},
	face.KindFloat:    {value: "$number", ffi: "f64", to: copied, shows: true},
	face.KindBigInt:   {value: "::tvm_ffi::BigInt", ffi: "$value", shows: true},
	face.KindString:   {value: "::std::string::String", ffi: "::tvm_ffi::String", to: "library::text($e)", from: "library::string($e)", shows: true},
	face.KindBytes:    {value: "::std::vec::Vec<u8>", ffi: "::tvm_ffi::Bytes", to: "library::bytes($e)", from: "library::byte_vec($e)", shows: true},
	face.KindDataType: {value: "::tvm_ffi::DLDataType", ffi: "$value", to: copied},
	face.KindDevice:   {value: "::tvm_ffi::DLDevice", ffi: "$value", to: copied},
	face.KindPointer:  {value: "*mut ::std::ffi::c_void", to: copied},

	face.KindOptional: {value: optionOf + "<$value0>", to: "library::optional($place.as_ref(), $to0)?", from: "library::maybe($e, $from0)", shows: true},
	face.KindTuple: {value: "($values,)", to: "library::tuple(::std::vec![$tos])", shows: true,
		from: "library::elements::<$count>($e).and_then(|x| " + okValue + "(($froms,)))"},
	face.KindSequence: {value: "::std::vec::Vec<$value0>", to: "library::list($place.iter(), $to0)?", from: "library::vec($e, $from0)", shows: true},
	face.KindMapping: {value: "::std::collections::HashMap<$values>", to: "library::map($place.iter(), $to0, $to1)?", shows: true,
		from: "library::hash_map($e, $from0, $from1)"},
	face.KindRecord: {value: "$name", to: "$place.to_any()?", from: "$name::from_any($e)", shows: true, byRef: true},

	face.KindArray:    {value: "$ffi", ffi: "::tvm_ffi::Array<$ffi0>", shows: true, byRef: true},
	face.KindMap:      {value: "$ffi", ffi: "::tvm_ffi::Map<$ffi0, $ffi1>", shows: true, byRef: true},
	face.KindList:     {value: "library::List", to: "$place.to_any()", from: "$value::from_any($e)", byRef: true},
	face.KindDict:     {value: "library::Dict", to: "$place.to_any()", from: "$value::from_any($e)", byRef: true},
	face.KindShape:    {value: "::tvm_ffi::Shape", ffi: "$value"},
	face.KindTensor:   {value: "::tvm_ffi::Tensor", ffi: "$value", byRef: true},
	face.KindModule:   {value: "::tvm_ffi::Module", ffi: "$value", byRef: true},
	face.KindObject:   {value: objectRef, ffi: "$value"},
	face.KindClass:    {value: "$name", ffi: "$value", shows: true, byRef: true},
	face.KindFunction: {value: "::tvm_ffi::Function", ffi: "$value", byRef: true},
	face.KindEnum:     {value: "$name", ffi: "i64", to: anyType + "::from($place.0)", from: "library::get::<i64>($e).map($name)", shows: true},
	face.KindErrorValue: {value: optionOf + "<::tvm_ffi::Error>", to: "library::optional($place.as_ref(), |x| " + okValue + "(library::shared(x)))?",
		from: "library::maybe($e, library::get::<::tvm_ffi::Error>)", shows: true},
	face.KindCallable: {value: "::std::sync::Arc<dyn $signature>", to: "{ let f = ::std::clone::Clone::clone($e); $closure }", from: "$callee"},
	face.KindIterator: {value: "library::Seq<$value0>", to: "$place.to_any()", from: "library::Seq::from_any($e, $from0)", byRef: true},
}

// textEnum is the kind of an enum of strings.
var textEnum = kind{value: "$name", ffi: "::tvm_ffi::String", to: "library::text($place.as_str())", from: "library::string($e).map($name::from)", shows: true, byRef: true}

func kindOf(t *face.Type) kind {
	k := Kinds.Row(t.Kind)
	switch {
	case t.Kind == face.KindEnum && t.Enum.Kind == face.KindString:
		return textEnum
	case t.Kind == face.KindInt && number(t) != "i64":
		k.from = "library::integer::<$number>($e)"
		if number(t) == "u64" {
			k.to = "library::unsigned($owned)?"
		}
	}
	k.ffi, k.to, k.from = cmp.Or(k.ffi, anyType), cmp.Or(k.to, "library::shared($e)"), cmp.Or(k.from, "library::get::<$value>($e)")
	return k
}

// expand replaces the words of a text of a kind. A digit at the end of a word means an element of t.
func (w *writer) expand(t *face.Type, text, e string) string {
	each := func(f func(*face.Type, string) string, format string) string {
		var texts []string
		for i, of := range t.Elems {
			texts = append(texts, f(of, fmt.Sprintf(format, i)))
		}
		return strings.Join(texts, ", ")
	}
	return os.Expand(text, func(word string) string {
		if name := strings.TrimRight(word, "01"); name != word {
			i := int(word[len(name)] - '0')
			switch {
			case name == "ffi" && i >= len(t.Elems):
				return anyType
			case name == "ffi":
				return w.ffi(t.Elems[i])
			case name == "value":
				return w.value(t.Elems[i])
			case name == "to":
				return function(ok(w.to(t.Elems[i], "x")))
			}
			return w.mapper(t.Elems[i])
		}
		switch word {
		case "e":
			return e
		case "place":
			return place(e)
		case "owned":
			return owned(e)
		case "value":
			return w.value(t)
		case "ffi":
			return w.ffi(t)
		case "number":
			return number(t)
		case "name":
			return w.names[t.Record] + w.names[t.Class] + w.names[t.Enum] // one of them is there
		case "values":
			return w.list(t.Elems, w.value)
		case "count":
			return strconv.Itoa(len(t.Elems))
		case "tos":
			return each(w.to, "&"+place(e)+".%d")
		case "froms":
			return each(func(of *face.Type, e string) string { return w.from(of, e) + "?" }, "&x[%d]")
		case "signature":
			return w.signature(t)
		case "closure":
			return w.closure(t)
		}
		return w.callee(t, e)
	})
}

func (w *writer) value(t *face.Type) string { return w.expand(t, kindOf(t).value, "") }

func (w *writer) ffi(t *face.Type) string { return w.expand(t, kindOf(t).ffi, "") }

// to returns an expression that makes an Any of e, which is a reference to a value. It may have ? inside.
func (w *writer) to(t *face.Type, e string) string { return w.expand(t, kindOf(t).to, e) }

// from returns an expression that makes a Result of a value of e, which is a &Any.
func (w *writer) from(t *face.Type, e string) string { return w.expand(t, kindOf(t).from, e) }

// number returns a type such as u8 or f64.
func number(t *face.Type) string {
	letter := "i"
	switch {
	case t.Kind == face.KindFloat:
		letter = "f"
	case t.Unsigned:
		letter = "u"
	}
	if t.Bits == 0 {
		return letter + "64"
	}
	return fmt.Sprintf("%s%d", letter, t.Bits)
}

func (w *writer) list(types []*face.Type, f func(*face.Type) string) string {
	var texts []string
	for _, t := range types {
		texts = append(texts, f(t))
	}
	return strings.Join(texts, ", ")
}

// signature returns the trait of a closure that other threads may call.
func (w *writer) signature(t *face.Type) string {
	return fmt.Sprintf("Fn(%s) -> %s<%s> + Send + Sync + 'static", w.list(t.Elems[1:], w.value), result, w.value(t.Elems[0]))
}

// ok returns an expression that makes a Result of e, which may have ? at its end.
func ok(e string) string {
	if call, found := strings.CutSuffix(e, ")?"); found {
		return call + ")"
	}
	return okValue + "(" + e + ")"
}

// place returns the value behind the reference e, for a field or a method of it.
func place(e string) string { return strings.TrimPrefix(e, "&") }

// mapper returns a function that makes a Result of a value of type t from a &Any.
func (w *writer) mapper(t *face.Type) string {
	return function(w.from(t, "x"))
}

// function returns a function that makes e of x.
func function(e string) string {
	if path, found := strings.CutSuffix(e, "(x)"); found && !strings.ContainsAny(path, "(|{") {
		return path
	}
	return "|x| " + e
}

// owned returns the expression without the & before it, or the value behind it.
func owned(e string) string {
	if rest, ok := strings.CutPrefix(e, "&"); ok {
		return rest
	}
	return "*" + e
}

// closure returns an expression that makes an Any of f, a closure with the signature of t.
func (w *writer) closure(t *face.Type) string {
	var args []string
	for i, of := range t.Elems[1:] {
		args = append(args, w.from(of, fmt.Sprintf("&args[%d]", i))+"?")
	}
	name, value := "args", "let result = f("+strings.Join(args, ", ")+")?; "+ok(w.to(t.Elems[0], "&result"))
	if len(args) == 0 {
		name = "_"
	}
	if t.Elems[0].Kind == face.KindNone {
		value = "f(" + strings.Join(args, ", ") + ")?; " + ok(w.to(t.Elems[0], ""))
	}
	return fmt.Sprintf("library::function::<%d>(move |%s| { %s })", len(args), name, value)
}

// callee returns an expression that makes a closure which calls the function in e.
func (w *writer) callee(t *face.Type, e string) string {
	var params, args []string
	for i, of := range t.Elems[1:] {
		params = append(params, fmt.Sprintf("a%d: %s", i, w.value(of)))
		args = append(args, w.to(of, fmt.Sprintf("&a%d", i)))
	}
	call := "&library::call(&f, [" + strings.Join(args, ", ") + "])?"
	return fmt.Sprintf("library::get::<::tvm_ffi::Function>(%s).map(|f| ::std::sync::Arc::new(move |%s| -> %s<%s> { %s }) as %s)",
		e, strings.Join(params, ", "), result, w.value(t.Elems[0]), w.from(t.Elems[0], call), w.value(t))
}
