package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/tvmffi-go/tvmffi/gen/internal/source"
)

// errorType describes an error type for the runtime.
func (e *exporter) errorType(t *source.ErrorType) jen.Code {
	value := jen.Id(e.err)
	if t.Pointer {
		value = address(e.err)
	}
	return exportrt("ErrorOf").Call(jen.Lit(e.prefixed(t.Kind)), jen.Lit(t.Base),
		jen.Func().Params(jen.Id(e.err).Id(t.GoName)).Error().Block(jen.Return(value)))
}
