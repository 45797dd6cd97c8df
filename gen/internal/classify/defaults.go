package classify

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/internal/nearest"
	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// A Named is an enum and its name.
type Named struct {
	Name string
	hints.Enum
}

// defaults applies the defaults and enums of the hints to an item, whose parameters have their
// names and types; own has the types of the library. A default in a names file that fits only
// those is left out: an earlier hint knows more.
func (p *Items) defaults(it *Item, all []*sourcedHint, params, own []schema.Param) {
	it.Defaults, it.Enums, it.Fixed = make([]*plan.Default, len(params)), make([]*Named, len(params)+1), make([]*plan.Default, len(params))
	all = slices.DeleteFunc(slices.Clone(all), func(h *sourcedHint) bool { // of another version, as names notes
		return len(h.item.Params) > 0 && len(h.item.Params) != len(params)
	})
	for _, h := range all {
		for _, name := range slices.Sorted(maps.Keys(h.item.Enum)) {
			h.enum(it, params, name)
		}
	}
	decided := make([]bool, len(params))
	for _, h := range all {
		for _, name := range h.item.Required {
			if i := h.parameter(params, "required", name); i >= 0 {
				decided[i] = true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(h.item.Default)) {
			i := h.parameter(params, "default", name)
			if i < 0 || decided[i] {
				continue
			}
			decided[i] = true
			var err error
			if it.Defaults[i], err = p.constant(params[i].Type.Normalized(), h.item.Default[name], it.Enums[i]); err != nil {
				if _, err2 := p.constant(own[i].Type.Normalized(), h.item.Default[name], nil); err2 == nil && !hints.HasWidth(params[i].Type) {
					h.fail(err, "default", name)
				} else {
					h.refuse(err, "default", name)
				}
				continue
			}
			for j := range params {
				if j != i && it.Defaults[j] != nil && plan.Camel(params[j].Name) == plan.Camel(params[i].Name) {
					h.refuse(fmt.Errorf("%s would be the option %s too: give one of the two another name under params, or list it under required",
						params[j].Name, plan.Camel(params[j].Name)), "default", name)
				}
			}
		}
	}
}

// parameter returns the index of a parameter, -1 if there is none of this name.
func (h *sourcedHint) parameter(params []schema.Param, part, name string) int {
	i := h.index(name, params)
	if i < 0 {
		h.fail(fmt.Errorf("there is no such parameter; %s", known(name, params)), part, name)
	}
	return i
}

// enum gives a parameter or the result an enum, unless an earlier hint has done so.
func (h *sourcedHint) enum(it *Item, params []schema.Param, name string) {
	i, t := len(params), it.Signature.Return
	if name != hints.Returns {
		if i = h.parameter(params, "enum", name); i < 0 {
			return
		}
		t = params[i].Type
	}
	if it.Enums[i] != nil {
		return
	}
	enum, err := h.items.enumOf(h.item.Enum[name])
	if err == nil {
		if t = t.Normalized(); t.Name == "Optional" {
			t = t.Args[0]
		}
		want := "int"
		if enum.Text() {
			want = "ffi.String"
		}
		switch plain := hints.Plain(t).Name; {
		case plain != want && plain != "Any":
			err = fmt.Errorf("the type is %s, and the values of %s are of type %s", t, enum.Name, want)
		case plain != t.Name:
			err = enum.within(t)
		}
	}
	if err != nil {
		h.refuse(err, "enum", name)
		return
	}
	it.Enums[i] = enum
}

// within returns an error if a value of the enum is not in the range of t, an int of a certain width.
func (n *Named) within(t schema.TypeSchema) error {
	width, _ := hints.IntegerOf(t)
	for _, member := range n.Members() {
		if v, _ := n.Values[member].Value.(int64); !width.Holds(v) {
			return fmt.Errorf("the type is %s, which has numbers %s, and %s of %s is %d: correct the value, or the type", t, width.Range(), member, n.Name, v)
		}
	}
	return nil
}

// enumOf returns an enum of the configuration, or else of the first names file that has it.
func (p *Items) enumOf(name string) (*Named, error) {
	if e, ok := p.Config.Enums[name]; ok {
		return &Named{name, e}, nil
	}
	all := slices.Collect(maps.Keys(p.Config.Enums))
	for _, file := range p.Config.Names {
		if e, ok := file.Enums[name]; ok {
			return &Named{name, e}, nil
		}
		all = slices.AppendSeq(all, maps.Keys(file.Enums))
	}
	slices.Sort(all)
	return nil, fmt.Errorf("there is no enum %q; write it under enums%s", name, nearest.Question(name, slices.Compact(all)))
}

// refuse reports a problem that a newer library does not explain, with the place in the
// configuration or in the names file.
func (h *sourcedHint) refuse(err error, part ...string) {
	if h.key != "" {
		h.fail(err, part...)
		return
	}
	h.items.failAt(err, append([]string{"names", strconv.Itoa(h.file), "items", h.name}, part...)...)
}

// constant returns how a default is packed for a parameter of a type, which may be an enum.
func (p *Items) constant(t schema.TypeSchema, c hints.Constant, enum *Named) (*plan.Default, error) {
	if enum != nil && c.Value != nil {
		members := enum.Members()
		i := slices.IndexFunc(members, func(name string) bool { return enum.Values[name] == c })
		if i < 0 { // a text may be the value of one member and the name of another
			i = slices.IndexFunc(members, func(name string) bool { return c.Value == name })
		}
		if i >= 0 {
			v := enum.Values[members[i]]
			as, _, _ := p.Keys.Constant(t, v.Value)
			return &plan.Default{Method: methods[as], Value: v.Value, Member: members[i], Text: v.String()}, nil
		}
		return nil, fmt.Errorf("%s is not a value of the enum %s, which has %s", c, enum.Name, strings.Join(enum.Members(), ", "))
	}
	as, value, ok := p.Keys.Constant(t, c.Value)
	d := &plan.Default{Method: methods[as], Value: value, Text: hints.Constant{Value: value}.String()}
	switch {
	case value == nil:
		d.Text = "nil"
	case as == "DataType":
		dtype, err := spec.ParseDType(value.(string))
		if err != nil {
			return nil, err
		}
		d.Value, d.Text = dtype, dtype.String()
	}
	if !ok {
		numbers := ""
		if n, narrow := hints.IntegerOf(t); narrow {
			numbers = ", which has numbers " + n.Range()
		}
		return nil, fmt.Errorf("%s cannot be the default of a parameter of type %s%s: correct it or remove it", c, t, numbers)
	}
	return d, nil
}

// fixed returns the value that a kernel was compiled with, if the note of a parameter says one: None, Int(5),
// Bool(True) or Float(1.5).
func fixed(note string) *plan.Default {
	f, err := spec.Parse("f(x: " + note + ")")
	if err != nil || len(f.Params) != 1 {
		return nil
	}
	c, ok := f.Params[0].(spec.Const)
	if !ok {
		return nil
	}
	as := ""
	switch c.Value.(type) {
	case bool:
		as = "bool"
	case int64:
		as = "int"
	case float64:
		as = "float"
	}
	return &plan.Default{Method: methods[as], Value: c.Value, Text: hints.Constant{Value: c.Value}.String()}
}

// methods are the methods of frames for constants, by their types.
var methods = map[string]string{"bool": "Bool", "int": "Int", "float": "Float", "ffi.String": "String", "const char*": "String", "DataType": "DataType"}
