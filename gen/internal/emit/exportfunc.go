package emit

import (
	"fmt"
	"go/types"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// plainMethods are the methods of call frames for types that need no codec. The
// method packs an argument; with Do before its name, it makes a call with such a result.
var plainMethods = map[types.BasicKind]string{types.Int64: "Int", types.Float64: "Float", types.Bool: "Bool", types.String: "String"}

func plainMethod(t types.Type) string {
	if b, ok := t.(*types.Basic); ok {
		return plainMethods[b.Kind()]
	}
	return ""
}

// frameSizes are the sizes of bindrt.Call1 and so on.
var frameSizes = []int{1, 2, 3, 4, 6, 8, 12, 16}

// callee returns the code that reads argument i as a func without reflection. It returns
// nil for packed functions and for those with many parameters.
func (e *exporter) callee(t types.Type, i int) jen.Code {
	s, ok := types.Unalias(t).(*types.Signature)
	if !ok || s.Variadic() || s.Params().Len() > 8 {
		return nil
	}
	if s.Params().Len() == 1 && types.TypeString(s.Params().At(0).Type(), nil) == "[]"+plan.Runtime+".Any" {
		return nil
	}
	n := s.Params().Len()
	units := max(1, n)
	params, packs := make([]jen.Code, n), make([]jen.Code, n)
	for p := range n {
		pt := s.Params().At(p).Type()
		y := jen.Id(e.numbered("y", p))
		params[p] = jen.Add(y)
		if p+1 == n || !types.Identical(pt, s.Params().At(p+1).Type()) {
			params[p] = jen.Add(y).Add(e.goType(pt))
		}
		if m := plainMethod(pt); m != "" {
			packs[p] = jen.Id(e.c).Dot(m).Call(jen.Lit(p), y)
		} else {
			packs[p] = bindrt("Put").Call(jen.Op("&").Id(e.c).Dot("Call"), jen.Lit(p), y)
		}
		if plainMethod(pt) == "String" {
			units += 3 // room for a short text
		}
	}
	at := slices.IndexFunc(frameSizes, func(size int) bool { return size >= units })
	if at < 0 {
		at = len(frameSizes) - 1
	}
	body := []jen.Code{
		jen.Var().Id(e.c).Add(bindrt(fmt.Sprintf("Call%d", frameSizes[at]))),
		jen.Id(e.c).Dot("BeginFunction").Call(bindrt("Ref").Call(jen.Id(e.fn)), jen.Lit(n)),
	}
	body = append(body, packs...)
	results, do := e.calleeResults(s)
	body = append(body, do...)
	wrap := jen.Func().Params(jen.Id(e.fn).Op("*").Add(runtime("Function"))).Add(e.goType(s)).Block(
		jen.Return(jen.Func().Params(params...).Add(results).Block(body...)))
	return exportrt("Callee").Call(jen.Id(e.a), jen.Lit(i), wrap)
}

// calleeResults returns the results of the func type s, and the statements that make the call
// and return them. A func without an error panics with it, which ends the exported func with
// this error.
func (e *exporter) calleeResults(s *types.Signature) (results *jen.Statement, do []jen.Code) {
	var list []jen.Code
	for r := range s.Results().Variables() {
		list = append(list, e.goType(r.Type()))
	}
	n := len(list)
	fails := n > 0 && types.Identical(s.Results().At(n-1).Type(), types.Universe.Lookup("error").Type())
	if fails {
		n--
	}
	frame := jen.Op("&").Id(e.c).Dot("Call")
	values := []jen.Code{jen.Id(e.r)}
	call := jen.Id(e.c).Dot("Do").Call()
	switch n {
	case 0:
		values = nil
	case 1:
		if m := plainMethod(s.Results().At(0).Type()); m != "" {
			call = jen.Id(e.c).Dot("Do" + m).Call()
		} else {
			call = bindrt("Do").Types(list[0]).Call(frame)
		}
	default:
		values = nil
		for i := range n {
			values = append(values, jen.Id(e.r).Dot(string(rune('A'+i))))
		}
		call = bindrt("Do").Types(runtime(fmt.Sprintf("Tuple%d", n)).Types(list[:n]...)).Call(frame)
	}
	results = jen.Params(list...)
	switch {
	case fails && n < 2:
		return results, []jen.Code{jen.Return(call)}
	case fails:
		return results, []jen.Code{
			jen.List(jen.Id(e.r), jen.Id(e.err)).Op(":=").Add(call),
			jen.Return(append(values, jen.Id(e.err))...),
		}
	case n == 0:
		return results, []jen.Code{jen.If(jen.Id(e.err).Op(":=").Add(call), jen.Id(e.err).Op("!=").Nil()).Block(jen.Panic(jen.Id(e.err)))}
	}
	return results, []jen.Code{
		jen.List(jen.Id(e.r), jen.Id(e.err)).Op(":=").Add(call),
		jen.If(jen.Id(e.err).Op("!=").Nil()).Block(jen.Panic(jen.Id(e.err))),
		jen.Return(values...),
	}
}
