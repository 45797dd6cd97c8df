package plan

import (
	"slices"
	"strconv"
	"strings"
)

// A Form is the direction in which a value of a type crosses: Go passes it, or Go
// receives it.
type Form int

// The forms of a type.
const (
	Argument Form = iota
	Outcome
)

// flip returns the form of the arguments of a function of this form: a func that Go
// passes receives its arguments, and Go passes arguments to a func that it received.
func (f Form) flip() Form { return 1 - f }

// A GoType is a Go type expression. Exactly one of its parts is set; Path and Args
// belong to Name.
type GoType struct {
	Name    string // predeclared, or declared in Path
	Path    string
	Args    []GoType
	Object  *Object  // the struct of an object type
	Ref     *Object  // its Ref interface
	Variant *Variant // the struct of a variant
	Elem    *GoType  // pointer to Elem
	Slice   *GoType
	Func    *FuncType
}

// A FuncType is a Go func that also returns an error.
type FuncType struct {
	Params []GoType
	Result *GoType // nil: only the error
	// OrEmpty is set if a nil result stands for an empty container.
	OrEmpty bool
}

func predeclared(name string) GoType { return GoType{Name: name} }
func runtimeType(name string, args ...GoType) GoType {
	return GoType{Path: Runtime, Name: name, Args: args}
}
func pointer(t GoType) GoType { return GoType{Elem: &t} }

// plainTypes holds the Go types that are the same in both forms.
var plainTypes = map[kind]GoType{
	kindBool: predeclared("bool"), kindInt: predeclared("int64"), kindFloat: predeclared("float64"),
	kindString: predeclared("string"), kindBytes: {Slice: &GoType{Name: "byte"}},
	kindDataType: runtimeType("DataType"), kindDevice: runtimeType("Device"), kindPointer: runtimeType("Pointer"),
	kindBigInt: pointer(GoType{Path: Big, Name: "Int"}), kindError: pointer(runtimeType("Error")),
	kindTensor: pointer(runtimeType("Tensor")), kindModule: pointer(runtimeType("Module")),
	kindFunction: pointer(runtimeType("Function")),
}

// byValue holds the kinds whose Go type has no nil, so that Optional needs a pointer.
var byValue = map[kind]bool{
	kindBool: true, kindInt: true, kindFloat: true, kindString: true, kindDataType: true, kindDevice: true,
	kindPointer: true, kindVariant: true,
}

// goType returns the Go type of a node in a package.
func (pkg *Package) goType(n *node, form Form) GoType {
	if t, ok := plainTypes[n.kind]; ok {
		return t
	}
	switch n.kind {
	case kindAny:
		return formed(form, predeclared("any"), runtimeType("Any"))
	case kindRoot:
		return formed(form, runtimeType("ObjectRef"), pointer(runtimeType("Object")))
	case kindObject:
		return formed(form, GoType{Ref: n.object}, pointer(GoType{Object: n.object}))
	case kindShape:
		return formed(form, runtimeType("ArrayArg", predeclared("int64")), pointer(runtimeType("Shape")))
	case kindArray:
		return pkg.container(n, "Array", form)
	case kindMap:
		return pkg.container(n, "Map", form)
	case kindList:
		return pointer(runtimeType("List", pkg.goTypes(n, Outcome)...))
	case kindDict:
		return pointer(runtimeType("Dict", pkg.goTypes(n, Outcome)...))
	case kindTuple:
		if len(n.parts) == 0 {
			return pointer(runtimeType("Array", runtimeType("Any")))
		}
		return runtimeType("Tuple"+strconv.Itoa(len(n.parts)), pkg.goTypes(n, form)...)
	case kindVariant:
		return GoType{Variant: pkg.variant(n)}
	case kindOptional:
		t := pkg.goType(n.parts[0], form)
		if byValue[n.parts[0].kind] || n.parts[0].kind == kindTuple && t.Elem == nil {
			return pointer(t)
		}
		return t
	case kindTyped:
		return GoType{Func: pkg.funcType(n, form)}
	}
	panic("plan: a node without a Go type: " + n.text)
}

// container returns the Go type of an immutable container. As an outcome it is the
// container; as an argument it is an interface that accepts the container or Go values.
// The interface is strict if its elements are the same in both forms, because only then
// can Go check the elements of a container.
func (pkg *Package) container(n *node, name string, form Form) GoType {
	types := pkg.goTypes(n, form)
	switch {
	case form == Outcome:
		return pointer(runtimeType(name, types...))
	case n.partsInOneForm():
		return runtimeType(name+"Arg", types...)
	}
	return runtimeType(name+"Like", types...)
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

func (pkg *Package) goTypes(n *node, form Form) []GoType {
	types := make([]GoType, len(n.parts))
	for i, part := range n.parts {
		types[i] = pkg.goType(part, form)
	}
	return types
}

func (pkg *Package) funcType(n *node, form Form) *FuncType {
	f := &FuncType{}
	for _, param := range n.params {
		f.Params = append(f.Params, pkg.goType(param, form.flip()))
	}
	if n.result.kind != kindNone {
		result := pkg.goType(n.result, form)
		f.Result, f.OrEmpty = &result, n.result.container()
	}
	return f
}

// kindNames holds the words for kinds in the names of variants.
var kindNames = map[kind]string{
	kindBool: "Bool", kindInt: "Int", kindFloat: "Float", kindString: "String", kindBytes: "Bytes",
	kindDataType: "DataType", kindDevice: "Device", kindPointer: "Pointer", kindBigInt: "BigInt", kindAny: "Any",
	kindError: "Error", kindTensor: "Tensor", kindModule: "Module", kindFunction: "Function", kindTyped: "Func",
	kindShape: "Shape", kindRoot: "Object", kindArray: "Array", kindList: "List", kindMap: "Map", kindDict: "Dict",
	kindTuple: "Tuple", kindOptional: "Optional", kindVariant: "Variant",
}

// word returns the name of a node inside other names: IntArray, StringIntMap, IntTuple2.
func (n *node) word() string {
	switch n.kind {
	case kindObject:
		return n.object.GoName
	case kindOptional:
		return "Optional" + n.parts[0].word()
	case kindVariant:
		return n.joined("Or")
	}
	if n.onlyAny() {
		return kindNames[n.kind]
	}
	if n.kind == kindTuple && len(n.parts) > 1 && !slices.ContainsFunc(n.parts, func(part *node) bool { return part.text != n.parts[0].text }) {
		return n.parts[0].word() + kindNames[kindTuple] + strconv.Itoa(len(n.parts))
	}
	return n.joined("") + kindNames[n.kind]
}

func (n *node) joined(separator string) string {
	words := make([]string, len(n.parts))
	for i, part := range n.parts {
		words[i] = part.word()
	}
	return strings.Join(words, separator)
}

func (n *node) onlyAny() bool {
	for _, part := range n.parts {
		if part.kind != kindAny {
			return false
		}
	}
	return true
}
