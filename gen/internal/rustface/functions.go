package rustface

import (
	"cmp"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
)

// form says where a function stands.
type form struct {
	indent string
	// name is the name in Rust, and options that of the struct of its defaults.
	name, options string
	// static declares the function that is called, such as library::Func::new("add").
	kind, static string
	// start is the name for the asynchronous form, and async its name in Rust.
	start, async string
	// receiver is "&self" for a method.
	receiver string
	// class is set for a constructor, whose result is Self.
	class *face.Class
}

// call is a function with its parameters in the forms of Rust.
type call struct {
	generics []string // the parameters, "name: type"
	args     []string // expressions that make an Any
	rest     string   // an expression that makes a Vec of the variadic arguments
	defaults []option
}

// prepare finds the forms of the parameters of f.
func (w *writer) prepare(f *face.Function, receiver string) call {
	var c call
	names := newScope()
	if receiver != "" {
		c.generics = append(c.generics, receiver)
		c.args = append(c.args, "library::shared(self)")
	}
	fields := newScope() // of the struct of options
	options := ""
	for _, p := range f.Params {
		if p.Default != nil && !p.Variadic {
			if options == "" {
				options = names.take("options")
			}
		}
	}
	for _, p := range f.Params {
		switch {
		case p.Default != nil && !p.Variadic:
			o := option{name: fields.take(snake(p.Name)), typ: p.Type, value: p.Default}
			if len(c.defaults) == 0 {
				c.generics = append(c.generics, options+": OPTIONS")
			}
			c.defaults = append(c.defaults, o)
			c.args = append(c.args, w.to(p.Type, "&"+options+"."+o.name))
		case p.Variadic:
			name := names.take(snake(p.Name))
			c.generics = append(c.generics, name+": impl ::std::iter::IntoIterator<Item = "+w.item(p.Type)+">")
			c.rest = "library::each(" + name + ", " + w.maker(p.Type, "&x") + ")?"
		default:
			name := names.take(snake(p.Name))
			typ, expr := w.param(p.Type, name)
			c.generics = append(c.generics, name+": "+typ)
			c.args = append(c.args, expr)
		}
	}
	return c
}

// function writes f.
func (w *writer) function(f *face.Function, at form) {
	c := w.prepare(f, at.receiver)
	if f.Packed {
		c.generics = append(c.generics, "args: &[::tvm_ffi::AnyView<'_>]")
	}
	typ, expr := w.value(f.Result()), w.from(f.Result(), "&result")
	if at.class != nil {
		typ, expr = "Self", "library::get::<Self>(&result)"
	}
	w.comment(at.indent, "///", f.Doc, w.otherwise(f), w.notes(f, c, at)...)
	w.body(at.indent, at.name, params(c, at.options), typ, "FUNCTION: "+at.kind+" = "+at.static, "let result = "+c.invoke(f.Packed)+";", expr)
	if at.async == "" {
		return
	}
	w.comment(at.indent, "///", f.Doc, w.otherwise(f), append(w.notes(f, c, at), "It returns at once. The result is a future, which can also be waited for and cancelled.")...)
	start := "library::Async::start(FUNCTION.get()?, ::std::vec![" + joined(c.args) + "], " + cmp.Or(c.rest, "::std::vec::Vec::new()") + ", " + w.mapper(f.Result()) + ")"
	w.body(at.indent, at.async, params(c, at.options), "library::Async<"+typ+">", "FUNCTION: library::Start = library::Start::new("+quoted(at.start)+")", start)
}

// body writes a function with a static, which finds what the library has when it is used first.
func (w *writer) body(indent, name, params, typ, static string, lines ...string) {
	w.p("%[1]spub fn %[2]s(%[3]s) -> %[4]s<%[5]s> {\n%[1]s    static %[6]s;\n", indent, name, params, result, typ, static)
	for _, line := range lines {
		w.p("%s    %s\n", indent, line)
	}
	w.p("%s}\n\n", indent)
}

func params(c call, options string) string {
	return strings.ReplaceAll(joined(c.generics), "OPTIONS", options)
}

// invoke returns the expression of a call.
func (c call) invoke(packed bool) string {
	switch {
	case packed && len(c.args) == 0:
		return "FUNCTION.get()?.call_packed(args)?"
	case packed:
		return "library::call_packed(FUNCTION.get()?, [" + joined(c.args) + "], args)?"
	case c.rest != "":
		return "library::call_all(FUNCTION.get()?, [" + joined(c.args) + "], " + c.rest + ")?"
	}
	return "library::call(FUNCTION.get()?, [" + joined(c.args) + "])?"
}

// otherwise is the doc of a function without one.
func (w *writer) otherwise(f *face.Function) string {
	return "`" + f.GoName + "` of the Go package " + w.lib.Path + "."
}

// notes say what Rust shows differently.
func (w *writer) notes(f *face.Function, c call, at form) []string {
	var notes, names []string
	for _, r := range f.Results {
		if r.Name != "" && len(f.Results) > 1 {
			names = append(names, "`"+r.Name+"`")
		}
	}
	if names != nil {
		notes = append(notes, "The results are "+strings.Join(names, ", ")+".")
	}
	if len(c.defaults) > 0 {
		notes = append(notes, "The arguments in `"+at.options+"` have defaults.")
	}
	return notes
}

// asyncNames returns the names of the asynchronous forms of functions with these names.
func asyncNames(s scope, list []*face.Function, names []string) []string {
	async := make([]string, len(list))
	for i, f := range list {
		if f.Context && !f.Packed {
			async[i] = s.take(strings.Trim(strings.TrimPrefix(names[i], "r#"), "_") + "_async")
		}
	}
	return async
}
