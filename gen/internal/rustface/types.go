package rustface

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// The paths below are complete, so that a type of Go may be called Option or String.
const (
	anyType   = "::tvm_ffi::Any"
	okValue   = "::std::result::Result::Ok"
	result    = "::tvm_ffi::Result"
	optionOf  = "::std::option::Option"
	objectRef = "::tvm_ffi::object::ObjectRef"
)

// kind says how the values of a kind of type cross. In the expressions, $e is a reference to a value, or to the Values
// that one is taken from; expand knows the other words.
type kind struct {
	value string // the type of a value that Rust owns
	ffi   string // the type of an element of an Array or a Map of the crate; it defaults to Any
	to    string // makes an Any, and may have ? inside; by default it shares the object
	from  string // makes a Result of a value; it defaults to library::get
	param string // the type of a parameter; it defaults to $value
	give  string // makes an Any of a parameter $e; it defaults to what to makes of a reference
	item  string // the type of an element that a caller gives; it defaults to $value
	shows bool   // values implement Debug, if their elements do
}

const (
	copied    = anyType + "::from($owned)"
	reference = "&$value"
	iterator  = "impl ::std::iter::IntoIterator<Item = "
)

// Kinds is the table of the kinds.
var Kinds = face.Table[kind]{
	crossing.KindNone: {value: "()", to: anyType + "::new()", from: "library::nothing($e)"},
	crossing.KindAny: {value: anyType, to: "::std::clone::Clone::clone($e)", from: "library::same($e)",
		param: "impl ::std::convert::Into<" + anyType + ">", give: "library::given($e)"},

	crossing.KindBool:  {value: "bool", ffi: "$value", to: copied, shows: true},
	crossing.KindInt:   {value: "$number", ffi: "i64", to: copied, shows: true},
	crossing.KindFloat: {value: "$number", ffi: "f64", to: copied, shows: true},
	crossing.KindComplex: {value: "($values,)", to: "library::tuple(::std::vec![$tos])", shows: true,
		from: "library::elements($e, $count, |x| " + okValue + "(($froms,)))"},
	crossing.KindBigInt: {value: "::tvm_ffi::BigInt", ffi: "$value", shows: true,
		param: "impl ::std::convert::Into<$value>", give: anyType + "::from(::std::convert::Into::<$value>::into($e))"},
	crossing.KindString: {value: "::std::string::String", ffi: "::tvm_ffi::String", to: "library::text($e)", from: "library::string($e)", shows: true,
		param: "&str", item: "impl ::std::convert::AsRef<str>"},
	crossing.KindBytes: {value: "::std::vec::Vec<u8>", ffi: "::tvm_ffi::Bytes", to: "library::bytes($e)", from: "library::byte_vec($e)", shows: true,
		param: "&[u8]", item: "impl ::std::convert::AsRef<[u8]>"},
	crossing.KindDuration: {value: "::std::time::Duration", ffi: "i64", to: "library::nanoseconds($owned)?", from: "library::duration($e)", shows: true},
	crossing.KindTime:     {value: "::std::time::SystemTime", to: "library::time($owned)?", from: "library::system_time($e)", shows: true},
	crossing.KindDataType: {value: "::tvm_ffi::DLDataType", ffi: "$value", to: copied},
	crossing.KindDevice:   {value: "::tvm_ffi::DLDevice", ffi: "$value", to: copied},
	crossing.KindPointer:  {value: "*mut ::std::ffi::c_void", to: copied},

	crossing.KindOptional: {value: optionOf + "<$value0>", to: "library::optional($place.as_ref(), $to0)?", from: "library::maybe($e, $from0)", shows: true,
		param: optionOf + "<$some0>", give: "library::optional($e, $give0)?"},
	crossing.KindTuple: {value: "($values,)", to: "library::tuple(::std::vec![$tos])", shows: true,
		from: "library::elements($e, $count, |x| " + okValue + "(($froms,)))"},
	crossing.KindSequence: {value: "::std::vec::Vec<$value0>", to: "library::list($place.iter(), $to0)?", from: "library::vec($e, $from0)", shows: true,
		param: iterator + "$item0>", give: "library::list($e, $each0)?"},
	crossing.KindMapping: {value: "::std::collections::HashMap<$values>", to: "library::map($place.iter(), $to0, $to1)?", shows: true,
		from: "library::hash_map($e, $from0, $from1)", param: iterator + "($item0, $item1)>", give: "library::map($e, $each0, $each1)?"},
	crossing.KindSet: {value: "::std::collections::HashSet<$value0>", to: "library::list($place.iter(), $to0)?", from: "library::hash_set($e, $from0)", shows: true,
		param: iterator + "$item0>", give: "library::list($e, $each0)?"},
	crossing.KindRecord: {value: "$name", to: "$place.to_any()?", from: "$name::from_any($e)", param: reference, shows: true},

	crossing.KindArray:    {value: "$ffi", ffi: "::tvm_ffi::Array<$ffi0>", param: reference, shows: true},
	crossing.KindMap:      {value: "$ffi", ffi: "::tvm_ffi::Map<$ffi0, $ffi1>", param: reference, shows: true},
	crossing.KindList:     {value: "library::List", to: "$place.to_any()", from: "$value::from_any($e)", param: reference},
	crossing.KindDict:     {value: "library::Dict", to: "$place.to_any()", from: "$value::from_any($e)", param: reference},
	crossing.KindShape:    {value: "::tvm_ffi::Shape", ffi: "$value", param: "&[i64]", give: anyType + "::from($value::from($e))"},
	crossing.KindTensor:   {value: "::tvm_ffi::Tensor", ffi: "$value", param: reference},
	crossing.KindModule:   {value: "::tvm_ffi::Module", ffi: "$value", param: reference},
	crossing.KindObject:   {value: objectRef, ffi: "$value", param: "&(impl ::tvm_ffi::ObjectRefCore + ::tvm_ffi::AnyCompatible)"},
	crossing.KindClass:    {value: "$name", ffi: "$value", param: reference, shows: true},
	crossing.KindFunction: {value: "::tvm_ffi::Function", ffi: "$value", param: reference},
	crossing.KindEnum:     {value: "$name", ffi: "i64", to: anyType + "::from($place.0)", from: "library::get::<i64>($e).map($name)", shows: true},
	crossing.KindError: {value: optionOf + "<::tvm_ffi::Error>", to: "library::optional($place.as_ref(), |x| " + okValue + "(library::shared(x)))?",
		from:  "library::maybe($e, library::get::<::tvm_ffi::Error>)",
		param: optionOf + "<&::tvm_ffi::Error>", give: "library::optional($e, |x| " + okValue + "(library::shared(x)))?", shows: true},
	crossing.KindCallable: {value: "::std::sync::Arc<dyn $signature>", to: "{ let f = ::std::clone::Clone::clone($e); $closure }", from: "$callee",
		param: "impl $signature", give: "{ let f = $e; $closure }"},
	crossing.KindIterator: {value: "library::Seq<$value0>", to: "$place.to_any()", from: "library::Seq::from_any($e, $from0)", param: reference},
}

