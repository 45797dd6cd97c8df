package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// constructor writes an auto constructor with its options.
func (e *emitter) constructor(f *plan.Func, head *jen.Statement) {
	in := f.Init
	list := params(f.Call.Params)
	count := jen.Lit(0)
	if in.OptionType != "" {
		list = append(list, jen.Id("options").Op("...").Id(in.OptionType))
		count = jen.Len(jen.Id("options"))
	}
	e.add(document(f.GoName, f.Doc), head.Params(list...).Add(resultTypes(f.Call)).BlockFunc(func(g *jen.Group) {
		g.Var().Id("c").Add(bindrt(f.Call.Frame))
		g.Id("c").Dot("BeginInit").Call(address(f.Var), jen.Lit(in.Positional), jen.Lit(len(in.Keywords)), count)
		for i, p := range f.Call.Params[:in.Positional] {
			e.pack(g, p, jen.Lit(i))
		}
		for i, p := range f.Call.Params[in.Positional:] {
			g.Id("c").Dot("Keyword").Call(jen.Lit(in.Keywords[i]))
			e.pack(g, p, jen.Id("c").Dot("Next").Call())
		}
		if in.OptionType != "" {
			g.For(jen.List(jen.Id("_"), jen.Id("o")).Op(":=").Range().Id("options")).Block(
				bindrt("PutOption").Call(jen.Op("&").Id("c"), bindrt("Option").Call(jen.Id("o"))))
		}
		e.finish(g, f.Call.Result)
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
	e.add(document(o.GoName, o.Doc), jen.Func().Id(o.GoName).Params(jen.Id("v").Add(goType(o.Value.Type))).Id(optionType).Block(
		jen.Return(jen.Id(optionType).Call(bindrt("NewOption").Call(jen.Lit(o.Name), jen.Id("v"))))))
}
