package plan

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
)

// A Call describes the body of a generated function: pack, call, unpack.
type Call struct {
	Frame  string // the frame type of bindrt
	Count  int    // arguments, with the receiver
	Params []Param
	Result *Result // nil: only the error
	Locals Locals
}

// Locals are the names that a body itself declares. They are chosen after the names of
// the parameters: if a parameter has the usual name of a local, the local gets another.
type Locals struct {
	Receiver, Frame string
	Options, Option string   // of a constructor: its last parameter, and an element of it
	Fn, Err         string   // of a result that is a typed function
	Args, OK, Value string   // of the adapters of callbacks
	Values          []string // the arguments in such an adapter
}

// Pack is a way to pack an argument.
type Pack int

// The ways to pack an argument.
const (
	PackMethod   Pack = iota // c.Method(i, x)
	PackBytes                // c.Bytes(i, x), nil is None
	PackPointer              // c.Object(i, bindrt.Ref(x))
	PackTensor               // bindrt.PutTensor, nil is None
	PackRef                  // c.Object(i, bindrt.Ref(x.Marker())), nil is None
	PackRoot                 // bindrt.PutObject
	PackCallback             // bindrt.Callback
	PackValue                // bindrt.Put
)

// A Param is a Go parameter and how it is packed.
type Param struct {
	Name   string
	Type   GoType
	Pack   Pack
	Method string  // of PackMethod
	Object *Object // of PackRef
	// Element is the type of the elements, of PackTensor.
	Element *spec.DType
	// Align is what the address of a tensor of PackPointer must be divisible by, 0 for nothing.
	Align int
	// Optional is set if PackCallback takes nil as None. The library calls a typed
	// function that is not optional without a check for None.
	Optional bool
	// OrEmpty is set if nil stands for an empty container.
	OrEmpty bool

	node  *node
	given string // its name in the schema
}

// A Result is a Go result and how it is unpacked.
type Result struct {
	Type   GoType
	Method string  // c.Do<Method> makes the call, such as Int; "" for bindrt.Do
	Object *Object // bindrt.DoObject
	Bound  *Call   // a typed function: its own body
	// Element is the type of the elements that a tensor must have, nil for any.
	Element *spec.DType
}

// frameSizes are the frames of bindrt, in units of one argument.
var frameSizes = []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32}

// textUnits is the space for one string.
const textUnits = 4

// frameMethods maps the kinds that frames pack and unpack by a method to its name.
var frameMethods = map[kind]string{
	kindBool: "Bool", kindInt: "Int", kindFloat: "Float", kindString: "String", kindBytes: "Bytes",
	kindDataType: "DataType", kindDevice: "Device", kindPointer: "Pointer",
}

// newCall plans a body with the given arguments. With self, the first argument
// is the receiver.
func (pkg *Package) newCall(params []*node, names []string, result *node, self bool) *Call {
	c := &Call{Count: len(params)}
	strings := 0
	for i, n := range params {
		if self && i == 0 {
			continue
		}
		if n.kind == kindString {
			strings++
		}
		c.Params = append(c.Params, pkg.param(n, names[i]))
	}
	if result.kind != kindNone {
		c.Result = pkg.result(result)
	}
	units := c.Count + textUnits*strings
	if result.kind == kindString && strings == 0 {
		units += textUnits
	}
	c.Frame = frame(units)
	return c
}

// frame returns the smallest frame with space for the units.
func frame(units int) string {
	for _, size := range frameSizes {
		if units <= size {
			return "Call" + strconv.Itoa(size)
		}
	}
	return "CallN"
}

// param plans a parameter of the given type. A nil List or Dict is None, which the library
// refuses: what the callee adds to an empty one would be lost.
func (pkg *Package) param(n *node, name string) Param {
	param := Param{Type: pkg.goType(n, Argument), Pack: PackValue, OrEmpty: n.container() && n.kind != kindList && n.kind != kindDict, node: n, given: name}
	switch base := n.base(); base.kind {
	case kindBool, kindInt, kindFloat, kindString, kindDataType, kindDevice, kindPointer:
		if !n.optional() {
			param.Pack, param.Method = PackMethod, frameMethods[n.kind]
		}
	case kindBytes:
		param.Pack, param.Method = PackMethod, frameMethods[kindBytes]
		if n.optional() {
			param.Pack = PackBytes
		}
	case kindTensor:
		if param.Pack = PackPointer; base.element != nil {
			param.Pack, param.Element = PackTensor, base.element
		}
	case kindModule, kindFunction, kindList, kindDict:
		param.Pack = PackPointer
	case kindObject:
		param.Pack, param.Object = PackRef, base.object
	case kindRoot:
		param.Pack = PackRoot
	case kindTyped:
		param.Pack, param.Optional = PackCallback, n.optional()
	}
	return param
}

