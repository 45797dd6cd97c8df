package hints

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/schema"
)

// Constant returns a constant as a parameter of type t takes it: an int for a float as a float, and
// a bool for an int as an int. as is the name of its type, "" for None. ok is false if the
// parameter takes no such constant.
func (types Types) Constant(t schema.TypeSchema, v any) (as string, value any, ok bool) {
	if n, narrow := IntegerOf(t); narrow {
		as, value, ok = types.Constant(Plain(t), v)
		i, _ := value.(int64)
		return as, value, ok && n.Holds(i)
	}
	switch {
	case t.Name == "Optional":
		if v == nil {
			return "", nil, true
		}
		return types.Constant(t.Args[0], v)
	case t.Name == "Variant":
		for _, a := range t.Args {
			if as, value, ok := types.Constant(a, v); ok {
				return as, value, true
			}
		}
		return "", nil, false
	case v == nil: // a library may refuse None as an object, with or without a default
		return "", nil, t.Name == "Any" || t.Name == "ffi.Object" || types[t.Name] != nil && !strings.HasPrefix(t.Name, "ffi.")
	}
	switch x := v.(type) {
	case bool:
		if t.Name == "int" {
			n := int64(0)
			if x {
				n = 1
			}
			return t.Name, n, true
		}
		as = "bool"
	case int64:
		if t.Name == "float" {
			f := float64(x)
			return t.Name, f, f < 1<<63 && int64(f) == x
		}
		as = "int"
	case float64:
		as = "float"
	case string:
		as = "ffi.String"
		if t.Name == "DataType" || t.Name == "const char*" {
			return t.Name, v, true
		}
	}
	return as, v, as != "" && (t.Name == as || t.Name == "Any")
}

// tensor matches a tensor with an element type in the text of a type.
var tensor = regexp.MustCompile(`\b(?:ffi\.)?Tensor\(([^()<>"]*)\)`)

// ParseType reads a type in the notation of the registry: "int", "garden.Rose",
// "Optional<ffi.Array<int>>", "(int, ffi.String) -> None". The prefix "ffi." may be absent,
// "Tensor(int32)" is a tensor with elements of that type, and "int32" is an int of that width:
// see [Integer].
func ParseType(text string) (schema.TypeSchema, error) {
	quoted := tensor.ReplaceAllStringFunc(text, func(t string) string {
		return strconv.Quote("Tensor(" + strings.TrimSpace(tensor.FindStringSubmatch(t)[1]) + ")")
	})
	t, err := schema.ParseType(quoted)
	if err != nil {
		return t, err
	}
	return t.Renamed(func(t schema.TypeSchema) string {
		if kind, ok := crossing.NamedInHints(t.Name); ok {
			return crossing.Rows[kind].Key
		}
		return t.Name
	}), nil
}

// TensorElement returns the element type of a type such as "Tensor(int32)".
func TensorElement(t schema.TypeSchema) (dtype string, ok bool) {
	inner, ok := strings.CutPrefix(t.Name, "Tensor(")
	return strings.TrimSuffix(inner, ")"), ok && strings.HasSuffix(inner, ")")
}

// Types answers questions about the object types of a schema.
type Types map[string]*schema.Type

// Narrow returns an error unless every value of the type narrow is also a value of the type
// wide. Both must be normalized. None is a value of each function type: TVM-FFI converts it to a
// function that must not be called, and only the documentation of a library says which
// functions it leaves out. An int of a certain width is an int.
func (types Types) Narrow(wide, narrow schema.TypeSchema) error {
	if types.covers(wide, Plain(narrow)) {
		return nil
	}
	next := ""
	if HasWidth(narrow) {
		next = fmt.Sprintf("; a width stands for an int only: write %s, or remove the type", wide)
	}
	return fmt.Errorf("the library has %s there, which does not include %s%s", wide, narrow, next)
}

func (types Types) covers(wide, narrow schema.TypeSchema) bool {
	if wide.Name == "Any" || wide.String() == narrow.String() {
		return true
	}
	if _, ok := TensorElement(narrow); ok {
		return types.covers(wide, schema.TypeSchema{Name: "ffi.Tensor"}) || wide.Name == "DLTensor*"
	}
	switch narrow.Name {
	case "Optional":
		none := wide.Name == "ffi.Function" || types.covers(wide, schema.TypeSchema{Name: "None"})
		return none && types.covers(wide, narrow.Args[0])
	case "Variant":
		return !slices.ContainsFunc(narrow.Args, func(a schema.TypeSchema) bool { return !types.covers(wide, a) })
	}
	switch wide.Name {
	case "Optional":
		return narrow.Name == "None" || types.covers(wide.Args[0], narrow)
	case "Variant":
		return slices.ContainsFunc(wide.Args, func(a schema.TypeSchema) bool { return types.covers(a, narrow) })
	case "ObjectRValueRef":
		return len(wide.Args) == 0 && types.object(narrow) || len(wide.Args) == 1 && types.covers(wide.Args[0], narrow)
	case "ffi.Object":
		return types.object(narrow)
	case "DLTensor*":
		return narrow.Name == "ffi.Tensor"
	case "ffi.Function":
		return wide.Func == nil && narrow.Name == "ffi.Function"
	}
	if t := types[narrow.Name]; t != nil && slices.Contains(t.Ancestors, wide.Name) {
		return true
	}
	return types.coverParts(wide, narrow)
}

// coverParts compares the parts of two containers of one kind. A container without parts
// holds anything.
func (types Types) coverParts(wide, narrow schema.TypeSchema) bool {
	if wide.Name != narrow.Name || wide.Func != nil {
		return false
	}
	if len(wide.Args) == 0 {
		return true
	}
	if len(wide.Args) != len(narrow.Args) {
		return false
	}
	for i := range wide.Args {
		if !types.covers(wide.Args[i], narrow.Args[i]) {
			return false
		}
	}
	return true
}

// object reports whether a value of the type is an object.
func (types Types) object(t schema.TypeSchema) bool {
	if t.Name == "ffi.Function" || strings.HasPrefix(t.Name, "ffi.") && t.Name != "ffi.String" && t.Name != "ffi.Bytes" || t.Name == "Tuple" {
		return true
	}
	known := types[t.Name]
	return known != nil && slices.Contains(known.Ancestors, "ffi.Object")
}
