package types

import (
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// A direction is that in which a value of a type crosses: Go passes it, or Go receives it.
type direction int

const (
	argument direction = iota
	outcome
)

// flip returns the direction of the arguments of a function that crosses in this one: a func that Go
// passes receives its arguments, and Go passes arguments to a func that it received.
func (d direction) flip() direction { return 1 - d }

func predeclared(name string) plan.GoType { return plan.GoType{Name: name} }

// predeclaredTypes are the Go types of the kinds that Go has itself.
var predeclaredTypes = map[crossing.Kind]plan.GoType{
	crossing.KindBool: predeclared("bool"), crossing.KindInt: predeclared("int64"), crossing.KindFloat: predeclared("float64"),
	crossing.KindString: predeclared("string"), crossing.KindBytes: {Slice: &plan.GoType{Name: "byte"}},
}

// plainType returns the Go type of a kind that has one, which is the same in both forms.
func plainType(k crossing.Kind) (t plan.GoType, ok bool) {
	if t, ok := predeclaredTypes[k]; ok {
		return t, true
	}
	row := &crossing.Rows[k]
	switch {
	case k == crossing.KindShape: // Go passes any ints
		return t, false
	case row.Class == crossing.Scalar && len(row.Value) > 0:
		return named(row.Value[0]), true
	case row.Class == crossing.Leaf && len(row.Pointer) > 0:
		return plan.Pointer(named(row.Pointer[0])), true
	}
	return t, false
}

// named returns the type of a name in a row.
func named(name string) plan.GoType {
	if at := strings.LastIndexByte(name, '.'); at >= 0 {
		return plan.GoType{Path: name[:at], Name: name[at+1:]}
	}
	return plan.RuntimeType(name)
}

// byValue reports whether the Go type of a kind has no nil, so that Optional needs a pointer.
func byValue(k crossing.Kind) bool {
	return crossing.Rows[k].Class == crossing.Scalar || k == crossing.KindString || k == crossing.KindVariant
}

// goType returns the Go type of a node in a package.
func (p *Types) goType(pkg *plan.Package, n *node, form direction) plan.GoType {
	if n.width != "" {
		return predeclared(n.width)
	}
	if t, ok := plainType(n.kind); ok {
		return t
	}
	switch n.kind {
	case crossing.KindAny:
		return formed(form, predeclared("any"), plan.RuntimeType("Any"))
	case crossing.KindObject:
		return formed(form, plan.RuntimeType("ObjectRef"), plan.Pointer(plan.RuntimeType("Object")))
	case crossing.KindClass:
		return formed(form, plan.GoType{Ref: n.object}, plan.Pointer(plan.GoType{Object: n.object}))
	case crossing.KindShape:
		return formed(form, plan.RuntimeType("ArrayArg", predeclared("int64")), plan.Pointer(plan.RuntimeType("Shape")))
	case crossing.KindTuple:
		if len(n.parts) == 0 {
			return plan.Pointer(plan.RuntimeType("Array", plan.RuntimeType("Any")))
		}
		return plan.RuntimeType("Tuple"+strconv.Itoa(len(n.parts)), p.goTypes(pkg, n, form)...)
	case crossing.KindVariant:
		return plan.GoType{Variant: p.variantType(pkg, n)}
	case crossing.KindOptional:
		t := p.goType(pkg, n.parts[0], form)
		if byValue(n.parts[0].kind) || n.parts[0].kind == crossing.KindTuple && t.Elem == nil {
			return plan.Pointer(t)
		}
		return t
	case crossing.KindCallable:
		return plan.GoType{Func: p.funcType(pkg, n, form)}
	}
	if crossing.Rows[n.kind].Class.Container() {
		return p.containerType(pkg, n, form)
	}
	panic("plan: a node without a Go type: " + n.text)
}

// containerType returns the Go type of a container. As an outcome, and if it may change, it is
// the container; as an argument it is an interface that accepts the container or Go values.
// The interface is strict if its elements are the same in both forms, because only then
// can Go check the elements of a container.
func (p *Types) containerType(pkg *plan.Package, n *node, form direction) plan.GoType {
	name := n.kind.String()
	if crossing.Rows[n.kind].Mutable {
		form = outcome
	}
	types := p.goTypes(pkg, n, form)
	switch {
	case form == outcome:
		return plan.Pointer(plan.RuntimeType(name, types...))
	case n.partsInOneForm():
		return plan.RuntimeType(name+"Arg", types...)
	}
	return plan.RuntimeType(name+"Like", types...)
}

// container reports whether a value of n is a container and never None. A tuple has a certain
// length, so it has no empty form.
func (n *node) container() bool {
	return crossing.Rows[n.kind].Class.Container() || n.kind == crossing.KindShape
}

// inOneForm reports whether the Go type of n is the same in both forms.
func (n *node) inOneForm() bool {
	row := &crossing.Rows[n.kind]
	switch n.kind {
	case crossing.KindAny, crossing.KindObject, crossing.KindClass, crossing.KindShape:
		return false
	case crossing.KindVariant:
		return true
	case crossing.KindCallable:
		for _, param := range n.params {
			if !param.inOneForm() {
				return false
			}
		}
		return n.result.kind == crossing.KindNone || n.result.inOneForm()
	}
	if row.Class.Container() {
		return row.Mutable
	}
	return n.partsInOneForm()
}

func (n *node) partsInOneForm() bool {
	for _, part := range n.parts {
		if !part.inOneForm() {
			return false
		}
	}
	return true
}

func formed(form direction, passed, received plan.GoType) plan.GoType {
	if form == argument {
		return passed
	}
	return received
}

func (p *Types) goTypes(pkg *plan.Package, n *node, form direction) []plan.GoType {
	types := make([]plan.GoType, len(n.parts))
	for i, part := range n.parts {
		types[i] = p.goType(pkg, part, form)
	}
	return types
}

func (p *Types) funcType(pkg *plan.Package, n *node, form direction) *plan.FuncType {
	f := &plan.FuncType{}
	for _, param := range n.params {
		f.Params = append(f.Params, p.goType(pkg, param, form.flip()))
	}
	if n.result.kind != crossing.KindNone {
		result := p.goType(pkg, n.result, form)
		f.Result, f.OrEmpty = &result, n.result.container()
	}
	return f
}
