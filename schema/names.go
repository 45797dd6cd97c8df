package schema

import (
	"fmt"
	"slices"

	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// Names of the registry that this package writes or treats in a way of their own. All kinds are in package crossing; every
// other name is the key of an object type.
const (
	nameAny      = "Any"
	nameNone     = "None"
	nameFunction = "ffi.Function"
	nameArray    = "ffi.Array"
	nameTuple    = "Tuple"

	nameStdArray    = "std::array"
	nameStdFunction = "std::function"
)

// MaxDepth is how deep type expressions may nest.
const MaxDepth = 100

// checkArity returns an error unless the name takes n type arguments.
func checkArity(name string, n int) error {
	kind, known := crossing.Named(name)
	row := &crossing.Rows[kind]
	least, most := row.Args[0], row.Args[1]
	if name == nameStdArray {
		most++ // its length
	}
	want := ""
	switch {
	case !known:
		return nil
	case row.Class == crossing.Mapping:
		if n == 0 || n == most {
			return nil
		}
		want = "no or 2 type arguments"
	case n >= least && (most < 0 || n <= most):
		return nil
	case most == 0:
		want = "no type arguments"
	case least == most:
		want = fmt.Sprintf("%d type argument", least)
	case most < 0:
		want = fmt.Sprintf("at least %d type argument", least)
	default:
		want = fmt.Sprintf("%d to %d type arguments", least, most)
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
	out := TypeSchema{Name: crossing.Canonical(t.Name)}
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
	if onlyAny && crossing.Container(out.Name) {
		out.Args = nil
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
