package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/tvmffi-go/tvmffi/gen/internal/source"
)

// interruptible returns the statement that runs body with a context.
func (e *exporter) interruptible(body []jen.Code) jen.Code {
	return jen.Return(exportrt("Interruptible").Call(jen.Id(e.a), jen.Func().Params(jen.Id(e.ctx).Qual("context", "Context")).Error().Block(body...)))
}

// contained returns the statement that runs body, which may call runtime.Goexit.
func (e *exporter) contained(body []jen.Code) jen.Code {
	return jen.Return(exportrt("Contained").Call(jen.Id(e.a), jen.Func().Params().Error().Block(body...)))
}

// method returns the exportrt.Function of a method without its type, which a context needs.
func (e *exporter) method(t *source.Type, m *source.Function) *jen.Statement {
	var global []jen.Code
	if m.Context {
		global = append(global, field("Global", jen.Lit(e.key(t)+"."+m.Name)))
	}
	return e.direct(t.GoName+"."+m.Name, m, t, global...)
}

// directOf returns the code of a method for exportrt.Method.
func (e *exporter) directOf(t *source.Type, m *source.Function) jen.Code {
	if !m.Context {
		return exportrt("Function").Add(e.method(t, m))
	}
	for i, other := range e.contextMethods() {
		if other.method == m {
			return jen.Id("tvmffiExports").Dot("Methods").Index(jen.Lit(i))
		}
	}
	panic("emit: " + m.GoName + " is not a method of the package")
}

// contextMethod is a method with a context, which has an asynchronous form too. So it is
// among the exports, where other methods are only with their types.
type contextMethod struct {
	owner  *source.Type
	method *source.Function
}

func (e *exporter) contextMethods() []contextMethod {
	var all []contextMethod
	for _, t := range e.Types {
		for _, m := range t.Methods {
			if m.Context {
				all = append(all, contextMethod{t, m})
			}
		}
	}
	return all
}
