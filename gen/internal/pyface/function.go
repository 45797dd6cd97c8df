package pyface

import (
	"fmt"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
)

// function writes a function of the module, and its asynchronous form.
func (w *writer) function(f *face.Function) {
	name := w.names[f]
	w.export(name)
	target, convert := w.fresh(f.Name), w.resultConverter(f)
	if w.pyi.Len() > 0 && !w.functions {
		w.pyi.WriteString("\n")
	}
	w.functions = true
	w.pyf("\n%s = %s.function(%s, %s)\n", target, private, quote(f.Symbol), quote(f.Global))
	w.def(f, def{name: name, call: target + "(%s)", convert: convert, decorator: w.inC(f, convert)})
	if f.Context {
		w.export(w.async[f])
		w.def(f, def{name: w.async[f], call: private + ".wait(" + quote(f.Name) + "%s)", convert: convert, async: true})
	}
}

// inC returns the decorator of a function that needs no code of Python if its arguments are of
// Python's own types, or "".
func (w *writer) inC(f *face.Function, convert string) string {
	if args := w.argsInC(f, false, convert); args != "" && f.Symbol != "" {
		return fmt.Sprintf("@%s_face.function(%s, %s)", private, quote(f.Symbol), args)
	}
	return ""
}

// argsInC describes the parameters and the result of f for C, or returns "" if every call needs
// code of Python, as one that Ctrl-C interrupts does.
func (w *writer) argsInC(f *face.Function, method bool, convert string) string {
	object := ""
	if method {
		object = "o"
	}
	args := forC(object, w.parameters(f, method), false)
	if args == "" || f.Context {
		return ""
	}
	if convert != "" {
		args += ", " + convert
	}
	return args
}

// forC describes parameters for C, after the letter of an object, or returns "" if every call needs code of Python.
// Keywords with defaults are left out: C leaves calls with them to Python. Fields are as tvm_ffi passes them.
func forC(object string, params []parameter, fields bool) string {
	letters, required := object, len(object)
	for _, p := range params {
		letter := Kinds.Row(p.Type.Bare().Kind).c
		switch {
		case p.kwOnly && p.optional():
			continue
		case p.kwOnly || letter == "":
			return ""
		case letter == "s" && (fields || p.Type.Kind == face.KindOptional), letter == "f" && fields, letter == "n" && arrayDepth(p.Type) == 0:
			letter = "v"
		case callbackDepth(p.Type) > 0:
			letter = "F"
		}
		letters += letter
		if p.Variadic {
			letters += "*"
		} else if !p.optional() {
			required++
		}
	}
	return fmt.Sprintf("%s, %d", quote(letters), required)
}

// arrayDepth returns 1 for a slice of numbers or bools, also an optional one, 2 for a slice of such slices, and so on. It is 0
// for all other types.
func arrayDepth(t *face.Type) int {
	depth := 1
	for t = t.Bare(); t.Kind == face.KindSequence; t = t.Elems[0] {
		if e := t.Elems[0].Kind; e == face.KindBool || e == face.KindInt || e == face.KindFloat {
			return depth
		}
		depth++
	}
	return 0
}

// callbackDepth is the arrayDepth of the result of a callback.
func callbackDepth(t *face.Type) int {
	if t = t.Bare(); t.Kind == face.KindCallable {
		return arrayDepth(t.Elems[0])
	}
	return 0
}

// guard returns the expression for an argument that may be a function of Python.
func guard(p parameter) string {
	depth := ""
	if n := callbackDepth(p.Type); n > 0 {
		depth = fmt.Sprintf(", %d", n)
	}
	return fmt.Sprintf("%s_errors.guard(%s%s)", private, p.name, depth)
}

// listed writes the conversion of an argument that may be an array of numbers.
func (w *writer) listed(indent string, p parameter) {
	depth := arrayDepth(p.Type)
	switch {
	case p.Type.Lent:
		w.pyf("%[1]s%[2]s = %[3]s.lent(%[2]s)\n", indent, p.name, private)
	case depth == 0:
	case p.Variadic:
		w.pyf("%[1]s%[2]s = [%[3]s.numbers(x, %[4]d) for x in %[2]s]\n", indent, p.name, private, depth)
	default:
		w.pyf("%[1]s%[2]s = %[3]s.numbers(%[2]s, %[4]d)\n", indent, p.name, private, depth)
	}
}

