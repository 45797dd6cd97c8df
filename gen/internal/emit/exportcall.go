package emit

import (
	"fmt"
	"go/types"
	"slices"
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/tvmffi-go/tvmffi/gen/internal/source"
)

// methodOf returns the func of a method, with the object as its first parameter.
func methodOf(t *source.Type, m *source.Function) *jen.Statement {
	if m.Pointer {
		return jen.Parens(jen.Op("*").Id(t.GoName)).Dot(m.GoName)
	}
	return jen.Id(t.GoName).Dot(m.GoName)
}

// origin returns the Go func behind f, which is a method of t unless t is nil.
func origin(f *source.Function, t *source.Type) *jen.Statement {
	if t != nil {
		return methodOf(t, f)
	}
	return jen.Id(f.GoName)
}

// callFields returns the fields of an exportrt.Function that say how to call f, which is a
// method of t unless t is nil.
func (e *exporter) callFields(f *source.Function, t *source.Type) []jen.Code {
	var fields []jen.Code
	if n := f.Optional(); n > 0 {
		fields = append(fields, field("Optional", jen.Lit(n)))
	}
	if f.Variadic() {
		fields = append(fields, field("Variadic", jen.True()))
	}
	if t == nil {
		fields = append(fields, field("Func", e.visible(f, t)))
	}
	if t != nil || !asItIs(f) {
		fields = append(fields, field("Origin", origin(f, t)))
	}
	if f.Context {
		fields = append(fields, field("Context", jen.True()))
	}
	call := jen.Func().Params(jen.Id(e.a).Op("*").Add(bindrt("Args"))).Error().Block(e.body(f, t)...)
	return append(fields, field("Call", call))
}

// asItIs reports whether other languages see the signature of the Go func.
func asItIs(f *source.Function) bool {
	if f.Context || f.Packed {
		return false
	}
	for _, p := range f.Params {
		if p.Lent {
			return false
		}
	}
	for _, r := range f.Results {
		if r.Lent || source.IsSequence(r.Type) {
			return false
		}
	}
	return true
}

// visible returns a func with the signature that other languages see.
func (e *exporter) visible(f *source.Function, t *source.Type) jen.Code {
	switch {
	case f.Packed:
		return runtime("Packed").Call(jen.Nil())
	case asItIs(f):
		return origin(f, t)
	}
	var params, results []jen.Code
	if t != nil {
		self := jen.Id(t.GoName)
		if f.Pointer {
			self = jen.Op("*").Id(t.GoName)
		}
		params = append(params, self)
	}
	for _, p := range f.Params {
		switch {
		case p.Variadic:
			params = append(params, jen.Op("...").Add(e.goType(p.Type)))
		case p.Lent:
			params = append(params, tensorType())
		default:
			params = append(params, e.goType(p.Type))
		}
	}
	for _, r := range f.Results {
		switch {
		case r.Lent:
			results = append(results, tensorType())
		case source.IsSequence(r.Type):
			results = append(results, jen.Func().Params().Op("*").Add(runtime("Tuple1")).Types(e.yielded(r.Type)))
		default:
			results = append(results, e.goType(r.Type))
		}
	}
	if f.Fails {
		results = append(results, jen.Error())
	}
	return jen.Parens(jen.Func().Params(params...).Params(results...)).Call(jen.Nil())
}

func tensorType() *jen.Statement { return jen.Op("*").Add(runtime("Tensor")) }

// yielded returns the type of the values of a sequence.
func (e *exporter) yielded(t types.Type) jen.Code {
	var all []jen.Code
	for _, y := range source.Yields(t) {
		all = append(all, e.goType(y))
	}
	if len(all) == 1 {
		return all[0]
	}
	return runtime("Tuple2").Types(all...)
}

// call returns the body that reads the arguments, calls the func and returns its result.
func (e *exporter) call(f *source.Function, t *source.Type) []jen.Code {
	var code, args []jen.Code
	called := jen.Id(f.GoName)
	first := 0
	if t != nil {
		first = 1
		self, object := jen.Id(e.self), jen.Id(t.GoName)
		if f.Pointer && !t.Opaque {
			object = jen.Op("*").Add(define("Instance").Types(jen.Id(t.GoName)))
			self = jen.Id(e.p)
		}
		if t.Opaque {
			code = e.receiver(f, t)
		} else {
			code = append(code, jen.Id(e.self).Op(":=").Add(bindrt("Arg").Types(object).Call(jen.Id(e.a), jen.Lit(0))))
		}
		called = self.Dot(f.GoName)
	}
	if f.Context {
		args = append(args, jen.Id(e.ctx))
	}
	for i, p := range f.Params {
		read, arg := e.parameter(f, p, i, first)
		code = append(code, read...)
		args = append(args, arg)
	}
	check := jen.Id(e.a).Dot("Check").Call(jen.Lit(first + len(f.Params)))
	switch {
	case f.Packed:
		check = jen.Id(e.a).Dot("Check").Call(jen.Id(e.a).Dot("Len").Call())
	case f.Variadic() || f.Optional() > 0:
		check = jen.Id(e.a).Dot("CheckCount").Call()
	}
	code = append(code, ifErr(e.err, jen.Id(e.err).Op(":=").Add(check)))
	called = called.Call(args...)
	var body []jen.Code
	if t != nil && f.Pointer && !t.Opaque {
		body = e.update(f, t, called)
	} else {
		body = e.finish(f, called)
	}
	switch {
	case f.Context:
		body = []jen.Code{e.interruptible(body)}
	case f.Exits:
		body = []jen.Code{e.contained(body)}
	}
	return append(code, body...)
}

