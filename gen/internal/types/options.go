package types

import (
	"slices"

	"github.com/tvmffi-go/tvmffi/gen/internal/classify"
	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// Complete gives the parameters and the result of a function the enums of its item, and makes
// options of the last parameters if they have defaults.
func (p *Types) Complete(f *plan.Func, it *classify.Item) error {
	c := f.Call
	defaults := slices.Clone(it.Defaults)
	for i := range c.Params {
		if e := it.Enums[i]; e != nil {
			p.setEnum(f.Pkg, &c.Params[i].Type, e)
		}
		if it.Fixed[i] != nil {
			defaults[i] = it.Fixed[i]
		}
		c.Params[i].Default = defaults[i]
	}
	defer fix(c, it.Fixed)
	if e := it.Enums[len(c.Params)]; e != nil && c.Result != nil {
		p.setEnum(f.Pkg, &c.Result.Type, e)
		c.Result.Method = "" // the codec knows named types
	}
	first := len(c.Params)
	for first > 0 && defaults[first-1] != nil {
		first--
	}
	if first == len(c.Params) {
		return nil
	}
	c.Options = &plan.Options{First: first}
	own := it.Signature.Params[len(it.Signature.Params)-len(c.Params):]
	for i := first; i < len(c.Params); i++ {
		t := own[i].Type.Normalized()
		if t.Name == "Optional" && c.Params[i].Default.Method == "" {
			t = t.Args[0] // without the option, the parameter is None
		}
		value, err := p.FieldParam(f.Pkg, t, own[i].Name)
		if err != nil {
			return err
		}
		if e := it.Enums[i]; e != nil {
			p.setEnum(f.Pkg, &value.Type, e)
		}
		c.Options.Funcs = append(c.Options.Funcs, &plan.OptionFunc{Name: plan.Camel(own[i].Name), Value: value, Users: []*plan.Func{f}})
	}
	return nil
}

// fix takes the parameters with a fixed argument out of a call.
func fix(c *plan.Call, fixed []*plan.Default) {
	var params []plan.Param
	var options plan.Options
	for i, param := range c.Params {
		option := c.Options != nil && i >= c.Options.First
		if fixed[i] != nil {
			c.Fixed = append(c.Fixed, plan.Fixed{At: param.At, Value: fixed[i]})
			continue
		}
		if option {
			options.Funcs = append(options.Funcs, c.Options.Funcs[i-c.Options.First])
		}
		params = append(params, param)
	}
	c.Params = params
	if c.Options != nil {
		c.Options = nil
		if options.First = len(params) - len(options.Funcs); len(options.Funcs) > 0 {
			c.Options = &options
		}
	}
}

// setEnum puts an enum in place of an integer, string or any, or of what a pointer points to. An enum has the width of the
// integers that it stands for, if they have the same everywhere in a package.
func (p *Types) setEnum(pkg *plan.Package, t *plan.GoType, n *classify.Named) {
	e := p.enum(pkg, n)
	to := t
	if t.Elem != nil {
		to = t.Elem
	}
	switch width := "int64"; {
	case e.Text:
	case to.Narrow():
		width = to.Name
		fallthrough
	default:
		if e.Integer != "" && e.Integer != width {
			width = "int64"
		}
		e.Integer = width
	}
	*to = plan.GoType{Enum: e}
}

// enum returns the Go type of an enum in a package.
func (p *Types) enum(pkg *plan.Package, n *classify.Named) *plan.Enum {
	if pkg.Enums[n.Name] == nil {
		e := &plan.Enum{Name: n.Name, Pkg: pkg, Doc: n.Doc, Text: n.Text()}
		for _, name := range n.Members() {
			e.Members = append(e.Members, plan.Member{Name: name, Value: n.Values[name].Value})
		}
		pkg.Enums[n.Name] = e
	}
	return pkg.Enums[n.Name]
}
