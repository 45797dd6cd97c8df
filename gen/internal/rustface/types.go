package rustface

import (
	"fmt"
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

// plain are the kinds whose type of the crate is used as it is.
var plain = map[face.Kind]string{
	face.KindAny: anyType, face.KindUnion: anyType,
	face.KindBool: "bool", face.KindBigInt: "::tvm_ffi::BigInt", face.KindString: "::std::string::String", face.KindBytes: "::std::vec::Vec<u8>",
	face.KindDataType: "::tvm_ffi::DLDataType", face.KindDevice: "::tvm_ffi::DLDevice", face.KindPointer: "*mut ::std::ffi::c_void",
	face.KindList: "library::List", face.KindDict: "library::Dict",
	face.KindShape: "::tvm_ffi::Shape", face.KindTensor: "::tvm_ffi::Tensor", face.KindModule: "::tvm_ffi::Module",
	face.KindObject: objectRef, face.KindFunction: "::tvm_ffi::Function",
	face.KindErrorValue: optionOf + "<::tvm_ffi::Error>",
}

// value returns the type of a value that Rust owns.
func (w *writer) value(t *face.Type) string {
	if text := plain[t.Kind]; text != "" {
		return text
	}
	switch t.Kind {
	case face.KindNone:
		return "()"
	case face.KindInt, face.KindFloat:
		return number(t)
	case face.KindOptional:
		return optionOf + "<" + w.value(t.Elems[0]) + ">"
	case face.KindTuple:
		return "(" + w.list(t.Elems, w.value) + ",)"
	case face.KindSequence:
		return "::std::vec::Vec<" + w.value(t.Elems[0]) + ">"
	case face.KindMapping:
		return "::std::collections::HashMap<" + w.list(t.Elems, w.value) + ">"
	case face.KindArray, face.KindMap:
		return w.ffi(t)
	case face.KindRecord:
		return w.names[t.Record]
	case face.KindClass:
		return w.names[t.Class]
	case face.KindEnum:
		return w.names[t.Enum]
	case face.KindCallable:
		return "::std::sync::Arc<dyn " + w.signature(t) + ">"
	case face.KindIterator:
		return "library::Seq<" + w.value(t.Elems[0]) + ">"
	}
	panic(fmt.Sprintf("rustface: kind %d", t.Kind)) // a Kind that the test would have found
}

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

// ffi returns the type of an element of an Array or a Map of the crate.
func (w *writer) ffi(t *face.Type) string {
	switch t.Kind {
	case face.KindInt:
		return "i64"
	case face.KindFloat:
		return "f64"
	case face.KindBool, face.KindBigInt, face.KindDataType, face.KindDevice, face.KindShape, face.KindTensor, face.KindModule,
		face.KindObject, face.KindFunction, face.KindClass:
		return w.value(t)
	case face.KindString:
		return "::tvm_ffi::String"
	case face.KindBytes:
		return "::tvm_ffi::Bytes"
	case face.KindArray:
		if len(t.Elems) == 1 {
			return "::tvm_ffi::Array<" + w.ffi(t.Elems[0]) + ">"
		}
		return "::tvm_ffi::Array<" + anyType + ">"
	case face.KindMap:
		if len(t.Elems) == 2 {
			return "::tvm_ffi::Map<" + w.list(t.Elems, w.ffi) + ">"
		}
		return "::tvm_ffi::Map<" + anyType + ", " + anyType + ">"
	case face.KindEnum:
		if t.Enum.Kind == face.KindString {
			return "::tvm_ffi::String"
		}
		return "i64"
	}
	return anyType
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

// to returns an expression that makes an Any of e, which is a reference to a value. It
// may have ? inside.
func (w *writer) to(t *face.Type, e string) string {
	closure := func(of *face.Type) string { return function(ok(w.to(of, "x"))) }
	switch t.Kind {
	case face.KindNone:
		return anyType + "::new()"
	case face.KindAny, face.KindUnion:
		return "::std::clone::Clone::clone(" + e + ")"
	case face.KindBool, face.KindFloat, face.KindDataType, face.KindDevice, face.KindPointer:
		return anyType + "::from(" + owned(e) + ")"
	case face.KindInt:
		if t.Unsigned && (t.Bits == 64 || t.Bits == 0) {
			return "library::unsigned(" + owned(e) + ")?"
		}
		return anyType + "::from(" + owned(e) + ")"
	case face.KindString:
		return "library::text(" + e + ")"
	case face.KindBytes:
		return "library::bytes(" + e + ")"
	case face.KindOptional:
		return "library::optional(" + place(e) + ".as_ref(), " + closure(t.Elems[0]) + ")?"
	case face.KindErrorValue:
		return "library::optional(" + place(e) + ".as_ref(), |x| " + okValue + "(library::shared(x)))?"
	case face.KindTuple:
		var elems []string
		for i, of := range t.Elems {
			elems = append(elems, w.to(of, fmt.Sprintf("&%s.%d", place(e), i)))
		}
		return "library::tuple(::std::vec![" + strings.Join(elems, ", ") + "])"
	case face.KindSequence:
		return "library::list(" + place(e) + ".iter(), " + closure(t.Elems[0]) + ")?"
	case face.KindMapping:
		return "library::map(" + place(e) + ".iter(), " + closure(t.Elems[0]) + ", " + closure(t.Elems[1]) + ")?"
	case face.KindRecord:
		return place(e) + ".to_any()?"
	case face.KindEnum:
		if t.Enum.Kind == face.KindString {
			return "library::text(" + place(e) + ".as_str())"
		}
		return anyType + "::from(" + place(e) + ".0)"
	case face.KindList, face.KindDict, face.KindIterator:
		return place(e) + ".to_any()"
	case face.KindCallable:
		return "{ let f = ::std::clone::Clone::clone(" + e + "); " + w.closure(t) + " }"
	}
	return "library::shared(" + e + ")"
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

// from returns an expression that makes a Result of a value of e, which is a &Any.
func (w *writer) from(t *face.Type, e string) string {
	switch t.Kind {
	case face.KindNone:
		return "library::nothing(" + e + ")"
	case face.KindAny, face.KindUnion:
		return "library::same(" + e + ")"
	case face.KindInt:
		if n := number(t); n != "i64" {
			return "library::integer::<" + n + ">(" + e + ")"
		}
		return "library::get::<i64>(" + e + ")"
	case face.KindString:
		return "library::string(" + e + ")"
	case face.KindBytes:
		return "library::byte_vec(" + e + ")"
	case face.KindOptional:
		return "library::maybe(" + e + ", " + w.mapper(t.Elems[0]) + ")"
	case face.KindErrorValue:
		return "library::maybe(" + e + ", library::get::<::tvm_ffi::Error>)"
	case face.KindTuple:
		var elems []string
		for i, of := range t.Elems {
			elems = append(elems, w.from(of, fmt.Sprintf("&x[%d]", i))+"?")
		}
		return fmt.Sprintf("library::elements::<%d>(%s).and_then(|x| %s((%s,)))", len(elems), e, okValue, strings.Join(elems, ", "))
	case face.KindSequence:
		return "library::vec(" + e + ", " + w.mapper(t.Elems[0]) + ")"
	case face.KindMapping:
		return "library::hash_map(" + e + ", " + w.mapper(t.Elems[0]) + ", " + w.mapper(t.Elems[1]) + ")"
	case face.KindRecord:
		return w.names[t.Record] + "::from_any(" + e + ")"
	case face.KindEnum:
		if t.Enum.Kind == face.KindString {
			return "library::string(" + e + ").map(" + w.names[t.Enum] + "::from)"
		}
		return "library::get::<i64>(" + e + ").map(" + w.names[t.Enum] + ")"
	case face.KindList, face.KindDict:
		return w.value(t) + "::from_any(" + e + ")"
	case face.KindCallable:
		return w.callee(t, e)
	case face.KindIterator:
		return "library::Seq::from_any(" + e + ", " + w.mapper(t.Elems[0]) + ")"
	}
	return "library::get::<" + w.value(t) + ">(" + e + ")"
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
