package source

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/types"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/fieldtag"
)

// options reads the options of a func or a method: lend, and defaults of parameters.
func (r *reader) options(f *Function, d directive) {
	if !takesDefaults(d.verb) {
		return
	}
	for _, o := range d.options {
		if o == wordLend {
			f.Lend = true
			continue
		}
		name, text, _ := strings.Cut(o, "=")
		r.setDefault(f, d, name, text)
	}
	if f.Lend {
		r.lend(f, d)
	}
	for i, p := range f.Params {
		if i > 0 && f.Params[i-1].Default != nil && p.Default == nil && !p.Variadic {
			r.fail(d.pos, "parameter %s of %s has no default, but %s before it has one: add %s=VALUE", nameOr(p.Name, i), f.GoName, f.Params[i-1].Name, nameOr(p.Name, i))
			return
		}
	}
}

// setDefault gives a parameter its default.
func (r *reader) setDefault(f *Function, d directive, name, text string) {
	at := slices.IndexFunc(f.Params, func(p Param) bool { return p.Name == name && name != "_" })
	switch {
	case f.Packed:
		r.fail(d.pos, "%s takes any arguments, which have no defaults: remove %s=", f.GoName, name)
		return
	case at < 0:
		r.fail(d.pos, "%s has no parameter %q for a default: %s", f.GoName, name, f.parameterNames())
		return
	}
	p := &f.Params[at]
	switch {
	case p.Default != nil:
		r.fail(d.pos, "parameter %s of %s has two defaults: remove one", name, f.GoName)
		return
	case p.Variadic:
		r.fail(d.pos, "parameter %s of %s is variadic, and so empty by default: remove %s=", name, f.GoName, name)
		return
	}
	switch types.Unalias(p.Type).Underlying().(type) {
	case *types.Slice, *types.Map:
		if text == "nil" {
			r.fail(d.pos, "parameter %s of %s: other languages have no nil of type %s: give it the type *%[3]s, or remove %[1]s=", name, f.GoName, r.text(p.Type))
			return
		}
	}
	if text != "nil" || !hasNil(p.Type) {
		why := r.refuseDefault(text, p.Type)
		if value, ok := r.constant(d, text, p.Type); ok && why != "" {
			text, why = value, r.refuseDefault(value, p.Type)
		}
		if why != "" {
			r.fail(d.pos, "parameter %s of %s: %s", name, f.GoName, strings.ReplaceAll(strings.ReplaceAll(why, "a tag cannot", "a directive cannot"), "remove default=", "remove "+name+"="))
			return
		}
	}
	if d, err := fieldtag.Duration(text); err == nil && isNamed(pointed(p.Type), "time", "Duration") {
		text = strconv.FormatInt(int64(d), 10)
	}
	p.Default = &text
}

// constant returns the value of a constant whose name, such as Limit or math.MaxInt16, is the
// default of a parameter of type t, as a default has it. The file of the directive must see it.
// A text stands for itself, unless its type has constants: then one of that type may be named.
func (r *reader) constant(d directive, name string, t types.Type) (text string, ok bool) {
	t = pointed(t)
	switch x, err := parser.ParseExpr(name); x.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		if err != nil {
			return "", false
		}
	default:
		return "", false
	}
	c, err := types.Eval(r.pkg.Fset, r.pkg.Types, d.pos, name)
	b, isBasic := types.Unalias(t).Underlying().(*types.Basic)
	if err != nil || c.Value == nil || !isBasic || !types.AssignableTo(c.Type, t) {
		return "", false
	}
	switch value := c.Value; {
	case b.Info()&types.IsBoolean != 0:
		return value.String(), true
	case b.Info()&types.IsInteger != 0:
		value = constant.ToInt(value)
		return value.ExactString(), value.Kind() == constant.Int
	case b.Info()&types.IsFloat != 0:
		x, _ := constant.Float64Val(constant.ToFloat(value))
		return strconv.FormatFloat(x, 'g', -1, 64), !math.IsInf(x, 0)
	case b.Info()&types.IsString != 0:
		return constant.StringVal(value), types.Identical(c.Type, t)
	}
	return "", false
}

// hasNil reports whether nil is a default that other languages can give, as None.
func hasNil(t types.Type) bool {
	switch types.Unalias(t).Underlying().(type) {
	case *types.Pointer, *types.Signature, *types.Interface:
		return true
	}
	return false
}

// parameterNames lists the parameters in an error.
func (f *Function) parameterNames() string {
	var names []string
	for _, p := range f.Params {
		if p.Name != "" && p.Name != "_" {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return "it has none with a name"
	}
	return "it has " + strings.Join(names, ", ")
}

// lend marks the slices whose memory other languages share.
func (r *reader) lend(f *Function, d directive) {
	found := false
	mark := func(params []Param) {
		for i := range params {
			params[i].Lent = !params[i].Variadic && lendable(params[i].Type)
			found = found || params[i].Lent
		}
	}
	if !f.Packed {
		mark(f.Params)
	}
	mark(f.Results)
	if !found {
		r.fail(d.pos, "lend has no effect: %s has no parameter or result such as []float32, a slice of ints or floats", f.GoName)
	}
	made := slices.IndexFunc(f.Results, func(p Param) bool { return r.makesOpaque(p.Type, nil) })
	lent := slices.IndexFunc(f.Params, func(p Param) bool { return p.Lent })
	if d.verb != verbMethod && made >= 0 && lent >= 0 {
		p := f.Params[lent]
		r.fail(d.pos, "lend of %s: the object that it returns could keep %s, which is memory of the caller, after the call: remove lend, or take %[2]s as a *tvmffi.Tensor and read it by tvmffi.Slice",
			f.GoName, nameOr(p.Name, lent))
	}
}

// makesOpaque reports whether a value of type t is a pointer to the struct of an opaque class, or may have or return one. within
// are the types around t.
func (r *reader) makesOpaque(t types.Type, within []types.Type) bool {
	t = types.Unalias(t)
	if slices.Contains(within, t) {
		return false
	}
	within = append(within, t)
	has := func(t types.Type) bool { return r.makesOpaque(t, within) }
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return r.opaque(u.Elem()) || has(u.Elem())
	case *types.Slice:
		return has(u.Elem())
	case *types.Array:
		return has(u.Elem())
	case *types.Map:
		return has(u.Key()) || has(u.Elem())
	case *types.Struct:
		for i := range u.NumFields() {
			if has(u.Field(i).Type()) {
				return true
			}
		}
	case *types.Signature: // a func, or an iter.Seq, whose yield takes one
		for _, vars := range []*types.Tuple{u.Params(), u.Results()} {
			for v := range vars.Variables() {
				if has(v.Type()) {
					return true
				}
			}
		}
	}
	return false
}

// lendable reports whether t is a slice that can be the memory of a tensor.
func lendable(t types.Type) bool {
	s, ok := types.Unalias(t).Underlying().(*types.Slice)
	if !ok {
		return false
	}
	b, ok := types.Unalias(s.Elem()).Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsInteger|types.IsFloat|types.IsBoolean) != 0 && b.Kind() != types.Uintptr
}
