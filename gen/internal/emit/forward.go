package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// forward writes a func that calls a constructor or a static method of another package.
func (e *emitter) forward(f *plan.Forward) {
	to := jen.Qual(f.To.Owner.Pkg.Path, f.To.GoName)
	head := jen.Func().Id(f.GoName)
	if f.Call == nil {
		e.add(document(f.GoName, f.Doc), head.Params(jen.Id("args").Op("...").Any()).Params(runtime("Any"), jen.Error()).Block(
			jen.Return(to.Call(jen.Id("args").Op("...")))))
		return
	}
	list, args := params(f.Call.Params), make([]jen.Code, len(f.Call.Params))
	for i, p := range f.Call.Params {
		args[i] = jen.Id(p.Name)
	}
	if in := f.To.Init; in != nil && in.OptionType != "" {
		options := jen.Id(f.Call.Locals.Options).Op("...")
		list = append(list, jen.Add(options).Qual(f.To.Owner.Pkg.Path, in.OptionType))
		args = append(args, options)
	}
	e.add(document(f.GoName, f.Doc), head.Params(list...).Add(e.resultTypes(f.Call)).Block(jen.Return(to.Call(args...))))
}
