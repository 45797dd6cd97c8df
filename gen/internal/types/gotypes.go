package types

import (
	"strconv"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
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

// plainTypes holds the Go types that are the same in both forms.
var plainTypes = map[kind]plan.GoType{
	kindBool: predeclared("bool"), kindInt: predeclared("int64"), kindFloat: predeclared("float64"),
	kindString: predeclared("string"), kindBytes: {Slice: &plan.GoType{Name: "byte"}},
	kindDataType: plan.RuntimeType("DataType"), kindDevice: plan.RuntimeType("Device"), kindPointer: plan.RuntimeType("Pointer"),
	kindBigInt: plan.Pointer(plan.GoType{Path: plan.Big, Name: "Int"}), kindError: plan.Pointer(plan.RuntimeType("Error")),
	kindTensor: plan.Pointer(plan.RuntimeType("Tensor")), kindModule: plan.Pointer(plan.RuntimeType("Module")),
	kindFunction: plan.Pointer(plan.RuntimeType("Function")),
}

// byValue holds the kinds whose Go type has no nil, so that Optional needs a pointer.
var byValue = map[kind]bool{
	kindBool: true, kindInt: true, kindFloat: true, kindString: true, kindDataType: true, kindDevice: true,
	kindPointer: true, kindVariant: true,
}

// goType returns the Go type of a node in a package.
func (p *Types) goType(pkg *plan.Package, n *node, form direction) plan.GoType {
	if n.width != "" {
		return predeclared(n.width)
	}
	if t, ok := plainTypes[n.kind]; ok {
		return t
	}
	switch n.kind {
	case kindAny:
		return formed(form, predeclared("any"), plan.RuntimeType("Any"))
	case kindRoot:
		return formed(form, plan.RuntimeType("ObjectRef"), plan.Pointer(plan.RuntimeType("Object")))
	case kindObject:
		return formed(form, plan.GoType{Ref: n.object}, plan.Pointer(plan.GoType{Object: n.object}))
	case kindShape:
		return formed(form, plan.RuntimeType("ArrayArg", predeclared("int64")), plan.Pointer(plan.RuntimeType("Shape")))
	case kindArray:
		return p.containerType(pkg, n, "Array", form)
	case kindMap:
		return p.containerType(pkg, n, "Map", form)
	case kindList:
		return plan.Pointer(plan.RuntimeType("List", p.goTypes(pkg, n, outcome)...))
	case kindDict:
		return plan.Pointer(plan.RuntimeType("Dict", p.goTypes(pkg, n, outcome)...))
	case kindTuple:
		if len(n.parts) == 0 {
			return plan.Pointer(plan.RuntimeType("Array", plan.RuntimeType("Any")))
		}
		return plan.RuntimeType("Tuple"+strconv.Itoa(len(n.parts)), p.goTypes(pkg, n, form)...)
	case kindVariant:
		return plan.GoType{Variant: p.variantType(pkg, n)}
	case kindOptional:
		t := p.goType(pkg, n.parts[0], form)
		if byValue[n.parts[0].kind] || n.parts[0].kind == kindTuple && t.Elem == nil {
			return plan.Pointer(t)
		}
		return t
	case kindTyped:
		return plan.GoType{Func: p.funcType(pkg, n, form)}
	}
	panic("plan: a node without a Go type: " + n.text)
}

// containerType returns the Go type of an immutable container. As an outcome it is the
// container; as an argument it is an interface that accepts the container or Go values.
// The interface is strict if its elements are the same in both forms, because only then
// can Go check the elements of a container.
func (p *Types) containerType(pkg *plan.Package, n *node, name string, form direction) plan.GoType {
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
	switch n.kind {
	case kindArray, kindMap, kindList, kindDict, kindShape:
		return true
	}
	return false
}

// inOneForm reports whether the Go type of n is the same in both forms.
func (n *node) inOneForm() bool {
	switch n.kind {
	case kindAny, kindRoot, kindObject, kindShape, kindArray, kindMap:
		return false
	case kindList, kindDict, kindVariant:
		return true
	case kindTyped:
		for _, param := range n.params {
			if !param.inOneForm() {
				return false
			}
		}
		return n.result.kind == kindNone || n.result.inOneForm()
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
	if n.result.kind != kindNone {
		result := p.goType(pkg, n.result, form)
		f.Result, f.OrEmpty = &result, n.result.container()
	}
	return f
}
