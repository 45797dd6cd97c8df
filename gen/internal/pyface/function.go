package pyface

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
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
	call := fmt.Sprintf("%s.function(%s, %s)", private, quote(f.Symbol), quote(f.Global))
	if returnsAny(f.Result()) {
		call = fmt.Sprintf("%s.function(%s, %s, True)", private, quote(f.Symbol), quote(f.Global))
	}
	if args := w.target(f, false); args != "" && f.Symbol != "" {
		call = fmt.Sprintf("%s_face.target(%s, %s, %s)", private, call, args, quote(f.Symbol))
	}
	w.pyf("\n%s = %s\n", target, call)
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

// target describes the parameters of f for the call of C that code of Python makes with converted arguments, or returns "" if
// no argument is converted, or if one is a function.
func (w *writer) target(f *face.Function, method bool) string {
	params := slices.Clone(w.parameters(f, method))
	if f.Context || !slices.ContainsFunc(params, func(p parameter) bool { return checked(p.Type) }) || slices.ContainsFunc(params, func(p parameter) bool { return guarded(p.Type) }) {
		return ""
	}
	for i, p := range params {
		params[i].Default = nil // Python passes all of them
		if checked(p.Type) {
			params[i].Type = &face.Type{Kind: crossing.KindAny}
		}
	}
	return forC(map[bool]string{true: "o"}[method], params, false)
}

// argsInC describes the parameters and the result of f for C, or returns "" if every call needs
// code of Python, as one that Ctrl-C interrupts does.
func (w *writer) argsInC(f *face.Function, method bool, convert string) string {
	object := ""
	if method {
		object = "o"
	}
	params := w.parameters(f, method)
	args := forC(object, params, false)
	if args == "" || f.Context || slices.ContainsFunc(params, func(p parameter) bool { return checked(p.Type) && !p.optional() && !p.Variadic }) {
		return ""
	}
	if convert != "" {
		args += ", " + convert
	}
	if returned := w.returned(params); len(returned) == 1 {
		args += ", returned=" + returned[0]
	} else if len(returned) > 1 {
		return ""
	}
	return args
}

