package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// function writes a function or method and the variable behind it.
func (e *emitter) function(f *plan.Func) {
	e.add(nil, jen.Var().Id(f.Var).Op("=").Add(bindrt("Func")).Values(e.funcFields(f)...))
	head := jen.Func()
	if f.Method {
		head.Params(receiver(f.Owner))
	}
	head.Id(f.GoName)
	switch {
	case f.Call == nil:
		e.packed(f, head)
	case f.Init != nil:
		e.constructor(f, head)
	default:
		e.add(document(f.GoName, f.Doc), head.Params(params(f.Call.Params)...).Add(resultTypes(f.Call)).BlockFunc(func(g *jen.Group) {
			e.body(g, f.Call, jen.Id("c").Dot("Begin").Call(address(f.Var), jen.Lit(f.Call.Count)), f.Method)
		}))
	}
}

func (e *emitter) funcFields(f *plan.Func) []jen.Code {
	var fields []jen.Code
	set := func(name string, value jen.Code) { fields = append(fields, jen.Id(name).Op(":").Add(value)) }
	if f.Owner != nil {
		set("Owner", address(f.Owner.Var))
	} else {
		set("Library", address(e.pkg.Library))
	}
	if f.Module != "" {
		set("Module", jen.Lit(f.Module))
	}
	set("Name", jen.Lit(f.Name))
	if f.Init != nil {
		set("Attribute", jen.True())
	}
	if f.Sig != "" {
		set("Sig", jen.Lit(f.Sig))
	}
	return fields
}

func receiver(o *plan.Object) jen.Code { return jen.Id("x").Op("*").Id(o.GoName) }

func params(list []plan.Param) []jen.Code {
	codes := make([]jen.Code, len(list))
	for i, p := range list {
		codes[i] = jen.Id(p.Name).Add(goType(p.Type))
	}
	return codes
}

func resultTypes(c *plan.Call) jen.Code {
	if c.Result == nil {
		return jen.Error()
	}
	return results(&c.Result.Type)
}

// body writes a typed body: begin, pack, do, unpack.
func (e *emitter) body(g *jen.Group, c *plan.Call, begin jen.Code, method bool) {
	g.Var().Id("c").Add(bindrt(c.Frame))
	g.Add(begin)
	at := 0
	if method {
		g.Id("c").Dot("Self").Call(jen.Lit(0), ref(jen.Id("x")))
		at = 1
	}
	for i, p := range c.Params {
		e.pack(g, p, jen.Lit(at+i))
	}
	e.finish(g, c.Result)
}

// finish writes the crossing and the result.
func (e *emitter) finish(g *jen.Group, r *plan.Result) {
	switch {
	case r == nil:
		g.Return(jen.Id("c").Dot("Do").Call())
	case r.Bound != nil:
		e.bound(g, r)
	case r.Object != nil:
		g.Return(bindrt("DoObject").Types(goType(*r.Type.Elem)).Call(frame(), e.typeOf(r.Object)))
	case r.Method != "":
		g.Return(jen.Id("c").Dot("Do" + r.Method).Call())
	default:
		g.Return(bindrt("Do").Types(goType(r.Type)).Call(frame()))
	}
}

// bound writes the result of a function that returns a typed function.
func (e *emitter) bound(g *jen.Group, r *plan.Result) {
	g.List(jen.Id("fn"), jen.Err()).Op(":=").Add(bindrt("Do")).Types(jen.Op("*").Add(runtime("Function"))).Call(frame())
	g.If(jen.Err().Op("!=").Nil().Op("||").Id("fn").Op("==").Nil()).Block(jen.Return(jen.Nil(), jen.Err()))
	c := r.Bound
	inner := jen.Func().Params(params(c.Params)...).Add(resultTypes(c)).BlockFunc(func(g *jen.Group) {
		e.body(g, c, jen.Id("c").Dot("BeginFunction").Call(ref(jen.Id("fn")), jen.Lit(c.Count)), false)
	})
	g.Return(bindrt("Bind").Call(jen.Id("fn"), inner), jen.Nil())
}

// frame is the part of a frame that bindrt's functions work on.
func frame() jen.Code { return jen.Op("&").Id("c").Dot("Call") }

func ref(x jen.Code) *jen.Statement { return bindrt("Ref").Call(x) }

// typeOf is the descriptor of a type: a variable of this package, or what the
// type of another package says.
func (e *emitter) typeOf(o *plan.Object) jen.Code {
	if o.Pkg == e.pkg {
		return address(o.Var)
	}
	return jen.Parens(jen.Op("*").Add(goType(plan.GoType{Object: o}))).Call(jen.Nil()).Dot("TVMFFIType").Call(jen.Nil())
}

