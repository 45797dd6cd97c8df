package plan

import (
	"strconv"
)

func predeclared(name string) GoType { return GoType{Name: name} }

// plainTypes holds the Go types that are the same in both forms.
var plainTypes = map[kind]GoType{
	kindBool: predeclared("bool"), kindInt: predeclared("int64"), kindFloat: predeclared("float64"),
	kindString: predeclared("string"), kindBytes: {Slice: &GoType{Name: "byte"}},
	kindDataType: RuntimeType("DataType"), kindDevice: RuntimeType("Device"), kindPointer: RuntimeType("Pointer"),
	kindBigInt: Pointer(GoType{Path: Big, Name: "Int"}), kindError: Pointer(RuntimeType("Error")),
	kindTensor: Pointer(RuntimeType("Tensor")), kindModule: Pointer(RuntimeType("Module")),
	kindFunction: Pointer(RuntimeType("Function")),
}

// byValue holds the kinds whose Go type has no nil, so that Optional needs a pointer.
var byValue = map[kind]bool{
	kindBool: true, kindInt: true, kindFloat: true, kindString: true, kindDataType: true, kindDevice: true,
	kindPointer: true, kindVariant: true,
}

// goType returns the Go type of a node in a package.
func (p *Types) goType(pkg *Package, n *node, form Form) GoType {
	if t, ok := plainTypes[n.kind]; ok {
		return t
	}
	switch n.kind {
	case kindAny:
		return formed(form, predeclared("any"), RuntimeType("Any"))
	case kindRoot:
		return formed(form, RuntimeType("ObjectRef"), Pointer(RuntimeType("Object")))
	case kindObject:
		return formed(form, GoType{Ref: n.object}, Pointer(GoType{Object: n.object}))
	case kindShape:
		return formed(form, RuntimeType("ArrayArg", predeclared("int64")), Pointer(RuntimeType("Shape")))
	case kindArray:
		return p.containerType(pkg, n, "Array", form)
	case kindMap:
		return p.containerType(pkg, n, "Map", form)
	case kindList:
		return Pointer(RuntimeType("List", p.goTypes(pkg, n, Outcome)...))
	case kindDict:
		return Pointer(RuntimeType("Dict", p.goTypes(pkg, n, Outcome)...))
	case kindTuple:
		if len(n.parts) == 0 {
			return Pointer(RuntimeType("Array", RuntimeType("Any")))
		}
		return RuntimeType("Tuple"+strconv.Itoa(len(n.parts)), p.goTypes(pkg, n, form)...)
	case kindVariant:
		return GoType{Variant: p.variantType(pkg, n)}
	case kindOptional:
		t := p.goType(pkg, n.parts[0], form)
		if byValue[n.parts[0].kind] || n.parts[0].kind == kindTuple && t.Elem == nil {
			return Pointer(t)
		}
		return t
	case kindTyped:
		return GoType{Func: p.funcType(pkg, n, form)}
	}
	panic("plan: a node without a Go type: " + n.text)
}

// containerType returns the Go type of an immutable container. As an outcome it is the
// container; as an argument it is an interface that accepts the container or Go values.
// The interface is strict if its elements are the same in both forms, because only then
// can Go check the elements of a container.
func (p *Types) containerType(pkg *Package, n *node, name string, form Form) GoType {
	types := p.goTypes(pkg, n, form)
	switch {
	case form == Outcome:
		return Pointer(RuntimeType(name, types...))
	case n.partsInOneForm():
		return RuntimeType(name+"Arg", types...)
	}
	return RuntimeType(name+"Like", types...)
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

func formed(form Form, argument, outcome GoType) GoType {
	if form == Argument {
		return argument
	}
	return outcome
}

func (p *Types) goTypes(pkg *Package, n *node, form Form) []GoType {
	types := make([]GoType, len(n.parts))
	for i, part := range n.parts {
		types[i] = p.goType(pkg, part, form)
	}
	return types
}

func (p *Types) funcType(pkg *Package, n *node, form Form) *FuncType {
	f := &FuncType{}
	for _, param := range n.params {
		f.Params = append(f.Params, p.goType(pkg, param, form.flip()))
	}
	if n.result.kind != kindNone {
		result := p.goType(pkg, n.result, form)
		f.Result, f.OrEmpty = &result, n.result.container()
	}
	return f
}