// guarded reports whether an argument of type t is a function that may raise exceptions of Python.
func guarded(t *face.Type) bool { return Kinds.Row(t.Bare().Kind).c == "f" }

// def says how a function or method is written.
type def struct {
	name, indent string
	method       bool
	// call is the expression of the call, with %s for the arguments.
	call    string
	convert string
	async   bool
	// decorator stands before the def, in the module and in the stub.
	decorator, stubDecorator string
	// suffix is a comment in the stub.
	suffix string
	// label is the name in messages.
	label string
}

// def writes a function or a method.
func (w *writer) def(f *face.Function, d def) {
	params := w.parameters(f, d.method)
	keyword := "def "
	if d.async {
		keyword = "async def "
	}
	result := w.results(f)
	if d.stubDecorator != "" {
		w.pyif("%s%s\n", d.indent, d.stubDecorator)
	}
	w.pyif("%s%s%s(%s) -> %s: ...%s\n", d.indent, keyword, d.name, w.signature(params, d.method, true), result, d.suffix)
	if d.indent == "" {
		w.pyf("\n")
	}
	w.pyf("\n")
	if d.decorator != "" {
		w.pyf("%s%s\n", d.indent, d.decorator)
	}
	w.pyf("%s%s%s(%s) -> %s:\n", d.indent, keyword, d.name, w.signature(params, d.method, false), result)
	inner := d.indent + "    "
	w.pyf("%s", docstring(inner, w.functionDoc(f, d, params)))
	w.body(f, d, inner, params)
}

// body writes the statements of a function.
func (w *writer) body(f *face.Function, d def, indent string, params []parameter) {
	var args, tensors []string
	if d.method {
		args = append(args, "self")
	}
	fails := f.Fails || f.Context || f.Packed
	label := d.label
	if label == "" {
		label = d.name
	}
	for _, p := range params {
		arg := p.name
		w.bounded(indent, label, w.argsInC(f, d.method, d.convert) != "", p)
		w.listed(indent, p)
		switch {
		case p.Variadic:
			arg = "*" + arg
		case guarded(p.Type):
			fails = true
			w.pyf("%s%s = %s\n", indent, p.name, guard(p))
		case p.Type.Bare().Kind == face.KindTensor:
			fails = true
			tensors = append(tensors, fmt.Sprintf(", %s=%s", p.name, p.name))
			if d.async {
				arg = private + ".owned(" + arg + ")"
			}
		}
		args = append(args, arg)
	}
	list := strings.Join(args, ", ")
	if d.async && list != "" {
		list = ", " + list
	}
	call := fmt.Sprintf(d.call, list)
	if d.async {
		call = "await " + call
	}
	if d.convert != "" {
		call = d.convert + "(" + call + ")"
	}
	if len(f.Results) > 0 {
		call = "return " + call
	}
	if !fails {
		w.pyf("%s%s\n", indent, call)
		return
	}
	reraise := ""
	if len(tensors) > 0 {
		reraise = quote(label) + strings.Join(tensors, "")
	}
	w.pyf("%[1]stry:\n%[1]s    %[2]s\n%[1]sexcept:  # noqa: E722\n%[1]s    %[3]s_errors.reraise(%[4]s)\n", indent, call, private, reraise)
}

// bounded writes the check of an argument, which may be a container whatever its type is. A
// container of numbers or texts is checked by its first elements alone where each call needs the
// check, because to read all of them would take more time than the call.
func (w *writer) bounded(indent, label string, inC bool, p parameter) {
	any, container := nests(p.Type)
	what := quote(label + "(" + p.name + "=...)")
	switch {
	case container && !any && !inC:
		w.pyf("%s%s.bounded(%s, %s, True)\n", indent, private, what, p.name)
	case p.Variadic:
		w.pyf("%s%s.bounded(%s, %s)\n", indent, private, what, p.name)
	default:
		w.pyf("%[1]sif isinstance(%[2]s, %[3]s.CONTAINERS): %[3]s.bounded(%[4]s, %[2]s)\n", indent, p.name, private, what)
	}
}

// nests reports whether a value of type t may be nested to any depth, and whether it is a
// container of Python.
func nests(t *face.Type) (deep, is bool) {
	d := Kinds.Row(t.Kind).depth
	if d == noDepth {
		return false, false
	}
	deep, is = d == anyDepth, d == container
	for _, e := range t.Elems {
		a, b := nests(e)
		deep, is = deep || a, is || b
	}
	return deep, is
}
