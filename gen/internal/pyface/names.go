package pyface

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
)

// keywords are the words that cannot be names.
var keywords = strings.Fields(`False None True and as assert async await break class continue def del elif else except
	finally for from global if import in is lambda nonlocal not or pass raise return try while with yield`)

// plain returns a name that Python takes: a keyword gets an underscore behind it.
func plain(name string) string {
	if slices.Contains(keywords, name) {
		return name + "_"
	}
	return name
}

// inClass returns the name of something in the body of a class. Python changes names there
// that begin with two underscores, except those that end with two.
func inClass(name string) string {
	if strings.HasPrefix(name, "__") && !strings.HasSuffix(name, "__") {
		name = "_" + strings.TrimLeft(name, "_")
	}
	return plain(name)
}

// name chooses the names of the module. Classes, enums and errors keep their names of Go;
// what comes later and has the same name gets an underscore behind it.
func (w *writer) name() {
	module := map[string]bool{"annotations": true}
	for _, c := range w.lib.Classes {
		w.names[c] = face.Claim(module, plain(c.Name))
	}
	for _, e := range w.lib.Enums {
		w.names[e] = face.Claim(module, plain(e.Name))
	}
	for _, e := range w.lib.Errors {
		w.names[e] = face.Claim(module, plain(e.Name))
	}
	for _, r := range w.records {
		w.names[r] = face.Claim(module, plain(r.Name))
	}
	for _, f := range w.lib.Functions {
		w.names[f] = face.Claim(module, plain(f.Name))
	}
	w.eachFunction(func(c *face.Class, f *face.Function) {
		if len(f.Results) < 2 || f.Results[0].Name == "" {
			return
		}
		name := f.GoName + "Result"
		if c != nil {
			name = w.names[c] + name
		}
		w.named = append(w.named, namedTuple{f, face.Claim(module, name), f.Results})
	})
	for _, f := range w.lib.Functions {
		if f.Context {
			w.async[f] = face.Claim(module, f.Name+"_async")
		}
	}
	for name := range module {
		w.taken[name] = true
	}
	users := []string{}
	w.eachIdentifier(func(name string, member bool) {
		users = append(users, name)
		if member {
			w.taken[name] = true
		}
	})
	w.private = "_ffi"
	for slices.ContainsFunc(append(users, sorted(module)...), func(name string) bool { return strings.HasPrefix(name, w.private) }) {
		w.private += "_"
	}
}

func sorted(m map[string]bool) []string { return slices.Sorted(keys(m)) }

// eachFunction visits all functions, constructors, methods and properties.
func (w *writer) eachFunction(visit func(*face.Class, *face.Function)) {
	for _, c := range w.lib.Classes {
		if c.Constructor != nil {
			visit(c, c.Constructor)
		}
		for _, f := range c.Properties {
			visit(c, f)
		}
		for _, f := range c.Methods {
			visit(c, f)
		}
	}
	for _, f := range w.lib.Functions {
		visit(nil, f)
	}
}

// eachIdentifier visits the names of parameters and members.
func (w *writer) eachIdentifier(visit func(name string, member bool)) {
	w.eachFunction(func(c *face.Class, f *face.Function) {
		if c != nil {
			visit(f.Name, true)
		}
		for _, p := range f.Params {
			visit(p.Name, false)
		}
		for _, r := range f.Results {
			visit(r.Name, len(f.Results) > 1)
		}
	})
	fields := func(fields []face.Field) {
		for _, f := range fields {
			visit(f.Name, true)
		}
	}
	for _, c := range w.lib.Classes {
		fields(c.Fields)
	}
	for _, e := range w.lib.Errors {
		fields(e.Fields)
	}
	for _, r := range w.records {
		fields(r.Fields)
	}
	for _, e := range w.lib.Enums {
		for _, m := range e.Members {
			visit(m.Name, true)
		}
	}
}

// fresh returns a private name of the module.
func (w *writer) fresh(name string) string { return face.Claim(w.used, w.private+"_"+name) }

// quote writes a string.
func quote(s string) string { return strconv.Quote(s) }

// parameter is a parameter of a function of Python.
type parameter struct {
	face.Param
	name   string // in Python
	key    string // the name in the library
	doc    string
	kwOnly bool
	// unknown is set if only the library knows the default.
	unknown bool
}