// textEnum is the kind of an enum of strings.
var textEnum = kind{value: "$name", ffi: "::tvm_ffi::String", to: "library::text($place.as_str())", from: "library::string($e).map($name::from)", param: reference, shows: true}

func kindOf(t *face.Type) kind {
	k := Kinds.Row(t.Kind)
	switch {
	case t.Kind == crossing.KindEnum && t.Enum.Kind == crossing.KindString:
		k = textEnum
	case t.Kind == crossing.KindInt && number(t) != "i64":
		k.from = "library::integer::<$number>($e)"
		if t.Wide() {
			k.to, k.from = "library::unsigned($owned)", "library::number($e)"
		}
	case t.Wide(): // an enum
		k.to, k.from = "library::unsigned($place.0)", "library::number($e).map($name)"
	}
	k.ffi, k.to, k.from = cmp.Or(k.ffi, anyType), cmp.Or(k.to, "library::shared($e)"), cmp.Or(k.from, "library::get::<$value>($e)")
	k.param, k.item = cmp.Or(k.param, "$value"), cmp.Or(k.item, "$value")
	return k
}

// some returns the type of a parameter inside an Option, and the reference to one that its conversion takes. The type is a
// complete one: the compiler could not infer the type of a bare None.
func (k kind) some() (typ, e string) {
	if k.give == "" && strings.HasPrefix(k.param, "&") && !strings.Contains(k.param, "impl") {
		return k.param, "x"
	}
	return "$value", "&x"
}

