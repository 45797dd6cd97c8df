package schema

import (
	"fmt"
	"slices"
)

// Names of the registry that have a meaning of their own. Every other name is
// the key of an object type.
const (
	nameAny      = "Any"
	nameNone     = "None"
	nameFunction = "ffi.Function"
	nameArray    = "ffi.Array"
	nameList     = "ffi.List"
	nameMap      = "ffi.Map"
	nameDict     = "ffi.Dict"
	nameTuple    = "Tuple"
	nameVariant  = "Variant"
	nameOptional = "Optional"
	nameString   = "ffi.String"

	nameStdArray    = "std::array"
	nameStdFunction = "std::function"
)

// MaxDepth is how deep type expressions may nest.
const MaxDepth = 100

// normalNames holds the spellings of the STL header (and of Python) that mean
// the same value on the wire as a type of the registry.
var normalNames = map[string]string{
	"str":                nameString,
	"std::string":        nameString,
	"std::vector":        nameArray,
	nameStdArray:         nameArray,
	"std::tuple":         nameTuple,
	"std::map":           nameMap,
	"std::unordered_map": nameMap,
	"std::optional":      nameOptional,
	"std::variant":       nameVariant,
	nameStdFunction:      nameFunction,
}

// arity is the number of type arguments a name takes; max < 0 means any number.
type arity struct{ min, max int }

var arities = map[string]arity{
	nameAny: {0, 0}, nameNone: {0, 0}, "int": {0, 0}, "float": {0, 0}, "bool": {0, 0},
	nameString: {0, 0}, "ffi.Bytes": {0, 0}, "std::string": {0, 0}, "str": {0, 0}, "const char*": {0, 0},
	"TVMFFIByteArray*": {0, 0}, "DataType": {0, 0}, "Device": {0, 0}, "void*": {0, 0}, "DLTensor*": {0, 0},
	"ffi.Tensor": {0, 0}, "ffi.Shape": {0, 0}, "ffi.Module": {0, 0}, "ffi.Object": {0, 0}, "ffi.BigInt": {0, 0},
	nameOptional: {1, 1}, "std::optional": {1, 1},
	nameArray: {0, 1}, nameList: {0, 1}, "std::vector": {0, 1}, nameStdArray: {0, 2},
	nameMap: {0, 2}, nameDict: {0, 2}, "std::map": {0, 2}, "std::unordered_map": {0, 2},
	nameVariant: {1, -1}, "std::variant": {1, -1},
	"ObjectRValueRef": {0, 1}, "Expected": {1, 2}, "UnchangedOr": {1, 1},
}

// checkArity returns an error unless the name takes n type arguments.
func checkArity(name string, n int) error {
	a, known := arities[name]
	if !known {
		return nil
	}
	want := ""
	switch {
	case a.max == 2 && a.min == 0 && name != nameStdArray:
		if n == 0 || n == 2 {
			return nil
		}
		want = "no or 2 type arguments"
	case n >= a.min && (a.max < 0 || n <= a.max):
		return nil
	case a.max == 0:
		want = "no type arguments"
	case a.min == a.max:
		want = fmt.Sprintf("%d type argument", a.min)
	case a.max < 0:
		want = fmt.Sprintf("at least %d type argument", a.min)
	default:
		want = fmt.Sprintf("%d to %d type arguments", a.min, a.max)
	}
	return fmt.Errorf("%s takes %s, got %d", name, want, n)
}

// IsFunction reports whether t is a function type, typed or packed.
func (t TypeSchema) IsFunction() bool { return t.Name == nameFunction || t.Name == nameStdFunction }

// Normalized returns t with the names of the STL header replaced by the names of
// the registry that mean the same (std::vector and std::array become ffi.Array,
// std::string and str become ffi.String, and so on), without the length of a
// std::array, and with containers of Any written without arguments. Parameter
// names and notes inside function types stay.
func (t TypeSchema) Normalized() TypeSchema {
	out := TypeSchema{Name: t.Name}
	if n, ok := normalNames[t.Name]; ok {
		out.Name = n
	}
	args := t.Args
	if t.Name == nameStdArray && len(args) > 1 {
		args = args[:1]
	}
	onlyAny := true
	for _, a := range args {
		n := a.Normalized()
		onlyAny = onlyAny && n.Name == nameAny && len(n.Args) == 0
		out.Args = append(out.Args, n)
	}
	switch out.Name {
	case nameArray, nameList, nameMap, nameDict:
		if onlyAny {
			out.Args = nil
		}
	}
	out.Func = t.Func.Normalized()
	return out
}

// Renamed returns a copy of t in which each type has the name that name gives it, also inside containers and function types.
func (t TypeSchema) Renamed(name func(TypeSchema) string) TypeSchema {
	t.Name, t.Args, t.Func = name(t), slices.Clone(t.Args), t.Func.Renamed(name)
	for i, a := range t.Args {
		t.Args[i] = a.Renamed(name)
	}
	return t
}

// Renamed returns a copy of s with every type renamed; nil stays nil.
func (s *Signature) Renamed(name func(TypeSchema) string) *Signature {
	if s == nil {
		return nil
	}
	out := &Signature{Params: slices.Clone(s.Params), Return: s.Return.Renamed(name)}
	for i := range out.Params {
		out.Params[i].Type = out.Params[i].Type.Renamed(name)
	}
	return out
}

// Normalized returns s with every type normalized; nil stays nil.
func (s *Signature) Normalized() *Signature {
	if s == nil {
		return nil
	}
	out := &Signature{Params: make([]Param, len(s.Params)), Return: s.Return.Normalized()}
	for i, p := range s.Params {
		out.Params[i] = Param{Name: p.Name, Type: p.Type.Normalized(), Note: p.Note}
	}
	return out
}
