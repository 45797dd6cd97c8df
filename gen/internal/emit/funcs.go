package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// function writes a function or method and the variable behind it.
func (e *emitter) function(f *plan.Func) {
	e.add(nil, jen.Var().Id(f.Var).Op("=").Add(bindrt("Func")).Values(e.funcFields(f)...))
	switch {
	case f.Call == nil:
		e.packed(f)
	case f.Init != nil:
		e.constructor(f)
	default:
		e.add(document(f.GoName, f.Doc), heading(f.Heading()).BlockFunc(func(g *jen.Group) {
			b := body{e, f.Call}
			b.write(g, b.frame().Dot("Begin").Call(address(f.Var), jen.Lit(f.Call.Count)), f.Method)
		}))
		e.optionType(f)
	}
}

func (e *emitter) funcFields(f *plan.Func) []jen.Code {
	var fields []jen.Code
	set := func(name string, value jen.Code) { fields = append(fields, jen.Id(name).Op(":").Add(value)) }
	if f.Owner != nil {
		set("Owner", address(f.Owner.Var))
	} else {
		set("Library", address(f.Set.Name))
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
	switch {
	case f.Brief == nil:
	case *f.Brief:
		set("Brief", bindrt("Always"))
	default:
		set("Brief", bindrt("Never"))
	}
	return fields
}

// heading writes the declaration of a function without its body.
func heading(h plan.Heading) *jen.Statement {
	s := jen.Func()
	if h.Receiver != nil {
		s.Params(pointerTo(h.Self, h.Receiver))
	}
	list := params(h.Params)
	if h.Rest != "" {
		list = append(list, jen.Id(h.Rest).Op("...").Add(goType(h.RestType)))
	}
	return s.Id(h.Name).Params(list...).Add(resultTypes(h.Results, h.Alias))
}

// resultTypes writes result types. The object that the first one points to has an alias in this package unless alias is
// "": then go doc lists the function below the alias.
func resultTypes(types []plan.GoType, alias string) jen.Code {
	codes := make([]jen.Code, len(types))
	for i, t := range types {
		codes[i] = goType(t)
	}
	if alias != "" {
		codes[0] = jen.Op("*").Id(alias)
	}
	if len(codes) == 1 {
		return codes[0]
	}
	return jen.Params(codes...)
}

func pointerTo(name string, o *plan.Object) jen.Code { return jen.Id(name).Op("*").Id(o.GoName) }

// params writes parameters. Adjacent parameters of one type share it.
func params(list []plan.Param) []jen.Code {
	codes := make([]jen.Code, len(list))
	for i, p := range list {
		name := jen.Id(p.Name)
		if i+1 == len(list) || !p.Type.Same(list[i+1].Type) {
			name.Add(goType(p.Type))
		}
		codes[i] = name
	}
	return codes
}

// A body writes the statements of a typed function.
type body struct {
	*emitter
	*plan.Call
}

func (b body) frame() *jen.Statement { return jen.Id(b.Locals.Frame) }

// call returns the address of the Call in the frame, which the functions of bindrt take.
func (b body) call() *jen.Statement { return jen.Op("&").Id(b.Locals.Frame).Dot("Call") }

// write writes the body: begin, pack, do, unpack.
func (b body) write(g *jen.Group, begin jen.Code, method bool) {
	g.Var().Id(b.Locals.Frame).Add(bindrt(b.Frame))
	g.Add(begin)
	if method {
		g.Add(b.frame()).Dot("Self").Call(jen.Lit(0), ref(jen.Id(b.Locals.Receiver)))
	}
	for i, p := range b.Params {
		if b.Options != nil && i >= b.Options.First {
			b.constant(g, p.Default, jen.Lit(p.At))
		} else {
			b.pack(g, p, jen.Lit(p.At))
		}
	}
	for _, f := range b.Fixed {
		b.constant(g, f.Value, jen.Lit(f.At))
	}
	if b.Options != nil {
		g.Add(bindrt("PutOptions").Call(b.call(), jen.Lit(b.OptionNames()), jen.Id(b.Locals.Options)))
	}
	b.finish(g)
}

// finish writes the call and the result.
func (b body) finish(g *jen.Group) {
	switch r := b.Result; {
	case r == nil:
		g.Return(b.frame().Dot("Do").Call())
	case r.Bound != nil:
		b.bound(g)
	case r.Element != nil:
		g.Return(bindrt("DoTensor").Call(b.call(), element(*r.Element)))
	case r.Object != nil:
		g.Return(bindrt("DoObject").Types(goType(*r.Type.Elem)).Call(b.call(), b.typeOf(r.Object)))
	case r.Type.Narrow():
		v, err := jen.Id(b.Locals.Value), jen.Id(b.Locals.Err)
		g.List(v, err).Op(":=").Add(b.frame()).Dot("Do" + r.Method).Call()
		g.Return(bindrt("Integer").Types(goType(r.Type)).Call(b.call(), v, err))
	case r.Method != "":
		g.Return(b.frame().Dot("Do" + r.Method).Call())
	default:
		g.Return(bindrt("Do").Types(goType(r.Type)).Call(b.call()))
	}
}

// bound writes the result of a function that returns a typed function.
func (b body) bound(g *jen.Group) {
	fn, err := jen.Id(b.Locals.Fn), jen.Id(b.Locals.Err)
	g.List(fn, err).Op(":=").Add(bindrt("Do")).Types(jen.Op("*").Add(runtime("Function"))).Call(b.call())
	g.If(jen.Add(err).Op("!=").Nil().Op("||").Add(fn).Op("==").Nil()).Block(jen.Return(jen.Nil(), err))
	in := body{b.emitter, b.Result.Bound}
	inner := heading(plan.Bound(b.pkg, in.Call)).BlockFunc(func(g *jen.Group) {
		in.write(g, in.frame().Dot("BeginFunction").Call(ref(fn), jen.Lit(in.Count)), false)
	})
	g.Return(bindrt("Bind").Call(fn, inner), jen.Nil())
}

func ref(x jen.Code) *jen.Statement { return bindrt("Ref").Call(x) }

// typeOf writes the descriptor of a type.
func (e *emitter) typeOf(o *plan.Object) jen.Code {
	name, foreign := e.pkg.TypeName(o)
	if foreign {
		return jen.Id(name).Call()
	}
	return address(name)
}

// pack writes the packing of one argument.
func (b body) pack(g *jen.Group, p plan.Param, i jen.Code) {
	c, x := b.frame(), jen.Id(p.Name)
	switch {
	case p.Type.Enum != nil:
		x = enumValue(p.Type.Enum, x)
	case p.Type.Narrow():
		x = jen.Int64().Call(x)
	}
	switch p.Pack {
	case plan.PackMethod:
		g.Add(c.Dot(p.Method).Call(i, x))
	case plan.PackBytes:
		g.If(jen.Id(p.Name).Op("!=").Nil()).Block(c.Dot("Bytes").Call(i, x))
	case plan.PackPointer:
		call := c.Dot("Object").Call(i, ref(x))
		if p.Align > 1 {
			call = bindrt("PutAligned").Call(b.call(), i, x, jen.Lit(p.Align))
		}
		if p.OrEmpty {
			g.If(jen.Id(p.Name).Op("!=").Nil()).Block(call).Else().Block(bindrt("Put").Call(b.call(), i, value(p.OrEmpty, x)))
		} else {
			g.Add(call)
		}
	case plan.PackTensor:
		g.Add(bindrt("PutTensor").Call(b.call(), i, x, element(*p.Element)))
	case plan.PackRef:
		g.If(jen.Id(p.Name).Op("!=").Nil()).Block(c.Dot("Object").Call(i, ref(x.Dot(p.Object.Marker).Call())))
	case plan.PackRoot:
		g.Add(bindrt("PutObject").Call(b.call(), i, x))
	case plan.PackCallback:
		call := bindrt("Callback").Call(b.call(), i, x, b.callback(p))
		if p.Optional {
			g.If(jen.Id(p.Name).Op("!=").Nil()).Block(call)
		} else {
			g.Add(call)
		}
	case plan.PackValue:
		g.Add(bindrt("Put").Call(b.call(), i, value(p.OrEmpty, x)))
	}
}

// elements are the types of elements that have a name in the runtime.
var elements = map[spec.DType]string{
	spec.Bool: "Bool", spec.Int8: "Int8", spec.Int16: "Int16", spec.Int32: "Int32", spec.Int64: "Int64", spec.Uint8: "Uint8",
	spec.Uint16: "Uint16", spec.Uint32: "Uint32", spec.Uint64: "Uint64", spec.Float16: "Float16", spec.BFloat16: "BFloat16",
	spec.Float32: "Float32", spec.Float64: "Float64", spec.Float8E4M3FN: "Float8E4M3FN", spec.Float8E5M2: "Float8E5M2",
}

// element writes the type of the elements of a tensor.
func element(t spec.DType) jen.Code {
	if name := elements[t]; name != "" {
		return runtime(name)
	}
	field := func(name string, n int) jen.Code { return jen.Id(name).Op(":").Lit(n) }
	return runtime("DataType").Values(field("Code", int(t.Code)), field("Bits", int(t.Bits)), field("Lanes", int(t.Lanes)))
}

// given writes the value of a parameter that a codec takes: a narrow integer as an int64.
func given(p plan.Param, x jen.Code) jen.Code {
	if p.Type.Narrow() {
		return jen.Int64().Call(x)
	}
	return value(p.OrEmpty, x)
}

// value writes x, of which nil is None, unless nil stands for an empty container.
func value(orEmpty bool, x jen.Code) jen.Code {
	if orEmpty {
		return bindrt("OrEmpty").Call(x)
	}
	return x
}

// callback writes the adapter that a library calls for a Go func.
func (b body) callback(p plan.Param) jen.Code {
	f, local := p.Type.Func, b.Locals
	return jen.Func().Params(jen.Id(local.Args).Op("*").Add(bindrt("Args"))).Error().BlockFunc(func(g *jen.Group) {
		args := make([]jen.Code, len(f.Params))
		read := reader{local.Args, local.OK}
		for i, t := range f.Params {
			arg := "Arg"
			if t.Narrow() {
				arg = "IntegerArg"
			}
			for _, line := range read.argument(local.Values[i], i, short[t.Name], bindrt(arg).Types(goType(t)).Call(jen.Id(local.Args), jen.Lit(i))) {
				g.Add(line)
			}
			args[i] = jen.Id(local.Values[i])
		}
		g.Add(ifErr(local.Err, jen.Id(local.Err).Op(":=").Id(local.Args).Dot("Check").Call(jen.Lit(len(f.Params)))))
		call := jen.Id(p.Name).Call(args...)
		if f.Result == nil {
			g.Return(call)
			return
		}
		g.List(jen.Id(local.Value), jen.Id(local.Err)).Op(":=").Add(call)
		g.Add(ifErr(local.Err))
		if f.Result.Narrow() {
			g.Return(read.result(jen.Int64().Call(jen.Id(local.Value)), "Int"))
			return
		}
		g.Return(read.result(value(f.OrEmpty, jen.Id(local.Value)), short[f.Result.Name]))
	})
}

// short names the methods of bindrt.Args for the most frequent types of arguments and
// results of callbacks. The compiler inlines them into the adapter.
var short = map[string]string{"int64": "Int", "float64": "Float", "bool": "Bool"}

// A reader writes how a callback reads args and returns a result. The variable ok is
// true if a value has the usual form.
type reader struct{ args, ok string }

// argument reads argument i into a variable: by the method, if there is one and the
// value has its form, and otherwise by the call.
func (r reader) argument(name string, i int, method string, call jen.Code) []jen.Code {
	if method == "" {
		return []jen.Code{jen.Id(name).Op(":=").Add(call)}
	}
	return []jen.Code{
		jen.List(jen.Id(name), jen.Id(r.ok)).Op(":=").Id(r.args).Dot(method).Call(jen.Lit(i)),
		jen.If(jen.Op("!").Id(r.ok)).Block(jen.Id(name).Op("=").Add(call)),
	}
}

// result writes the result of a callback.
func (r reader) result(value jen.Code, method string) jen.Code {
	if method == "" {
		return bindrt("Return").Call(jen.Id(r.args), value)
	}
	return jen.Id(r.args).Dot("Return" + method).Call(value)
}

// ifErr writes: if err, which the statement may set, is not nil, return it.
func ifErr(err string, statement ...jen.Code) jen.Code {
	return jen.If(append(statement, jen.Id(err).Op("!=").Nil())...).Block(jen.Return(jen.Id(err)))
}

// packed writes a function without types.
func (e *emitter) packed(f *plan.Func) {
	h := f.Heading()
	args := jen.Id(h.Rest)
	call := bindrt("CallPacked").Call(address(f.Var), args)
	if f.Method {
		call = bindrt("CallPackedMethod").Call(address(f.Var), ref(jen.Id(h.Self)), args)
	}
	e.add(document(f.GoName, f.Doc), heading(h).Block(jen.Return(call)))
}

// line writes the body of a func on the line of its signature.
func line(statement jen.Code) jen.Code { return jen.Op("{").Add(statement).Op("}") }