// fieldParam plans the parameter that becomes the value of a field, which keeps an empty List
// or Dict.
func (pkg *Package) fieldParam(n *node, name string) Param {
	param := pkg.param(n, name)
	param.OrEmpty = n.container()
	return param
}

// result plans a result of the given type.
func (pkg *Package) result(n *node) *Result {
	r := &Result{Type: pkg.goType(n, Outcome), Method: frameMethods[n.kind]}
	switch base := n.base(); base.kind {
	case kindTensor:
		r.Element = base.element
	case kindObject:
		r.Object = base.object
	case kindTyped:
		r.Bound = pkg.newCall(base.params, base.names, base.result, false)
	}
	return r
}

// nameParams gives the parameters names that the body does not mention: their own names, or names
// after their types. Then it names the locals.
func (c *Call) nameParams(outer *scope) {
	s := newScope(outer)
	count := map[string]int{}
	for i := range c.Params {
		param := &c.Params[i]
		name := paramNames[param.node.base().kind]
		if base := param.node.base(); base.object != nil {
			name = lowerFirst(base.object.GoName)
		} else if base.kind == kindRoot && lateKey(base.text) {
			name = lowerCamel(lastPart(base.text))
		}
		if param.given != "" {
			name = lowerCamel(param.given)
		}
		name = cmp.Or(spellings[name], name)
		if count[name]++; count[name] > 1 {
			name = fmt.Sprint(name, count[name])
		}
		param.Name = s.free("a parameter", name, name+"Arg")
	}
	c.nameLocals(s)
	if c.Result != nil && c.Result.Bound != nil {
		inner := newScope(outer)
		inner.add("a local", c.Locals.Fn)
		c.Result.Bound.nameParams(inner)
	}
}

// nameLocals names the locals of the body.
func (c *Call) nameLocals(s *scope) {
	local := func(candidates ...string) string { return s.free("a local", candidates...) }
	c.Locals = Locals{
		Receiver: local("x", "recv"), Frame: local("c", "call", "frame"),
		Options: local("options", "opts"), Option: local("o", "option"),
		Fn: local("fn", "callee"), Err: local("err", "callErr"),
		Args: local("a", "args"), OK: local("ok", "plain"), Value: local("v", "result"),
	}
	most := 0
	for _, param := range c.Params {
		if param.Pack == PackCallback {
			most = max(most, len(param.node.base().params))
		}
	}
	for i := range most {
		n := strconv.Itoa(i)
		c.Locals.Values = append(c.Locals.Values, local("p"+n, "arg"+n))
	}
}

// spellings holds the names of parameters in place of keywords and of the predeclared names that
// a body may use.
var spellings = map[string]string{
	"any": "value", "bool": "flag", "break": "stop", "byte": "octet", "case": "which", "chan": "channel",
	"const": "constant", "continue": "cont", "default": "def", "defer": "deferred", "else": "otherwise",
	"error": "cause", "for": "loop", "func": "fn", "if": "cond", "import": "imported", "int": "integer",
	"interface": "iface", "len": "length", "map": "mapping", "nil": "null", "package": "pkg", "range": "bounds",
	"return": "ret", "select": "selected", "string": "str", "struct": "structure", "switch": "choice",
	"type": "typ", "var": "variable",
}

// paramNames names the parameters that have no name in the schema.
var paramNames = map[kind]string{
	kindBool: "flag", kindInt: "n", kindFloat: "f", kindString: "s", kindBytes: "data", kindDataType: "dtype",
	kindDevice: "device", kindPointer: "ptr", kindBigInt: "n", kindAny: "value", kindError: "cause",
	kindTensor: "tensor", kindModule: "module", kindFunction: "function", kindTyped: "callback", kindShape: "shape",
	kindArray: "items", kindList: "list", kindMap: "entries", kindDict: "dict", kindTuple: "tuple",
	kindVariant: "value", kindRoot: "object",
}
