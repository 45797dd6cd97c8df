package rustface

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
)

// call is a function with its parameters in the forms of Rust.
type call struct {
	generics []string // the parameters, "name: type"
	args     []string // expressions that make an Any
	rest     string   // an expression that makes a Vec of the variadic arguments
	defaults []option // in the struct options
}

// prepare finds the forms of the parameters of f.
func (w *writer) prepare(f *face.Function, receiver string) call {
	var c call
	names := newScope()
	if receiver != "" {
		c.generics = append(c.generics, receiver)
		c.args = append(c.args, "library::shared(self)")
	}
	fields, options := newScope(), "" // of the struct of options
	if w.optionNames[f] != "" {
		options = names.take("options")
	}
	for _, p := range f.Params {
		switch {
		case known(p.Default) != nil && !p.Variadic:
			o := option{name: fields.take(snake(p.Name)), typ: p.Type, value: p.Default}
			if len(c.defaults) == 0 {
				c.generics = append(c.generics, options+": "+w.optionNames[f])
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

// optionsOf writes the struct of the defaults of f, if it has some. of says what f is.
func (w *writer) optionsOf(f *face.Function, of string) {
	if name := w.optionNames[f]; name != "" {
		w.options(name, of, w.prepare(f, "").defaults)
	}
}

// function writes f, which belongs to c if that is not nil.
func (w *writer) function(f *face.Function, c *face.Class) {
	indent, receiver, callee, start := "", "", static+"library::Func::symbol("+quoted(f.Symbol)+")", f.Name
	typ, read := w.value(f.Result()), w.mapper(f.Result())
	switch {
	case c == nil:
	case f == c.Constructor:
		indent, callee = "    ", w.method(c, "__ffi_init__")
		typ, read = "Self", "library::get::<Self>"
	default:
		indent, receiver, callee, start = "    ", "&self", w.method(c, f.Name), c.Key+"."+f.Name
	}
	k := w.prepare(f, receiver)
	if f.Packed {
		k.generics = append(k.generics, "args: &[::tvm_ffi::AnyView<'_>]")
	}
	otherwise, notes := "`"+f.GoName+"` of the Go package "+w.lib.Path+".", w.notes(f, k)
	w.comment(indent, "///", f.Doc, otherwise, notes...)
	w.body(indent, w.names[f], joined(k.generics), typ, callee, k.invoke(f, read))
	if w.async[f] == "" {
		return
	}
	w.comment(indent, "///", f.Doc, otherwise, append(notes, "It returns at once. The result is a future, which can also be waited for and cancelled.")...)
	w.body(indent, w.async[f], joined(k.generics), "library::Async<"+typ+">", static+"library::Func::start("+quoted(start)+")",
		"library::Async::start(FUNCTION.get()?, ::std::vec!["+joined(k.args)+"], "+cmp.Or(k.rest, "::std::vec::Vec::new()")+", "+read+")")
}

// static is how the function that is called is declared.
const static = "FUNCTION: library::Func = "

// body writes a function with a static, which finds what the library has when it is used first.
func (w *writer) body(indent, name, params, typ, static string, lines ...string) {
	w.p("%[1]spub fn %[2]s(%[3]s) -> %[4]s<%[5]s> {\n%[1]s    static %[6]s;\n", indent, name, params, result, typ, static)
	for _, line := range lines {
		w.p("%s    %s\n", indent, line)
	}
	w.p("%s}\n\n", indent)
}

// invoke returns the expression of a call of f, whose result read takes.
func (c call) invoke(f *face.Function, read string) string {
	name, rest := "call", ""
	switch {
	case f.Packed:
		name, rest = "call_packed", "args, "
	case c.rest != "":
		name, rest = "call_all", c.rest+", "
	}
	return fmt.Sprintf("library::%s(FUNCTION.get()?, %t, [%s], %s%s)", name, flat(f.Result()), joined(c.args), rest, read)
}

// notes say what Rust shows differently.
func (w *writer) notes(f *face.Function, c call) []string {
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
		notes = append(notes, "The arguments in `"+w.optionNames[f]+"` have defaults.")
	}
	return notes
}

// claim names functions, and the asynchronous forms of those in waits that have one.
func (w *writer) claim(s scope, list, waits []*face.Function) {
	var names []string
	for _, f := range list {
		names = append(names, f.Name)
	}
	names = s.takeAll(names, snake)
	for i, f := range list {
		w.names[f] = names[i]
	}
	for _, f := range waits {
		if f.Context && !f.Packed {
			w.async[f] = s.take(strings.Trim(strings.TrimPrefix(w.names[f], "r#"), "_") + "_async")
		}
	}
}
