package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// constructor writes an auto constructor with its options.
func (e *emitter) constructor(f *plan.Func) {
	in, b := f.Init, body{e, f.Call}
	options, option := jen.Id(f.Call.Locals.Options), jen.Id(f.Call.Locals.Option)
	count := jen.Lit(0)
	if in.OptionType != "" {
		count = jen.Len(options)
	}
	e.add(document(f.GoName, f.Doc), heading(f.Heading()).BlockFunc(func(g *jen.Group) {
		g.Var().Add(b.frame()).Add(bindrt(f.Call.Frame))
		g.Add(b.frame()).Dot("BeginInit").Call(address(f.Var), jen.Lit(in.Positional), jen.Lit(len(in.Keywords)), count)
		pack := func(p plan.Param, i func() jen.Code) {
			b.pack(g, p, i())
			if p.Type.Bits() {
				g.Add(b.frame()).Dot("Bits").Call(i())
			}
		}
		for i, p := range f.Call.Params[:in.Positional] {
			pack(p, func() jen.Code { return jen.Lit(i) })
		}
		for i, p := range f.Call.Params[in.Positional:] {
			g.Add(b.frame()).Dot("Keyword").Call(jen.Lit(in.Keywords[i]))
			pack(p, func() jen.Code { return b.frame().Dot("Next").Call() })
		}
		if in.OptionType != "" {
			g.For(jen.List(jen.Id("_"), option).Op(":=").Range().Add(options)).Block(
				bindrt("PutOption").Call(jen.Op("&").Add(b.frame()), bindrt("Option").Call(option)))
		}
		b.finish(g)
	}))
	if in.OptionType == "" {
		return
	}
	e.add([]string{"// " + in.OptionType + " is an option of " + f.GoName + "."}, jen.Type().Id(in.OptionType).Add(bindrt("Option")))
	for _, o := range in.Options {
		if o.GoName != "" {
			e.option(in.OptionType, o)
		}
	}
}

func (e *emitter) option(optionType string, o *plan.Option) {
	made := bindrt("NewOption").Call(jen.Lit(o.Name), given(o.Value, jen.Id("v")))
	if o.Value.Type.Bits() {
		made = bindrt("BitsOption").Call(jen.Lit(o.Name), jen.Id("v"))
	}
	e.add(document(o.GoName, o.Doc), heading(o.Heading(e.pkg, optionType)).Block(jen.Return(jen.Id(optionType).Call(made))))
}