// pack writes the packing of one argument.
func (e *emitter) pack(g *jen.Group, p plan.Param, i jen.Code) {
	c, x := jen.Id("c"), jen.Id(p.Name)
	switch p.Pack {
	case plan.PackMethod:
		g.Add(c.Dot(p.Method).Call(i, x))
	case plan.PackBytes:
		g.If(jen.Id(p.Name).Op("!=").Nil()).Block(c.Dot("Bytes").Call(i, x))
	case plan.PackPointer:
		g.Add(c.Dot("Object").Call(i, ref(x)))
	case plan.PackRef:
		g.If(jen.Id(p.Name).Op("!=").Nil()).Block(c.Dot("Object").Call(i, ref(x.Dot(p.Object.Marker).Call())))
	case plan.PackRoot:
		g.Add(bindrt("PutObject").Call(frame(), i, x))
	case plan.PackCallback:
		call := bindrt("Callback").Call(frame(), i, x, callback(p))
		if p.Optional {
			g.If(jen.Id(p.Name).Op("!=").Nil()).Block(call)
		} else {
			g.Add(call)
		}
	case plan.PackValue:
		g.Add(bindrt("Put").Call(frame(), i, x))
	}
}

// callback writes the adapter through which a library calls a Go func.
func callback(p plan.Param) jen.Code {
	f := p.Type.Func
	return jen.Func().Params(jen.Id("a").Op("*").Add(bindrt("Args"))).Error().BlockFunc(func(g *jen.Group) {
		args := make([]jen.Code, len(f.Params))
		for i, t := range f.Params {
			name := plan.CallbackArg(i)
			for _, line := range argument(name, i, short[t.Name], bindrt("Arg").Types(goType(t))) {
				g.Add(line)
			}
			args[i] = jen.Id(name)
		}
		returnIfErr(g, jen.Err().Op(":=").Id("a").Dot("Check").Call(jen.Lit(len(f.Params))))
		call := jen.Id(p.Name).Call(args...)
		if f.Result == nil {
			g.Return(call)
			return
		}
		g.List(jen.Id("v"), jen.Err()).Op(":=").Add(call)
		g.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Err()))
		g.Return(result(jen.Id("v"), short[f.Result.Name]))
	})
}

// short names the methods of bindrt.Args for the types that most arguments and
// results of callbacks have: they become a part of the adapter.
var short = map[string]string{"int64": "Int", "float64": "Float", "bool": "Bool"}

// argument reads argument i of a callback into a variable: by the method, if there is
// one for the type, and else, or if the value is another, by read.
func argument(name string, i int, method string, read jen.Code) []jen.Code {
	call := jen.Add(read).Call(jen.Id("a"), jen.Lit(i))
	if method == "" {
		return []jen.Code{jen.Id(name).Op(":=").Add(call)}
	}
	return []jen.Code{
		jen.List(jen.Id(name), jen.Id("ok")).Op(":=").Id("a").Dot(method).Call(jen.Lit(i)),
		jen.If(jen.Op("!").Id("ok")).Block(jen.Id(name).Op("=").Add(call)),
	}
}

// result gives back the result of a callback.
func result(value jen.Code, method string) jen.Code {
	if method == "" {
		return bindrt("Return").Call(jen.Id("a"), value)
	}
	return jen.Id("a").Dot("Return" + method).Call(value)
}

func returnIfErr(g *jen.Group, statement jen.Code) {
	g.If(statement, jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Err()))
}

// packed writes a function without types.
func (e *emitter) packed(f *plan.Func, head *jen.Statement) {
	anyType := runtime("Any")
	e.add(document(f.GoName, f.Doc), head.Params(jen.Id("args").Op("...").Any()).Params(anyType, jen.Error()).BlockFunc(func(g *jen.Group) {
		count, at := jen.Len(jen.Id("args")), jen.Id("i")
		if f.Method {
			count, at = jen.Len(jen.Id("args")).Op("+").Lit(1), jen.Id("i").Op("+").Lit(1)
		}
		g.Var().Id("c").Add(bindrt("CallN"))
		g.Id("c").Dot("Begin").Call(address(f.Var), count)
		if f.Method {
			g.Id("c").Dot("Self").Call(jen.Lit(0), ref(jen.Id("x")))
		}
		g.For(jen.List(jen.Id("i"), jen.Id("v")).Op(":=").Range().Id("args")).Block(
			bindrt("Put").Call(frame(), at, jen.Id("v")))
		g.Return(bindrt("Do").Types(runtime("Any")).Call(frame()))
	}))
}