// returned returns what converts the results of the callbacks among params: a depth and a function, once for each pair. It is
// empty if no callback needs it. C has one pair for all callbacks that return containers, so one without a function counts, too.
func (w *writer) returned(params []parameter) (all []string) {
	needed := false
	for _, p := range params {
		from := w.fromReturned(p.Type)
		needed = needed || from != ""
		if depth := returnedDepth(p.Type); from != "" || depth > 0 {
			all = append(all, fmt.Sprintf("(%d, %s)", depth, cmp.Or(from, "None")))
		}
	}
	if !needed {
		return nil
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// fromReturned returns the function for the results of a callback of type t that are not plain, or "". One that is checked
// converts them itself.
func (w *writer) fromReturned(t *face.Type) string {
	if t = t.Bare(); t.Kind != crossing.KindCallable || checked(t) {
		return ""
	}
	return w.from(t.Elems[0])
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
		case checked(p.Type):
			letter = "p"
		case p.kwOnly || letter == "":
			return ""
		case letter == "s" && (fields || p.Type.Kind == crossing.KindOptional), letter == "f" && fields, letter == "n" && arrayDepth(p.Type) == 0:
			letter = "v"
		case letter == "f":
			letter = callbackLetter(p.Type.Bare())
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

// isNumber reports whether t is a number, a bool or one of these or None.
func isNumber(t *face.Type) bool {
	switch t.Bare().Kind {
	case crossing.KindBool, crossing.KindInt, crossing.KindFloat, crossing.KindBigInt:
		return true
	}
	return false
}

// callbackLetter returns the letter of a callback. Few kinds that C could do need code of Python.
func callbackLetter(t *face.Type) string {
	if t.Kind != crossing.KindCallable {
		return "f"
	}
	letter, result := "f", t.Elems[0]
	if getsContainers(t) {
		letter = "c"
	}
	switch bytes := holds(result, is(crossing.KindBytes), nil); {
	case bytes && result.Bare().Kind == crossing.KindBytes && letter == "f":
		return "b"
	case bytes, isNumber(result) && letter == "c":
		return "p"
	case isNumber(result):
		return "i"
	case containers(result) > 0:
		return strings.ToUpper(letter)
	}
	return letter
}

// elements are the kinds of the elements of slices for which an array of NumPy stands, with the kind that it has there unless
// that is a bool or a real number.
var elements = map[crossing.Kind]string{
	crossing.KindBool: "", crossing.KindInt: "", crossing.KindFloat: "", crossing.KindComplex: "c", crossing.KindDuration: "m", crossing.KindTime: "M",
}

// arrayDepth returns 1 for a slice of elements that an array can have, also an optional one, 2 for a slice of such slices,
// and so on. It is 0 for all other types.
func arrayDepth(t *face.Type) int {
	depth := 1
	for t = t.Bare(); t.Kind == crossing.KindSequence; t = t.Elems[0] {
		if _, ok := elements[t.Elems[0].Kind]; ok {
			return depth
		}
		depth++
	}
	return 0
}

// arrayKinds returns the kinds of the columns in a value of type t, as _columns.elements takes them. If a value has columns of
// several kinds, code of Python looks at all elements: nobody else knows which column is which.
func arrayKinds(t *face.Type) string {
	found := map[string]bool{}
	columnKinds(t, found)
	for kinds := range found {
		if len(found) == 1 {
			return kinds
		}
	}
	if shaped(t) {
		return "-"
	}
	return ""
}

// columnKinds adds the kinds of each column in a value of type t to found.
func columnKinds(t *face.Type, found map[string]bool) {
	if t.Kind != crossing.KindSequence && t.Kind != crossing.KindArray {
		if Kinds.Row(t.Kind).container || t.Kind == crossing.KindOptional {
			for _, e := range t.Elems {
				columnKinds(e, found)
			}
		}
		return
	}
	e := t.Elems[0].Bare()
	kinds, ok := elements[e.Kind]
	switch {
	case !ok && Kinds.Row(e.Kind).container:
		columnKinds(e, found)
		return
	case !ok && shaped(e):
		kinds = "-"
	}
	if t.Elems[0].Kind == crossing.KindOptional {
		kinds += "?"
	}
	if t.Kind == crossing.KindArray && strings.ContainsAny(kinds, "cM") {
		kinds += "l"
	}
	found[kinds] = true
}

// containers returns how many lists, tuples and dicts are around each other in a value of type t at most, without those in
// records.
func containers(t *face.Type) int {
	k := Kinds.Row(t.Kind)
	if !k.container && t.Kind != crossing.KindOptional {
		return 0
	}
	depth := 0
	for _, e := range t.Elems {
		depth = max(depth, containers(e))
	}
	if k.container {
		depth++
	}
	return depth
}

// returnedDepth returns the number of containers in the result of a callback of type t.
func returnedDepth(t *face.Type) int {
	if t = t.Bare(); t.Kind == crossing.KindCallable {
		return containers(t.Elems[0])
	}
	return 0
}

// number writes an argument behind others if it is not 0.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d", n)
}

// argument writes what happens to an argument that is not plain, and returns the expression that is passed on.
func (w *writer) argument(indent, label string, p parameter) {
	x, t, what := p.name, p.whole(), quote(label+"("+p.name+"=...)")
	if t.Lent {
		x = fmt.Sprintf("%s.lent(%s, %s)", private, what, x)
	}
	from := w.from(t)
	if from != "" && !checked(t) {
		w.pyf("%[1]sif %[8]s(%[2]s) not in %[3]s.PLAIN: %[2]s = %[3]s.shaped(%[4]s, %[2]s, %[5]s, %[6]d%[7]s)\n", indent, p.name, private, what, from, containers(t), kindsOf(t, p.field), w.builtin("type"))
		return
	}
	if from == "" {
		helper, more := "given", number(containers(t))+kindsOf(t, false)
		switch {
		case p.Variadic && isNumber(t.Elems[0]):
			helper, more = "numbers", ""
		case isNumber(t):
			helper = "number"
		}
		w.pyf("%[1]sif %[8]s(%[2]s) not in %[3]s.PLAIN: %[2]s = %[3]s.%[7]s(%[4]s, %[5]s%[6]s)\n", indent, p.name, private, what, x, more, helper, w.builtin("type"))
		return
	}
	x = w.givenContainer(t, what, x, p.field)
	condition := ""
	if p.unknown {
		condition = fmt.Sprintf("if %s is not %s.DEFAULT: ", p.name, private)
	}
	w.pyf("%s%s%s = %s(%s, %s)\n", indent, condition, p.name, from, what, x)
}

// givenContainer returns the expression for an argument x of type t, which _values converts, with lists and dicts in place of
// arrays and other containers.
func (w *writer) givenContainer(t *face.Type, what, x string, field bool) string {
	if containers(t) == 0 {
		return x
	}
	return fmt.Sprintf("%s.given(%s, %s, %d%s, typed=True)", private, what, x, containers(t), kindsOf(t, field))
}

// kindsOf writes arrayKinds behind other arguments if there is one. A field is kept as it is given: it takes no Tensor in
// place of a list.
func kindsOf(t *face.Type, field bool) string {
	kinds := arrayKinds(t)
	if field {
		kinds = keptKinds(t)
	}
	if kinds == "" {
		return ""
	}
	return ", " + quote(kinds)
}

// keptKinds is arrayKinds for a value that is kept as it is given.
func keptKinds(t *face.Type) string {
	kinds := arrayKinds(t)
	if strings.ContainsAny(kinds, "cM") && !strings.Contains(kinds, "l") {
		kinds += "l"
	}
	return kinds
}

// guard returns the expression for an argument that may be a function of Python.
func (w *writer) guard(p parameter) string {
	args := number(returnedDepth(p.Type))
	if from := w.fromReturned(p.Type); from != "" {
		args += ", convert=" + from
	}
	switch t := p.Type.Bare(); {
	case t.Kind == crossing.KindFunction:
		args += ", packed=True"
	case t.Kind == crossing.KindCallable && isNumber(t.Elems[0]):
		args += ", convert=" + private + ".number"
	}
	return fmt.Sprintf("%s_errors.guard(%s%s)", private, p.name, args)
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

// froms writes the functions that convert arguments, which have to stand before the function or class that calls them.
func (w *writer) froms(params []parameter) {
	for _, p := range params {
		w.from(p.whole())
		w.fromReturned(p.Type)
	}
}

// def writes a function or a method.
func (w *writer) def(f *face.Function, d def) {
	params := w.parameters(f, d.method)
	if !d.method {
		w.froms(params)
	}
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
	var args []string
	if d.method {
		args = append(args, "self")
	}
	label := cmp.Or(d.label, d.name)
	for _, p := range params {
		arg := p.name
		w.argument(indent, label, p)
		switch {
		case p.Variadic:
			arg = "*" + arg
		case guarded(p.Type):
			w.pyf("%s%s = %s\n", indent, p.name, w.guard(p))
		case d.async && p.Type.Bare().Kind == crossing.KindTensor:
			arg = private + ".owned(" + arg + ")"
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
	if lent := lentNames(params); lent != "" && slices.ContainsFunc(f.Results, func(r face.Result) bool { return r.Type.Lent }) {
		call = private + ".shared(" + call + lent + ")"
	}
	if len(f.Results) > 0 {
		call = "return " + call
	}
	w.try(indent, label, call)
}

// lentNames lists the parameters that are lent, each behind a comma.
func lentNames(params []parameter) string {
	names := ""
	for _, p := range params {
		if p.Type.Lent {
			names += ", " + p.name
		}
	}
	return names
}

// try writes a call that may fail.
func (w *writer) try(indent, label, call string) {
	w.pyf("%[1]stry:\n%[1]s    %[2]s\n%[1]sexcept:  # noqa: E722\n%[1]s    %[3]s_errors.reraise(%[4]s)\n", indent, call, private, quote(label))
}
