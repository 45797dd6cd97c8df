package plan

import (
	"errors"
	"strconv"

	"github.com/tvmffi-go/tvmffi/schema"
)

// frameSizes are the frames of bindrt, in units of one argument.
var frameSizes = []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32}

// textUnits is the space for one string.
const textUnits = 4

// frameMethods maps the kinds that frames pack and unpack by a method to its name.
var frameMethods = map[kind]string{
	kindBool: "Bool", kindInt: "Int", kindFloat: "Float", kindString: "String", kindBytes: "Bytes",
	kindDataType: "DataType", kindDevice: "Device", kindPointer: "Pointer",
}

// Call plans the body of a function with the signature s. With self, the first argument is the
// receiver. The error names the part of the signature that has no Go type.
func (p *Types) Call(pkg *Package, s *schema.Signature, self bool) (*Call, error) {
	params, names, err := p.params(s.Params)
	if err != nil {
		return nil, err
	}
	result, err := p.resolve(s.Return)
	if err != nil {
		return nil, err
	}
	if self && (len(params) == 0 || params[0].kind != kindObject && params[0].kind != kindRoot) {
		return nil, errors.New("the first parameter of the method is not its object")
	}
	return p.newCall(pkg, params, names, result, self), nil
}

// newCall plans a body with the given arguments. With self, the first argument
// is the receiver.
func (p *Types) newCall(pkg *Package, params []*node, names []string, result *node, self bool) *Call {
	c := &Call{Count: len(params)}
	for i, n := range params {
		if !self || i > 0 {
			c.Params = append(c.Params, p.param(pkg, n, names[i]))
		}
	}
	if result.kind != kindNone {
		c.Result = p.result(pkg, result)
	}
	units := units(c)
	if result.kind == kindString && units == c.Count {
		units += textUnits
	}
	c.Frame = frame(units)
	return c
}

// ReturnObject makes a constructor return the type itself, whatever its signature says.
func ReturnObject(c *Call, o *Object) {
	c.Result = &Result{Type: Pointer(GoType{Object: o}), Object: o}
	c.Frame = frame(units(c))
}

// units returns the space for the arguments.
func units(c *Call) int {
	units := c.Count
	for _, param := range c.Params {
		if param.Method == frameMethods[kindString] {
			units += textUnits
		}
	}
	return units
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
func (p *Types) param(pkg *Package, n *node, name string) Param {
	base := n.base()
	param := Param{Type: p.goType(pkg, n, Argument), Pack: PackValue, Optional: n.optional(),
		OrEmpty: n.container() && n.kind != kindList && n.kind != kindDict, Given: name, Usual: paramNames[base.kind]}
	switch base.kind {
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
		if lateKey(base.text) {
			param.Usual = lowerCamel(lastPart(base.text))
		}
	case kindTyped:
		param.Pack = PackCallback
	}
	return param
}

// FieldParam plans the parameter that becomes the value of a field, which keeps an empty List
// or Dict.
func (p *Types) FieldParam(pkg *Package, t schema.TypeSchema, name string) (Param, error) {
	n, err := p.resolve(t)
	if err != nil {
		return Param{}, err
	}
	return p.fieldParam(pkg, n, name), nil
}

func (p *Types) fieldParam(pkg *Package, n *node, name string) Param {
	param := p.param(pkg, n, name)
	param.OrEmpty = n.container()
	return param
}

// Field sets the types of a field. The error says why it has no Go type: a field is read in
// place, so its type must be known.
func (p *Types) Field(pkg *Package, f *Field, s *schema.Field) error {
	n, err := p.resolve(s.Type)
	if key := p.late(s.Type); err == nil && key != "" {
		err = unregistered(key)
	}
	if err == nil && n.kind == kindNone {
		err = errors.New("a field of type None has no Go type")
	}
	if err != nil {
		return err
	}
	f.Type, f.Object = p.goType(pkg, n, Outcome), n.base().object
	switch n.kind {
	case kindBool, kindInt, kindFloat:
		f.Read = frameMethods[n.kind]
	case kindString:
		f.Read = "Text"
	}
	if s.Flags&schema.FlagWritable != 0 {
		value := p.fieldParam(pkg, n, "v")
		f.Value = &value
	}
	return nil
}

// result plans a result of the given type.
func (p *Types) result(pkg *Package, n *node) *Result {
	r := &Result{Type: p.goType(pkg, n, Outcome), Method: frameMethods[n.kind]}
	switch base := n.base(); base.kind {
	case kindTensor:
		r.Element = base.element
	case kindObject:
		r.Object = base.object
	case kindTyped:
		r.Bound = p.newCall(pkg, base.params, base.names, base.result, false)
	}
	return r
}

// paramNames names the parameters that have no name in the schema.
var paramNames = map[kind]string{
	kindBool: "flag", kindInt: "n", kindFloat: "f", kindString: "s", kindBytes: "data", kindDataType: "dtype",
	kindDevice: "device", kindPointer: "ptr", kindBigInt: "n", kindAny: "value", kindError: "cause",
	kindTensor: "tensor", kindModule: "module", kindFunction: "function", kindTyped: "callback", kindShape: "shape",
	kindArray: "items", kindList: "list", kindMap: "entries", kindDict: "dict", kindTuple: "tuple",
	kindVariant: "value", kindRoot: "object",
}
