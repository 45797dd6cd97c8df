package types

import (
	"errors"
	"strconv"

	"github.com/tvmffi-go/tvmffi/gen/internal/classify"
	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/schema"
)

// frameSizes are the frames of bindrt, in units of one argument.
var frameSizes = []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32}

// textUnits is the space for one string.
const textUnits = 4

// method returns the name of the method by which frames pack and unpack values of the kind, or "".
func method(k crossing.Kind) string {
	if crossing.KindBool <= k && k <= crossing.KindPointer {
		return k.String()
	}
	return ""
}

// Call plans the body of a function with the signature s. With self, the first argument is the
// receiver. The error names the part of the signature that has no Go type.
func (p *Types) Call(pkg *plan.Package, s *schema.Signature, self bool) (*plan.Call, error) {
	params, names, err := p.params(s.Params)
	if err != nil {
		return nil, err
	}
	result, err := p.resolve(s.Return)
	if err != nil {
		return nil, err
	}
	if self && (len(params) == 0 || params[0].kind != crossing.KindClass && params[0].kind != crossing.KindObject) {
		return nil, errors.New("the first parameter of the method is not its object")
	}
	return p.newCall(pkg, params, names, result, self), nil
}

// newCall plans a body with the given arguments. With self, the first argument
// is the receiver.
func (p *Types) newCall(pkg *plan.Package, params []*node, names []string, result *node, self bool) *plan.Call {
	c := &plan.Call{Count: len(params)}
	for i, n := range params {
		if !self || i > 0 {
			param := p.param(pkg, n, names[i])
			param.At = i
			c.Params = append(c.Params, param)
		}
	}
	if result.kind != crossing.KindNone {
		c.Result = p.result(pkg, result)
	}
	units := units(c)
	if result.kind == crossing.KindString && units == c.Count {
		units += textUnits
	}
	c.Frame = frame(units)
	return c
}

// ReturnObject makes a constructor return the type itself, whatever its signature says.
func ReturnObject(c *plan.Call, o *plan.Object) {
	c.Result = &plan.Result{Type: plan.Pointer(plan.GoType{Object: o}), Object: o}
	c.Frame = frame(units(c))
}

// units returns the space for the arguments.
func units(c *plan.Call) int {
	units := c.Count
	for _, param := range c.Params {
		if param.Method == method(crossing.KindString) {
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
func (p *Types) param(pkg *plan.Package, n *node, name string) plan.Param {
	base := n.base()
	param := plan.Param{Type: p.goType(pkg, n, argument), Pack: plan.PackValue, Optional: n.optional(),
		OrEmpty: n.container() && !crossing.Rows[n.kind].Mutable, Given: name, Usual: crossing.Rows[base.kind].Param}
	switch base.kind {
	case crossing.KindBool, crossing.KindInt, crossing.KindFloat, crossing.KindString, crossing.KindDataType, crossing.KindDevice, crossing.KindPointer:
		if !n.optional() {
			param.Pack, param.Method = plan.PackMethod, method(n.kind)
		}
	case crossing.KindBytes:
		param.Pack, param.Method = plan.PackMethod, method(crossing.KindBytes)
		if n.optional() {
			param.Pack = plan.PackBytes
		}
	case crossing.KindTensor:
		if param.Pack = plan.PackPointer; base.element != nil {
			param.Pack, param.Element = plan.PackTensor, base.element
		}
	case crossing.KindModule, crossing.KindFunction:
		param.Pack = plan.PackPointer
	case crossing.KindClass:
		param.Pack, param.Object = plan.PackRef, base.object
	case crossing.KindObject:
		param.Pack = plan.PackRoot
		if lateKey(base.text) {
			param.Usual = plan.LowerCamel(plan.LastPart(base.text))
		}
	case crossing.KindCallable:
		param.Pack = plan.PackCallback
	default:
		if crossing.Rows[base.kind].Mutable {
			param.Pack = plan.PackPointer
		}
	}
	return param
}

// FieldParam plans the parameter that becomes the value of a field, which keeps an empty List
// or Dict.
func (p *Types) FieldParam(pkg *plan.Package, t schema.TypeSchema, name string) (plan.Param, error) {
	n, err := p.resolve(t)
	if err != nil {
		return plan.Param{}, err
	}
	return p.fieldParam(pkg, n, name), nil
}

func (p *Types) fieldParam(pkg *plan.Package, n *node, name string) plan.Param {
	param := p.param(pkg, n, name)
	param.OrEmpty = n.container()
	return param
}

// Field sets the types of a field. The error says why it has no Go type: a field is read in
// place, so its type must be known.
func (p *Types) Field(pkg *plan.Package, f *plan.Field, s *classify.Field) error {
	n, err := p.resolve(s.Type)
	if key := p.late(s.Type); err == nil && key != "" {
		err = unregistered(key)
	}
	if err == nil && n.kind == crossing.KindNone {
		err = errors.New("a field of type None has no Go type")
	}
	if err != nil {
		return err
	}
	f.Type, f.Object = p.goType(pkg, n, outcome), n.base().object
	switch n.kind {
	case crossing.KindBool, crossing.KindInt, crossing.KindFloat:
		f.Read = method(n.kind)
	case crossing.KindString:
		f.Read = "Text"
	}
	if s.Schema.Flags&schema.FlagWritable != 0 {
		value := p.fieldParam(pkg, n, "v")
		f.Value = &value
	}
	return nil
}

// result plans a result of the given type.
func (p *Types) result(pkg *plan.Package, n *node) *plan.Result {
	r := &plan.Result{Type: p.goType(pkg, n, outcome), Method: method(n.kind), Optional: n.optional()}
	switch base := n.base(); base.kind {
	case crossing.KindTensor:
		r.Element = base.element
	case crossing.KindClass:
		r.Object = base.object
	case crossing.KindCallable:
		r.Bound = p.newCall(pkg, base.params, base.names, base.result, false)
	}
	return r
}
