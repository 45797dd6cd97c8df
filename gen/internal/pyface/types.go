package pyface

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
)

// ref returns the text of a name of another module, and imports it for annotations. The
// module "" stands for a module itself.
func (w *writer) ref(module, name string) string {
	text := name
	if w.taken[name] {
		text = w.private + "_" + name
		name += " as " + text
	}
	if w.imports[module] == nil {
		w.imports[module] = map[string]bool{}
	}
	w.imports[module][name] = true
	return text
}

// builtin returns the text of a builtin type.
func (w *writer) builtin(name string) string {
	if w.taken[name] {
		return w.ref("", "builtins") + "." + name
	}
	return name
}

func (w *writer) tvm(name string) string { return w.ref("", "tvm_ffi") + "." + name }

// protocol returns the name of the class that stands for tensors of all packages.
func (w *writer) protocol() string {
	if name := "_TensorLike"; !w.taken[name] {
		return name
	}
	return w.private + "_TensorLike"
}

// direction says who makes a value.
type direction int

const (
	given    direction = iota // an argument, or the result of a callback
	returned                  // a result after its conversion
	raw                       // what the library makes, as it is: in fields and for callbacks
)

func (w *writer) in(t *face.Type) string  { return w.typeText(t, given) }
func (w *writer) out(t *face.Type) string { return w.typeText(t, returned) }

// texts are the types of the kinds as arguments, as results and as the library makes them; one that is missing is the
// one before it. Words with $ are names of other modules, or words that word knows.
var texts = map[face.Kind][]string{
	face.KindNone: {"None"}, face.KindAny: {"$Any"}, face.KindBool: {"$bool"}, face.KindInt: {"$int"}, face.KindFloat: {"$float"},
	face.KindBigInt: {"$int"}, face.KindString: {"$str"}, face.KindBytes: {"$bytes | $bytearray", "$bytes"},
	face.KindDataType: {"$tvm_ffi.dtype | $str", "$tvm_ffi.dtype"}, face.KindDevice: {"$tvm_ffi.Device | $str", "$tvm_ffi.Device"},
	face.KindPointer: {"$ctypes.c_void_p | None"},

	face.KindTuple:    {"$tuple[$elems]", "$tuple[$elems]", "$Sequence[$Any]"},
	face.KindSequence: {"$Sequence[$elems]", "$list[$elems]", "$Sequence[$elems]"},
	face.KindMapping:  {"$Mapping[$elems]", "$dict[$elems]", "$Mapping[$elems]"},
	face.KindRecord:   {"$class", "$class", "$Mapping[$str, $Any]"},

	// Containers of tvm_ffi cross by reference: their elements are not converted.
	face.KindArray: {"$Sequence[$given0]", "$tvm_ffi.Array[$raw0]"}, face.KindList: {"$tvm_ffi.List[$raw0]"},
	face.KindMap: {"$Mapping[$given0, $given1]", "$tvm_ffi.Map[$raw0, $raw1]"}, face.KindDict: {"$tvm_ffi.Dict[$raw0, $raw1]"},

	face.KindShape: {"$tvm_ffi.Shape"}, face.KindTensor: {"$tensor", "$tvm_ffi.Tensor"}, face.KindModule: {"$tvm_ffi.Module"},
	face.KindObject: {"$tvm_ffi.Object"}, face.KindClass: {"$class"}, face.KindErrorValue: {"$Exception | $Error | None", "$Error | None"},
	face.KindFunction: {"$Callable[..., $Any]"},
	face.KindIterator: {"$Callable[[], $Any]", "$Generator[$elems, None, None]", "$Callable[[], $Any]"},
}

// modules are those of the names in texts that are not builtins.
var modules = map[string]string{
	"Any": "typing", "Error": "tvm_ffi.core", "ctypes": "", "tvm_ffi": "",
	"Callable": "collections.abc", "Generator": "collections.abc", "Mapping": "collections.abc", "Sequence": "collections.abc",
}

