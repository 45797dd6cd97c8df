package emit

import (
	"math"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// optionType writes the interface of the options of a function.
func (e *emitter) optionType(f *plan.Func) {
	o := f.Call.Options
	if o == nil {
		return
	}
	e.add(wrap(o.Type+" is an option of ["+f.Path()+"]."),
		jen.Type().Id(o.Type).Interface(jen.Id(o.Marker).Params()),
		jen.Line(), jen.Func().Params(jen.Id(e.pkg.OptionBase)).Id(o.Marker).Params().Block())
}

// constant writes the packing of a default.
func (b body) constant(g *jen.Group, d *plan.Default, i jen.Code) {
	switch v := d.Value.(type) {
	case nil: // an argument that is not packed is None
	case spec.DType:
		g.Add(b.frame().Dot("DataType").Call(i, element(v)))
	default:
		g.Add(b.frame().Dot(d.Method).Call(i, literal(v)))
	}
}

// optionFunc writes the func that makes an option.
func (e *emitter) optionFunc(o *plan.OptionFunc) {
	if e.pkg.Options[0] == o {
		e.add(wrap(e.pkg.OptionBase+" is each option of this package."), jen.Type().Id(e.pkg.OptionBase).Struct(bindrt("Option")))
	}
	if len(o.Users) > 1 {
		types := make([]jen.Code, len(o.Users))
		for i, f := range o.Users {
			types[i] = jen.Id(f.Call.Options.Type)
		}
		e.add(wrap(o.Type+" is what ["+o.GoName+"] returns, an option of several functions."), jen.Type().Id(o.Type).Interface(types...))
	}
	v := jen.Id("v")
	made := bindrt("NewOption").Call(jen.Lit(o.Name), given(o.Value, v))
	if o.Value.Element != nil {
		made = bindrt("TensorOption").Call(jen.Lit(o.Name), v, element(*o.Value.Element))
	}
	e.add(document(o.GoName, o.Doc), heading(o.Heading(e.pkg)).Block(
		jen.Return(jen.Id(e.pkg.OptionBase).Values(made))))
}

// enum writes the Go type of an enum.
func (e *emitter) enum(n *plan.Enum) {
	underlying := jen.Id(n.Integer)
	if n.Text {
		underlying = jen.String()
	}
	text, is := foreign(n.Doc, nil), []string{"// " + n.GoName + " is an enum of the library."}
	if len(text) > 0 && strings.HasPrefix(text[0], "// "+n.GoName+" ") {
		is = nil
	}
	doc := paragraphs(is, text)
	e.add(doc, jen.Type().Id(n.GoName).Add(underlying))
	e.add([]string{"// The values of " + n.GoName + "."}, jen.Const().DefsFunc(func(g *jen.Group) {
		for _, m := range n.Members {
			g.Id(m.GoName).Id(n.GoName).Op("=").Add(literal(m.Value))
		}
	}))
	body := []jen.Code{jen.Return(jen.String().Call(jen.Id("v")))}
	if !n.Text {
		cases := []jen.Code{}
		for _, m := range n.Members {
			cases = append(cases, jen.Case(jen.Id(m.GoName)).Block(jen.Return(jen.Lit(m.Name))))
		}
		body = []jen.Code{jen.Switch(jen.Id("v")).Block(cases...), jen.Return(bindrt("EnumText").Call(jen.Lit(n.GoName), jen.Int64().Call(jen.Id("v"))))}
	}
	e.add(wrap("String returns the name of the value in the library."), jen.Func().Params(jen.Id("v").Id(n.GoName)).Id("String").Params().String().Block(body...))
}

// enumValue writes the value of an enum as a plain one.
func enumValue(n *plan.Enum, x *jen.Statement) *jen.Statement {
	if n.Text {
		return jen.String().Call(x)
	}
	return jen.Int64().Call(x)
}

// literal writes a constant without its type.
func literal(v any) jen.Code {
	if f, ok := v.(float64); ok && f == 0 && math.Signbit(f) {
		return jen.Qual("math", "Copysign").Call(jen.Lit(0), jen.Lit(-1)) // the constant -0.0 of Go is 0
	}
	if n, ok := v.(int64); ok {
		return jen.Op(strconv.FormatInt(n, 10))
	}
	return jen.Lit(v)
}
