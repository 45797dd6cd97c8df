package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/tvmffi-go/tvmffi/gen/internal/source"
)

// body returns the body of a callback for f, which is a method of t unless t is nil.
func (e *exporter) body(f *source.Function, t *source.Type) []jen.Code {
	if t == nil || !t.Closes(f) {
		return e.call(f, t)
	}
	function := methodOf(t, f)
	if !f.Fails {
		self := jen.Id(e.self)
		function = jen.Func().Params(jen.Add(self).Op("*").Id(t.GoName)).Error().Block(
			jen.Add(self).Dot(f.GoName).Call(), jen.Return(jen.Nil()))
	}
	body := []jen.Code{jen.Return(exportrt("Close").Call(jen.Id(e.a), jen.Lit(t.GoName), jen.Lit(f.Name), function))}
	if f.Exits {
		body = []jen.Code{e.contained(body)}
	}
	return body
}

// receiver reads the receiver of a method of an opaque type, which must be there and open.
func (e *exporter) receiver(f *source.Function, t *source.Type) []jen.Code {
	read := exportrt("Receiver").Types(jen.Id(t.GoName)).Call(jen.Id(e.a), jen.Lit(t.GoName), jen.Lit(f.Name))
	return []jen.Code{jen.List(jen.Id(e.self), jen.Id(e.err)).Op(":=").Add(read), ifErr(e.err)}
}

// constructor writes the constructor of a type.
func (e *exporter) constructor(t *source.Type, f *source.Function) jen.Code {
	args := []jen.Code{jen.Lit("__ffi_init__"), e.visible(f, nil)}
	if f.Doc != "" {
		args = append(args, runtime("Doc").Call(jen.Lit(f.Doc)))
	}
	var values []jen.Code
	for _, p := range f.Params {
		if p.Default != nil {
			values = append(values, e.value(*p.Default, p.Type))
		}
	}
	defaults := jen.Nil()
	if len(values) > 0 { // a func, because an init function must not load libtvm_ffi for a data type
		defaults = jen.Func().Params().Index().Any().Block(jen.Return(jen.Index().Any().Values(values...)))
	}
	direct := exportrt("Constructor").Call(exportrt("Function").Add(e.direct(t.GoName, f, nil)), defaults)
	return define("StaticMethod").Call(append(append(args, e.paramOptions(f)...), direct)...)
}

// errorType describes an error type for the runtime.
func (e *exporter) errorType(t *source.ErrorType) jen.Code {
	value := jen.Id(e.err)
	if t.Pointer {
		value = address(e.err)
	}
	return exportrt("ErrorOf").Call(jen.Lit(e.prefixed(t.Kind)), jen.Lit(t.Base),
		jen.Func().Params(jen.Id(e.err).Id(t.GoName)).Error().Block(jen.Return(value)))
}