// typeText writes a type.
func (w *writer) typeText(t *face.Type, d direction) string {
	switch t.Kind {
	case face.KindOptional, face.KindUnion:
		all := w.elements(t, d)
		if t.Kind == face.KindOptional {
			all = append(all, "None")
		}
		return union(all)
	case face.KindEnum:
		return w.enumType(t.Enum, d)
	case face.KindCallable:
		return w.callable(t, d)
	}
	forms := texts[t.Kind]
	return os.Expand(forms[min(int(d), len(forms)-1)], func(word string) string { return w.word(t, d, word) })
}

func (w *writer) elements(t *face.Type, d direction) []string {
	var all []string
	for _, e := range t.Elems {
		all = append(all, w.typeText(e, d))
	}
	return all
}

// word returns the text of a word in texts. Elements that Go does not name are any values.
func (w *writer) word(t *face.Type, d direction, word string) string {
	module, imported := modules[word]
	switch name, i := word[:len(word)-1], int(word[len(word)-1]-'0'); {
	case imported:
		return w.ref(module, word)
	case word == "elems":
		return strings.Join(w.elements(t, d), ", ")
	case word == "class" && t.Kind == face.KindRecord:
		return w.names[t.Record]
	case word == "class":
		return w.names[t.Class]
	case word == "tensor":
		w.dlpack = true
		return w.protocol()
	case (name == "given" || name == "raw") && i >= len(t.Elems):
		return w.ref("typing", "Any")
	case name == "given":
		return w.typeText(t.Elems[i], given)
	case name == "raw":
		return w.typeText(t.Elems[i], raw)
	}
	return w.builtin(word)
}

// callable writes the type of a function. The arguments of a callback are not converted.
func (w *writer) callable(t *face.Type, d direction) string {
	params, result := raw, given
	if d != given {
		params, result = given, raw
	}
	var all []string
	for _, p := range t.Elems[1:] {
		all = append(all, w.typeText(p, params))
	}
	text := w.typeText(t.Elems[0], result)
	if d == given && t.Elems[0].Kind == face.KindNone {
		text = w.builtin("object") // the result is ignored
	}
	return fmt.Sprintf("%s[[%s], %s]", w.ref("collections.abc", "Callable"), strings.Join(all, ", "), text)
}

// enumType writes an enum. Its plain values are valid arguments.
func (w *writer) enumType(e *face.Enum, d direction) string {
	name, base := w.names[e], w.typeText(&face.Type{Kind: e.Kind}, d)
	switch {
	case d == raw:
		return base
	case d == returned:
		return name
	case e.Kind == face.KindInt:
		return name + " | " + base
	}
	var values []string
	for _, m := range e.Members {
		if text := value(m.Value); !slices.Contains(values, text) {
			values = append(values, text)
		}
	}
	return name + " | " + w.ref("typing", "Literal") + "[" + strings.Join(values, ", ") + "]"
}

// union joins types, each once, with None at the end.
func union(types []string) string {
	var all []string
	none := false
	for _, t := range types {
		if t == "None" || strings.HasSuffix(t, " | None") {
			none = true
			t = strings.TrimSuffix(strings.TrimSuffix(t, "None"), " | ")
		}
		if t != "" && !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	if none {
		all = append(all, "None")
	}
	return strings.Join(all, " | ")
}

// results writes the result of f.
func (w *writer) results(f *face.Function) string {
	switch {
	case f.Packed && len(f.Results) == 0:
		return w.ref("typing", "Any")
	case len(f.Results) == 0:
		return "None"
	case len(f.Results) == 1:
		return w.out(f.Results[0].Type)
	}
	if name := w.resultClass(f); name != "" {
		return name
	}
	var all []string
	for _, r := range f.Results {
		all = append(all, w.out(r.Type))
	}
	return w.builtin("tuple") + "[" + strings.Join(all, ", ") + "]"
}