// parameter returns the code that reads parameter i, and the argument for the Go func. The
// arguments of other languages begin with number first.
func (e *exporter) parameter(f *source.Function, p source.Param, i, first int) (read []jen.Code, arg jen.Code) {
	x := jen.Id(e.argument(i))
	at := []jen.Code{jen.Id(e.a), jen.Lit(first + i)}
	set := func(value jen.Code) []jen.Code { return []jen.Code{jen.Add(x).Op(":=").Add(value)} }
	switch {
	case f.Packed:
		read = set(exportrt("Rest").Types(e.goType(p.Type.Underlying().(*types.Slice).Elem())).Call(at...))
		if f.Spread {
			return read, jen.Add(x).Op("...")
		}
		return read, x
	case p.Variadic:
		return set(exportrt("Rest").Types(e.goType(p.Type)).Call(at...)), jen.Add(x).Op("...")
	case p.Lent:
		elem := types.Unalias(p.Type).Underlying().(*types.Slice).Elem()
		return set(exportrt("Borrowed").Types(e.goType(elem)).Call(at...)), x
	}
	if callee := e.callee(p.Type, first+i); callee != nil && p.Default == nil {
		return set(callee), x
	}
	if class := e.opaque(p.Type); class != nil && p.Default == nil {
		return set(exportrt("Object").Types(e.goType(class)).Call(at...)), x
	}
	typ := e.goType(p.Type)
	arg = x
	method, cast := quick(p.Type)
	if cast { // the method reads an int64
		arg, typ = jen.Add(typ).Call(x), jen.Int64()
	}
	if p.Default == nil {
		return reader{e.a, e.ok}.argument(e.argument(i), first+i, method, bindrt("Arg").Types(typ).Call(at...)), arg
	}
	value := e.value(*p.Default, p.Type)
	return reader{e.a, e.ok}.argument(e.argument(i), first+i, method, exportrt("ArgOr").Types(typ).Call(append(at, value)...)), arg
}

// opaque returns the type of an opaque class to which t is a pointer, or nil.
func (e *exporter) opaque(t types.Type) types.Type {
	p, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return nil
	}
	all := slices.Clone(e.Types)
	for _, in := range e.Included {
		all = append(all, in.Source.Types...)
	}
	named, ok := types.Unalias(p.Elem()).(*types.Named)
	if ok && slices.ContainsFunc(all, func(c *source.Type) bool { return c.Opaque && c.Object == named.Obj() }) {
		return named
	}
	return nil
}

// value writes a default, whose text source has checked, as a value of type t.
func (e *exporter) value(text string, t types.Type) jen.Code {
	u := types.Unalias(t).Underlying()
	if p, ok := u.(*types.Pointer); ok && text != "nil" {
		elem := p.Elem()
		return exportrt("Pointer").Types(e.goType(elem)).Call(e.value(text, elem))
	}
	b, ok := u.(*types.Basic)
	if !ok {
		if text == "nil" {
			return jen.Nil()
		}
		return exportrt("Parsed").Types(e.goType(t)).Call(jen.Lit(text)) // a data type
	}
	switch info := b.Info(); {
	case info&types.IsString != 0:
		return jen.Lit(text)
	case info&types.IsBoolean != 0:
		x, _ := strconv.ParseBool(text)
		return jen.Lit(x)
	case info&types.IsUnsigned != 0:
		x, _ := strconv.ParseUint(text, 0, 64)
		return jen.Op(strconv.FormatUint(x, 10))
	case info&types.IsInteger != 0:
		x, _ := strconv.ParseInt(text, 0, 64)
		return jen.Op(strconv.FormatInt(x, 10))
	}
	x, _ := strconv.ParseFloat(text, 64)
	if short := strconv.FormatFloat(x, 'g', -1, 64); x-x == 0 && (x != 0 || short == "0") {
		return jen.Op(short)
	}
	return exportrt("Parsed").Types(e.goType(t)).Call(jen.Lit(text)) // NaN, an infinity or -0
}

