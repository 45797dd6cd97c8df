package cppface

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// function is a function, a method or a constructor with its C++ names.
type function struct {
	*face.Function
	name string
	// async is the name of the asynchronous form, or empty.
	async string
	// result is the type of the result. structName is the struct of results with names,
	// whose fields are structFields; it is empty if there is none.
	result       string
	structName   string
	structFields []string
	params       []param
}

// param is a parameter.
type param struct {
	face.Param
	name string
	// keyword is the name for a constructor that takes the argument by its name.
	keyword string
}

// function names what f consists of; its own name is taken in s. Results with names get a
// struct, before whose name owner stands.
func (w *writer) function(f *face.Function, s face.Scope, owner string) *function {
	g := &function{Function: f, name: s.Claim(f.Name)}
	if f.Context {
		g.async = s.Claim(f.Name + "_async")
	}
	g.params = params(f, newScope("Rest", "rest", "This", "this", w.ns))
	g.result = w.results(g, owner)
	w.made[f] = g
	return g
}

func params(f *face.Function, s face.Scope) []param {
	var list []param
	for _, p := range f.Params {
		list = append(list, param{Param: p, name: s.Claim(p.Name)})
	}
	return list
}

// results returns the type of the results of f.
func (w *writer) results(f *function, owner string) string {
	if len(f.Results) < 2 || f.Results[0].Name == "" {
		return w.result(f.Result())
	}
	f.structName = w.scope.Claim(owner + f.GoName + "Result")
	s := newScope("tvmffi_tuple", f.structName)
	for i, r := range f.Results {
		name := r.Name
		if name == "" {
			name = fmt.Sprintf("result%d", i)
		}
		f.structFields = append(f.structFields, s.Claim(name))
	}
	return w.own(f.structName)
}

// resultStruct writes the struct of the results of f, if they have names.
func (w *writer) resultStruct(f *function) {
	if f.structName == "" {
		return
	}
	w.p("/// The results of %s.\nstruct %s {\n  using tvmffi_tuple = %s;\n", f.name, f.structName, w.result(f.Result()))
	for i, r := range f.Results {
		w.p("  %s %s;\n", w.result(r.Type), f.structFields[i])
	}
	w.p("};\n\n")
}

// declared is how a parameter is declared.
func (w *writer) declared(p param, defaults bool) string {
	text := w.param(p.Type) + " " + p.name
	if defaults && p.Default != nil {
		text += " = " + w.literal(p.Default, p.Type)
	}
	return text
}

// defaults reports whether parameters have their defaults here, where those of other functions are wanted. The type of a
// default has to be complete, so a member that needs a late record has them in its definition. C++ has none there for
// templates.
func (w *writer) defaults(params []param, wanted, template bool) bool {
	if w.stage == 0 || !slices.ContainsFunc(params, func(p param) bool { return p.Default != nil && w.needs(p.Type) }) {
		return wanted
	}
	return w.stage == defining && !template
}

// needs reports whether a default of type t needs a late record.
func (w *writer) needs(t *face.Type) bool {
	return t.Kind == crossing.KindOptional && w.late[t.Elems[0].Record] || slices.ContainsFunc(t.Elems, w.needs)
}

// signature is the list of parameters of f, without a variadic one.
func (w *writer) signature(f *function, defaults bool) []string {
	var list []string
	defaults = w.defaults(f.params, defaults, f.variadic() != nil)
	for _, p := range f.params {
		if !p.Variadic {
			list = append(list, w.declared(p, defaults))
		}
	}
	return list
}

// arguments is the list of arguments that f passes on, without a variadic one.
func (w *writer) arguments(f *function) []string {
	var list []string
	for _, p := range f.params {
		if !p.Variadic {
			list = append(list, w.arg(p.Type, p.name))
		}
	}
	return list
}

