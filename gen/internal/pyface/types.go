package pyface

import (
	"fmt"
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

// scalars are the types that are the same in each direction.
var scalars = map[face.Kind]string{
	face.KindNone: "None", face.KindBool: "bool", face.KindInt: "int", face.KindFloat: "float", face.KindBigInt: "int", face.KindString: "str",
}

// objects are classes of tvm_ffi.
var objects = map[face.Kind]string{
	face.KindModule: "Module", face.KindObject: "Object", face.KindShape: "Shape",
}

// typeText writes a type.
func (w *writer) typeText(t *face.Type, d direction) string {
	if name := scalars[t.Kind]; name != "" {
		if t.Kind == face.KindNone {
			return name
		}
		return w.builtin(name)
	}
	if name := objects[t.Kind]; name != "" {
		return w.tvm(name)
	}
	switch t.Kind {
	case face.KindAny:
		return w.ref("typing", "Any")
	case face.KindBytes:
		if d == given {
			return w.builtin("bytes") + " | " + w.builtin("bytearray")
		}
		return w.builtin("bytes")
	case face.KindDataType:
		return w.either(d, w.tvm("dtype"), w.builtin("str"))
	case face.KindDevice:
		return w.either(d, w.tvm("Device"), w.builtin("str"))
	case face.KindPointer:
		return w.ref("", "ctypes") + ".c_void_p | None"
	case face.KindOptional:
		return union([]string{w.typeText(t.Elems[0], d), "None"})
	case face.KindUnion:
		var all []string
		for _, e := range t.Elems {
			all = append(all, w.typeText(e, d))
		}
		return union(all)
	case face.KindTensor:
		if d == given {
			w.dlpack = true
			return w.protocol()
		}
		return w.tvm("Tensor")
	case face.KindClass:
		return w.names[t.Class]
	case face.KindEnum:
		return w.enumType(t.Enum, d)
	case face.KindErrorValue:
		if d == given {
			return w.builtin("Exception") + " | " + w.ref("tvm_ffi.core", "Error") + " | None"
		}
		return w.ref("tvm_ffi.core", "Error") + " | None"
	case face.KindFunction:
		return w.ref("collections.abc", "Callable") + "[..., " + w.ref("typing", "Any") + "]"
	}
	return w.compound(t, d)
}

// either adds a type that is also a valid argument.
func (w *writer) either(d direction, name, also string) string {
	if d == given {
		return name + " | " + also
	}
	return name
}

// compound writes a type that other types make.
func (w *writer) compound(t *face.Type, d direction) string {
	elem := func(i int) string { return w.typeText(t.Elems[i], d) }
	list := func(base string) string {
		var all []string
		for i := range t.Elems {
			all = append(all, elem(i))
		}
		return base + "[" + strings.Join(all, ", ") + "]"
	}
	abstract := func(name string) string { return list(w.ref("collections.abc", name)) }
	switch t.Kind {
	case face.KindTuple:
		if d == raw {
			return w.ref("collections.abc", "Sequence") + "[" + w.ref("typing", "Any") + "]"
		}
		return list(w.builtin("tuple"))
	case face.KindSequence:
		if d == returned {
			return list(w.builtin("list"))
		}
		return abstract("Sequence")
	case face.KindMapping:
		if d == returned {
			return list(w.builtin("dict"))
		}
		return abstract("Mapping")
	case face.KindRecord:
		if d == raw {
			return w.ref("collections.abc", "Mapping") + "[" + w.builtin("str") + ", " + w.ref("typing", "Any") + "]"
		}
		return w.names[t.Record]
	case face.KindArray:
		return w.container(t, d, "Array", "Sequence")
	case face.KindMap:
		return w.container(t, d, "Map", "Mapping")
	case face.KindList:
		return w.container(t, d, "List", "")
	case face.KindDict:
		return w.container(t, d, "Dict", "")
	case face.KindIterator:
		if d == returned {
			return w.ref("collections.abc", "Generator") + "[" + elem(0) + ", None, None]"
		}
		return w.ref("collections.abc", "Callable") + "[[], " + w.ref("typing", "Any") + "]"
	case face.KindCallable:
		return w.callable(t, d)
	}
	return w.ref("typing", "Any")
}

// container writes a type of tvm_ffi that crosses by reference. Its elements are not
// converted. For arguments, abstract is what is also taken.
func (w *writer) container(t *face.Type, d direction, name, abstract string) string {
	inner := raw
	base := w.tvm(name)
	if d == given && abstract != "" {
		inner, base = given, w.ref("collections.abc", abstract)
	}
	count := 1
	if name == "Map" || name == "Dict" {
		count = 2
	}
	var all []string
	for i := range count {
		if i < len(t.Elems) {
			all = append(all, w.typeText(t.Elems[i], inner))
		} else {
			all = append(all, w.ref("typing", "Any"))
		}
	}
	return base + "[" + strings.Join(all, ", ") + "]"
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
	name, base := w.names[e], w.builtin(scalars[e.Kind])
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