// quick returns the method of short for t, if there is one. If cast is true, t is an
// int, and the method uses int64.
func quick(t types.Type) (method string, cast bool) {
	basic, ok := types.Unalias(t).(*types.Basic)
	if !ok {
		return "", false
	}
	if basic.Kind() == types.Int {
		return "Int", true
	}
	return short[basic.Name()], false
}

// finish returns the statements that call the func and return its results.
func (e *exporter) finish(f *source.Function, called *jen.Statement) []jen.Code {
	n := len(f.Results)
	switch {
	case n == 0 && f.Fails:
		return []jen.Code{jen.Return(called)}
	case n == 0:
		return []jen.Code{called, jen.Return(jen.Nil())}
	case n == 1 && !f.Fails:
		return []jen.Code{e.give(f.Results[0], called)}
	}
	names := e.resultNames(f)
	set := names
	if f.Fails {
		set = append(slices.Clone(names), jen.Id(e.err))
	}
	code := []jen.Code{jen.List(set...).Op(":=").Add(called)}
	if f.Fails {
		code = append(code, ifErr(e.err))
	}
	return append(code, e.giveAll(f, names))
}

// update returns the statements that call a method with a pointer to the fields of its
// object, and return its results when the fields that it changed are set.
func (e *exporter) update(f *source.Function, t *source.Type, called *jen.Statement) []jen.Code {
	names := e.resultNames(f)
	var code []jen.Code
	for i, r := range f.Results {
		code = append(code, jen.Var().Add(names[i]).Add(e.goType(r.Type)))
	}
	body := []jen.Code{called, jen.Return(jen.Nil())}
	result := jen.Error()
	switch set := names; {
	case f.Fails && len(names) == 0:
		body = []jen.Code{jen.Return(called)}
	case f.Fails:
		set = append(slices.Clone(names), jen.Id(e.err))
		result = jen.Params(jen.Id(e.err).Error())
		body = []jen.Code{jen.List(set...).Op("=").Add(called), jen.Return(jen.Id(e.err))}
	case len(names) > 0:
		body[0] = jen.List(names...).Op("=").Add(called)
	}
	update := jen.Id(e.self).Dot("Update").Call(jen.Func().Params(jen.Id(e.p).Op("*").Id(t.GoName)).Add(result).Block(body...))
	if len(names) == 0 {
		return append(code, jen.Return(update))
	}
	return append(code, ifErr(e.err, jen.Id(e.err).Op(":=").Add(update)), e.giveAll(f, names))
}

// resultNames returns the variables that hold the results.
func (e *exporter) resultNames(f *source.Function) []jen.Code {
	if len(f.Results) == 1 {
		return []jen.Code{jen.Id(e.r)}
	}
	var names []jen.Code
	for i := range f.Results {
		names = append(names, jen.Id(e.numbered("r", i)))
	}
	return names
}

// giveAll returns the statement that returns the results, several as a tuple.
func (e *exporter) giveAll(f *source.Function, names []jen.Code) jen.Code {
	if len(names) == 1 {
		return e.give(f.Results[0], names[0])
	}
	var elems, values []jen.Code
	for i, r := range f.Results {
		value, typ := e.packed(r, names[i])
		elems, values = append(elems, typ), append(values, field(string(rune('A'+i)), value))
	}
	tuple := runtime(fmt.Sprintf("Tuple%d", len(names))).Types(elems...).Values(values...)
	return jen.Return(bindrt("Return").Call(jen.Id(e.a), tuple))
}

// give returns the statement that returns the only result.
func (e *exporter) give(r source.Param, value jen.Code) jen.Code {
	if r.Lent || source.IsSequence(r.Type) {
		value, _ = e.packed(r, value)
		return jen.Return(bindrt("Return").Call(jen.Id(e.a), value))
	}
	method, cast := quick(r.Type)
	if cast {
		value = jen.Int64().Call(value)
	}
	return jen.Return(reader{e.a, e.ok}.result(value, method))
}

// packed returns the value that crosses for a result, and its type.
func (e *exporter) packed(r source.Param, value jen.Code) (packed, typ jen.Code) {
	switch {
	case r.Lent:
		return exportrt("Lend").Call(jen.Id(e.a), value), runtime("Moved")
	case source.IsSequence(r.Type):
		name := "Sequence"
		if len(source.Yields(r.Type)) == 2 {
			name = "Sequence2"
		}
		return exportrt(name).Call(jen.Id(e.a), value), runtime("Moved")
	}
	return value, e.goType(r.Type)
}
