package pyface

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// ref returns the text of a name of another module, and imports it for annotations. The
// module "" stands for a module itself.
func (w *writer) ref(module, name string) string {
	text := name
	if w.taken[name] {
		text = private + "_" + name
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
func (w *writer) protocol() string { return w.protocolName("_TensorLike") }

// protocolName returns the name of a class of the stub that stands for classes of all packages.
func (w *writer) protocolName(name string) string {
	if !w.taken[name] {
		return name
	}
	return private + name
}

// arrays returns the name of the class that stands for arrays of numbers of all packages.
func (w *writer) arrays() string {
	w.numbers = true
	return w.protocolName("_ArrayLike")
}

// direction says who makes a value.
type direction int

const (
	given    direction = iota // an argument, or the result of a callback
	passed                    // the same where an array may stand for a slice of numbers
	returned                  // a result after its conversion
	received                  // what a callback gets
	raw                       // what the library makes, as it is, in fields
)

func (w *writer) in(t *face.Type) string  { return w.typeText(t, given) }
func (w *writer) out(t *face.Type) string { return w.typeText(t, returned) }

// kind says how the values of a kind of type cross.
type kind struct {
	// Types, as arguments, as results and as the library makes them; one that is missing is the one before it. Words with $
	// are names of other modules, or words that word knows.
	given, returned, raw string
	// to is the function of _tvmffi, or of _values if it has a point, that converts a result. class is set if C cannot do it,
	// because the value has a class of Python.
	to    string
	class bool
	// from is the function of _values that converts an argument.
	from string
	// c is the letter for _face of an argument that C converts. It is empty if code of Python does.
	c string
	// container is set if an argument is a list, a tuple or a dict.
	container bool
	// native is set if values have a class of Python, also in fields and callbacks. alone is set if the functions that convert
	// a value know all of it, so that they need none for what is inside.
	native, alone bool
}

// Kinds is the table of the kinds. Containers of tvm_ffi cross by reference: their elements are not converted.
var Kinds = face.Table[kind]{
	crossing.KindNone: {given: "None"}, crossing.KindAny: {given: "$Any", to: "to_any", from: "from_any", c: "v"},
	crossing.KindBool: {given: "$bool", c: "v"}, crossing.KindInt: {given: "$int", c: "v"}, crossing.KindFloat: {given: "$float", c: "v"},
	crossing.KindComplex: {given: "$complex", raw: "$Sequence[$float]", to: "_values.to_complex", class: true, from: "from_complex", native: true, alone: true},
	crossing.KindBigInt:  {given: "$int", c: "v"}, crossing.KindString: {given: "$str", c: "s"},
	crossing.KindBytes:    {given: "$bytes | $bytearray | $buffer | $arrays", returned: "$bytes", from: "from_bytes", c: "v", alone: true},
	crossing.KindDuration: {given: "$timedelta", raw: "$int", to: "_values.to_duration", class: true, from: "from_duration", native: true, alone: true},
	crossing.KindTime:     {given: "$datetime", raw: "$Sequence[$int]", to: "_values.to_time", class: true, from: "from_time", native: true, alone: true},
	crossing.KindDataType: {given: "$tvm_ffi.dtype | $str", returned: "$tvm_ffi.dtype"},
	crossing.KindDevice:   {given: "$tvm_ffi.Device | $str", returned: "$tvm_ffi.Device"},
	crossing.KindPointer:  {given: "$ctypes.c_void_p | None"},
	crossing.KindOptional: {given: "$optional", to: "to_optional", from: "from_optional"},
	crossing.KindTuple:    {given: "$tuple[$elems]", raw: "$Sequence[$Any]", to: "to_tuple", from: "from_tuple", c: "v", container: true},
	crossing.KindSequence: {given: "$Sequence[$elems]", returned: "$list[$elems]", raw: "$Sequence[$elems]", to: "to_list", from: "from_list", c: "n", container: true},
	crossing.KindMapping:  {given: "$Mapping[$elems]", returned: "$dict[$elems]", raw: "$Mapping[$elems]", to: "to_dict", from: "from_dict", c: "v", container: true},
	crossing.KindSet:      {given: "$Set[$elems]", returned: "$set[$elems]", raw: "$Sequence[$elems]", to: "_values.to_set", class: true, from: "from_set", native: true},
	crossing.KindRecord:   {given: "$class", raw: "$Mapping[$str, $Any]", to: "to_record", from: "from_record", c: "v", container: true},
	crossing.KindArray:    {given: "$Sequence[$given0]", returned: "$tvm_ffi.Array[$raw0]", from: "from_list", c: "v", container: true},
	crossing.KindList:     {given: "$tvm_ffi.List[$raw0]"},
	crossing.KindMap:      {given: "$Mapping[$given0, $given1]", returned: "$tvm_ffi.Map[$raw0, $raw1]", from: "from_dict", c: "v", container: true},
	crossing.KindDict:     {given: "$tvm_ffi.Dict[$raw0, $raw1]"},
	crossing.KindShape:    {given: "$tvm_ffi.Shape", c: "v"},
	crossing.KindTensor:   {given: "$tensor", returned: "$tvm_ffi.Tensor"}, crossing.KindModule: {given: "$tvm_ffi.Module"},
	crossing.KindObject: {given: "$tvm_ffi.Object"}, crossing.KindClass: {given: "$class", c: "o"},
	crossing.KindEnum:     {given: "$enum", returned: "$class", raw: "$base", to: "to_enum", class: true, from: "from_enum"},
	crossing.KindError:    {given: "$Exception | $Error | None", returned: "$Error | None"},
	crossing.KindCallable: {given: "$callable", to: "_values.to_function", class: true, from: "from_function", c: "f"},
	crossing.KindFunction: {given: "$Callable[..., $Any]", to: "checked", class: true, c: "f"},
	crossing.KindIterator: {
		given: "$Callable[[], $Any]", returned: "$Generator[$elems, None, None]", raw: "$Callable[[], $Any]", to: "to_iterator", class: true,
	},
}

// modules are those of the names in texts that are not builtins.
var modules = map[string]string{
	"Any": "typing", "Error": "tvm_ffi.core", "ctypes": "", "tvm_ffi": "",
	"Callable": "collections.abc", "Generator": "collections.abc", "Mapping": "collections.abc", "Sequence": "collections.abc", "Set": "collections.abc",
	"datetime": "datetime", "timedelta": "datetime",
}

// typeText writes a type.
func (w *writer) typeText(t *face.Type, d direction) string {
	k := Kinds.Row(t.Kind)
	switch {
	case t.Lent && d == returned:
		k.returned = "$Any" // NumPy need not be installed
	case d != passed:
	case t.Lent:
		k.given += " | $Sequence[$elems] | $arrays"
	case arrayDepth(t) > 0 && t.Kind == crossing.KindSequence:
		k.given += " | $arrays"
	}
	if d == received && (t.Kind == crossing.KindEnum || t.Kind == crossing.KindIterator) {
		k.returned = k.raw
	}
	text := [...]string{
		given: k.given, passed: k.given, returned: cmp.Or(k.returned, k.given), received: cmp.Or(k.returned, k.given), raw: cmp.Or(k.raw, k.returned, k.given),
	}[d]
	return face.Expand(t, text, func(t *face.Type, word string) string { return w.word(t, d, word) })
}

// word returns the text of a word in Kinds.
func (w *writer) word(t *face.Type, d direction, word string) string {
	if module, imported := modules[word]; imported {
		return w.ref(module, word)
	}
	switch word {
	case "given":
		return w.typeText(t, given)
	case "raw":
		return w.typeText(t, raw)
	case "elems":
		return w.list(t.Elems, d)
	case "class":
		return w.names[t.Record] + w.names[t.Class] + w.names[t.Enum] // one of them is there
	case "base":
		return w.typeText(&face.Type{Kind: t.Enum.Kind}, raw)
	case "enum":
		return w.enumType(t.Enum)
	case "callable":
		return w.callable(t, d)
	case "optional":
		return strings.TrimSuffix(w.typeText(t.Elems[0], d), " | None") + " | None"
	case "arrays":
		return w.arrays()
	case "buffer":
		w.buffers = true
		return w.protocolName("_BufferLike")
	case "tensor":
		w.dlpack = true
		return w.protocol()
	}
	return w.builtin(word)
}

func (w *writer) list(types []*face.Type, d direction) string {
	return face.List(types, func(t *face.Type) string { return w.typeText(t, d) })
}

// callable writes the type of a function.
func (w *writer) callable(t *face.Type, d direction) string {
	params, result := received, d
	if d == returned || d == received || d == raw {
		params, result = given, raw
		if d == returned {
			params = passed
		}
	}
	text := func(t *face.Type, d direction) string {
		if (d == received || d == raw) && converted(t) {
			d = returned
		}
		return w.typeText(t, d)
	}
	value := text(t.Elems[0], result)
	if params == received && t.Elems[0].Kind == crossing.KindNone {
		value = w.builtin("object") // the result is ignored
	}
	return fmt.Sprintf("%s[[%s], %s]", w.ref("collections.abc", "Callable"), face.List(t.Elems[1:], func(t *face.Type) string { return text(t, params) }), value)
}

// enumType writes an enum as an argument. Its plain values are valid ones.
func (w *writer) enumType(e *face.Enum) string {
	if e.Kind == crossing.KindInt {
		return w.names[e] + " | " + w.builtin("int")
	}
	var values []string
	for _, m := range e.Members {
		if text := value(m.Value); !slices.Contains(values, text) {
			values = append(values, text)
		}
	}
	return w.names[e] + " | " + w.ref("typing", "Literal") + "[" + strings.Join(values, ", ") + "]"
}

// results writes the result of f.
func (w *writer) results(f *face.Function) string {
	return cmp.Or(w.tuples[f], w.out(f.Result()))
}