// parameters names the parameters of f. Those of a method come after self.
func (w *writer) parameters(f *face.Function, method bool) []parameter {
	used := map[string]bool{}
	rename := plain
	if method {
		used["self"], rename = true, inClass
	}
	var params []parameter
	for _, p := range f.Params {
		params = append(params, parameter{Param: p, name: face.Claim(used, rename(p.Name)), key: p.Name})
	}
	if f.Packed {
		anything := &face.Type{Kind: face.KindAny}
		params = append(params, parameter{Param: face.Param{Name: "args", Type: anything, Variadic: true}, name: "args"})
	}
	return params
}

// signature writes the parameters of a def.
func (w *writer) signature(params []parameter, method, stub bool) string {
	var list []string
	if method {
		list = append(list, "self")
	}
	star := false
	for _, p := range params {
		text := p.name + ": " + w.in(p.Type)
		switch {
		case p.Variadic:
			list, star = append(list, "*"+text), true
			continue
		case p.kwOnly && !star:
			list, star = append(list, "*"), true
		}
		switch {
		case p.unknown && stub:
			text += " = ..."
		case p.unknown:
			text += " = " + w.private + ".DEFAULT"
		case p.Default != nil:
			text += " = " + w.literal(*p.Default, p.Type, stub)
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// literal writes a default.
func (w *writer) literal(v face.Value, t *face.Type, stub bool) string {
	for t.Kind == face.KindOptional {
		t = t.Elems[0]
	}
	text := value(v)
	if t.Kind == face.KindEnum {
		for i, m := range members(t.Enum) {
			if value(t.Enum.Members[i].Value) == text {
				return w.names[t.Enum] + "." + m
			}
		}
	}
	if v.Kind == face.KindFloat && strings.ContainsAny(text, "n") { // inf and nan
		if stub {
			return "..."
		}
		return strings.Replace(strings.Replace(text, "inf", w.private+".inf", 1), "nan", w.private+".nan", 1)
	}
	return text
}

// members returns the names of the members of an enum.
func members(e *face.Enum) []string {
	used := map[string]bool{"mro": true}
	var names []string
	for _, m := range e.Members {
		names = append(names, face.Claim(used, inClass(m.Name)))
	}
	return names
}

// value writes a value.
func value(v face.Value) string {
	switch v.Kind {
	case face.KindNone:
		return "None"
	case face.KindBool:
		if v.Text == "true" {
			return "True"
		}
		return "False"
	case face.KindInt:
		if n, err := strconv.ParseInt(v.Text, 0, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
		if n, err := strconv.ParseUint(v.Text, 0, 64); err == nil {
			return strconv.FormatUint(n, 10)
		}
	case face.KindFloat:
		if x, err := strconv.ParseFloat(v.Text, 64); err == nil {
			text := strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(x, 'g', -1, 64), "+"))
			if !strings.ContainsAny(text, ".en") {
				text += ".0"
			}
			return text
		}
	}
	return quote(v.Text)
}

// resultClass returns the class of the results of f, or "".
func (w *writer) resultClass(f *face.Function) string {
	for _, n := range w.named {
		if n.of == f {
			return n.name
		}
	}
	return ""
}

// tuples writes the classes of several results.
func (w *writer) tuples() {
	for _, n := range w.named {
		w.export(n.name)
		w.py.WriteString("\n\nclass " + n.name + "(" + w.private + ".NamedTuple):\n")
		w.pyi.WriteString("\nclass " + n.name + "(" + w.ref("typing", "NamedTuple") + "):\n")
		w.py.WriteString(docstring("    ", fmt.Sprintf("The results of %s.", w.pythonName(n.of))) + "\n")
		for i, name := range resultNames(n.results) {
			ignore := ""
			if name == "count" || name == "index" {
				ignore = "  # type: ignore[assignment]"
			}
			w.both("    %s: %s%s\n", name, w.out(n.results[i].Type), ignore)
		}
	}
}

// resultNames returns the names of results. Those of a tuple cannot begin with an underscore.
func resultNames(results []face.Result) []string {
	used := map[string]bool{}
	var names []string
	for i, r := range results {
		name := strings.TrimLeft(r.Name, "_")
		if name == "" {
			name = fmt.Sprintf("result%d", i)
		}
		names = append(names, face.Claim(used, plain(name)))
	}
	return names
}