// expand replaces the words of a text of a kind.
func (w *writer) expand(t *face.Type, text, e string) string {
	return face.Expand(t, text, func(t *face.Type, word string) string {
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
			return w.expand(t, kindOf(t).ffi, "")
		case "some":
			typ, _ := kindOf(t).some()
			return w.expand(t, typ, "")
		case "item":
			return w.item(t)
		case "number":
			return number(t)
		case "name":
			return w.names[t.Record] + w.names[t.Class] + w.names[t.Enum] // one of them is there
		case "values":
			return face.List(t.Elems, w.value)
		case "count":
			return strconv.Itoa(len(t.Elems))
		case "to": // of a reference
			return w.maker(t, "x")
		case "each": // of a value
			return w.maker(t, "&x")
		case "give": // of a value in an Option
			_, x := kindOf(t).some()
			return w.maker(t, x)
		case "tos":
			i := -1
			return face.List(t.Elems, func(of *face.Type) string { i++; return w.to(of, fmt.Sprintf("&%s.%d", place(e), i)) })
		case "from":
			return w.mapper(t)
		case "froms":
			return face.List(t.Elems, func(of *face.Type) string { return w.from(of, "x") + "?" })
		case "signature": // the trait of a closure that other threads may call
			return fmt.Sprintf("Fn(%s) -> %s<%s> + Send + Sync + 'static", face.List(t.Elems[1:], w.value), result, w.value(t.Elems[0]))
		case "closure":
			return w.closure(t)
		}
		return w.callee(t, e)
	})
}

func (w *writer) value(t *face.Type) string { return w.expand(t, kindOf(t).value, "") }

// item returns the type of an element that a caller gives.
func (w *writer) item(t *face.Type) string { return w.expand(t, kindOf(t).item, "") }

// param returns the type of a parameter and an expression that makes an Any of it.
func (w *writer) param(t *face.Type, name string) (typ, expr string) {
	k := kindOf(t)
	typ = w.expand(t, k.param, "")
	switch {
	case k.give != "":
		return typ, w.expand(t, k.give, name)
	case typ[0] == '&':
		return typ, w.to(t, name)
	}
	return typ, w.to(t, "&"+name)
}

// to returns an expression that makes an Any of e, which is a reference to a value. It may have ? inside.
func (w *writer) to(t *face.Type, e string) string { return w.expand(t, kindOf(t).to, e) }

// from returns an expression that makes a Result of a value of e, which is a &mut Values.
func (w *writer) from(t *face.Type, e string) string { return w.expand(t, kindOf(t).from, e) }

// number returns a type such as u8 or f64.
func number(t *face.Type) string {
	letter := "i"
	switch {
	case t.Kind == crossing.KindFloat:
		letter = "f"
	case t.Unsigned:
		letter = "u"
	}
	if t.Bits == 0 {
		return letter + "64"
	}
	return fmt.Sprintf("%s%d", letter, t.Bits)
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

// mapper returns a function that makes a Result of a value of type t from a &mut Values.
func (w *writer) mapper(t *face.Type) string {
	return function(w.from(t, "x"))
}

// maker returns a function that makes a Result of an Any of x.
func (w *writer) maker(t *face.Type, x string) string { return function(ok(w.to(t, x))) }

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
		args = append(args, w.from(of, fmt.Sprintf("&mut library::Values::of(&args[%d])", i))+"?")
	}
	name, value := "args", "let result = f("+strings.Join(args, ", ")+")?; "+ok(w.to(t.Elems[0], "&result"))
	if len(args) == 0 {
		name = "_"
	}
	if t.Elems[0].Kind == crossing.KindNone {
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
	call := fmt.Sprintf("library::call(&f, %t, [%s], %s)", flat(t.Elems[0]), strings.Join(args, ", "), w.mapper(t.Elems[0]))
	return fmt.Sprintf("library::get::<::tvm_ffi::Function>(%s).map(|f| ::std::sync::Arc::new(move |%s| -> %s<%s> { %s }) as %s)",
		e, strings.Join(params, ", "), result, w.value(t.Elems[0]), call, w.value(t))
}

// flat reports whether Rust takes results of type t apart, so that the library may return them in flat form.
func flat(t *face.Type) bool {
	switch t = t.Bare(); t.Kind {
	case crossing.KindString, crossing.KindBytes, crossing.KindSequence, crossing.KindMapping, crossing.KindTuple, crossing.KindRecord, crossing.KindTime, crossing.KindComplex, crossing.KindSet:
		return true
	}
	return false
}