// variadic returns the type of variadic arguments, if f has them.
func (f *function) variadic() *face.Type {
	if f.Packed {
		return &face.Type{Kind: crossing.KindAny}
	}
	if n := len(f.params); n > 0 && f.params[n-1].Variadic {
		return f.params[n-1].Type
	}
	return nil
}

// form is one form of a function: its code is before + name + (params) + after + body.
type form struct {
	template string
	result   string
	name     string
	params   func(defaults bool) []string
	body     string
}

// forms returns the forms of f. call is the code of the entry; self the arguments before
// those of the user. The body of the asynchronous form calls start.
func (w *writer) forms(f *function, call, start string, self ...string) []form {
	args := slices.Concat([]string{call}, self, w.arguments(f))
	params := func(defaults bool) []string { return w.signature(f, defaults) }
	t := f.variadic()
	var forms []form
	add := func(result, name, invoke string, first string) {
		list := slices.Clone(args)
		list[0] = first
		if t == nil {
			forms = append(forms, form{"", result, name, params, fmt.Sprintf("return %s(%s);", invoke, strings.Join(list, ", "))})
			return
		}
		template, pass, element := w.pack(t)
		forms = append(forms, form{
			template, result, name, func(defaults bool) []string { return append(params(defaults), "Rest&&... rest") },
			fmt.Sprintf("return %s(%s);", invoke, strings.Join(append(list, pass), ", ")),
		})
		if name != f.name {
			return
		}
		many := slices.Insert(slices.Clone(list), 1, "rest"+element)
		kind := "const detail::Sequence<" + w.value(t) + ">&"
		if t.Kind == crossing.KindAny {
			kind = "ffi::PackedArgs"
		}
		forms = append(forms, form{
			"", result, name, func(bool) []string { return append(params(false), kind+" rest") },
			fmt.Sprintf("return detail::InvokeMany<%s>(%s);", result, strings.Join(many, ", ")),
		})
	}
	add(f.result, f.name, "detail::Invoke<"+f.result+">", call)
	if f.async != "" {
		add("detail::Call<"+f.result+">", f.async, "detail::Start<"+f.result+">", start)
	}
	return forms
}

// pack returns the template of a function with variadic arguments of type t, the code that
// passes them on, and the code after the list of them.
func (w *writer) pack(t *face.Type) (template, pass, element string) {
	if t.Kind == crossing.KindAny {
		return "template <typename... Rest>", "detail::AnyArgument(rest)...", ""
	}
	k := kindOf(t)
	condition := w.expand(t, cmp.Or(k.restIf, "std::is_convertible_v<Rest, $value>"))
	return "template <typename... Rest, typename = std::enable_if_t<(" + condition + " && ...)>>",
		w.expand(t, cmp.Or(k.rest, "ffi::Any($value(std::forward<Rest>(rest)))...")), ".values()"
}

// about is the doc of f.
func about(f *function) string {
	text := doc(f.Doc)
	if f.Fails {
		text = join(text, `\throws tvm::ffi::Error if the function of Go returns an error.`)
	}
	return text
}

// freeFunction writes a function.
func (w *writer) freeFunction(f *function) {
	prefix := strings.TrimSuffix(f.Global, f.Name)
	start := fmt.Sprintf("[]() -> const detail::Entry& {\n    static const detail::Entry entry = detail::Starter(%s, %s);\n    return entry;\n  }()", quote(prefix+"_async"), quote(f.Name))
	for _, form := range w.forms(f, w.entry(f.Symbol), start) {
		w.p("%s", comment("", w.formDoc(f, form)))
		if form.template != "" {
			w.p("%s\n", form.template)
		}
		w.p("inline %s %s(%s) {\n  %s\n}\n\n", form.result, form.name, strings.Join(form.params(true), ", "), form.body)
	}
}

// formDoc is the doc of a form of f.
func (w *writer) formDoc(f *function, form form) string {
	if form.name != f.name {
		return join(about(f), "This form returns at once. The call of Go runs on: wait for it with get, end its context with cancel.")
	}
	return about(f)
}
