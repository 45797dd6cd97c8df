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
// nil if the last result of the func is not an error, and for packed functions.
func (e *exporter) callee(t types.Type, i int) jen.Code {
	s, ok := types.Unalias(t).(*types.Signature)
	if !ok || s.Variadic() || s.Results().Len() == 0 || s.Params().Len() > 8 ||
		!types.Identical(s.Results().At(s.Results().Len()-1).Type(), types.Universe.Lookup("error").Type()) {
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

// calleeResults returns the results of the func type s, whose last is an error, and the
// statements that make the call and return them.
func (e *exporter) calleeResults(s *types.Signature) (results *jen.Statement, do []jen.Code) {
	call := jen.Op("&").Id(e.c).Dot("Call")
	switch n := s.Results().Len() - 1; n {
	case 0:
		return jen.Error(), []jen.Code{jen.Return(jen.Id(e.c).Dot("Do").Call())}
	case 1:
		t := s.Results().At(0).Type()
		results = jen.Params(e.goType(t), jen.Error())
		if m := plainMethod(t); m != "" {
			return results, []jen.Code{jen.Return(jen.Id(e.c).Dot("Do" + m).Call())}
		}
		return results, []jen.Code{jen.Return(bindrt("Do").Types(e.goType(t)).Call(call))}
	default:
		var elems, values []jen.Code
		for i := range n {
			elems = append(elems, e.goType(s.Results().At(i).Type()))
			values = append(values, jen.Id(e.r).Dot(string(rune('A'+i))))
		}
		tuple := runtime(fmt.Sprintf("Tuple%d", n)).Types(elems...)
		return jen.Params(append(elems, jen.Error())...), []jen.Code{
			jen.List(jen.Id(e.r), jen.Id(e.err)).Op(":=").Add(bindrt("Do").Types(tuple).Call(call)),
			jen.Return(append(values, jen.Id(e.err))...),
		}
	}
}
