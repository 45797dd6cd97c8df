package pyface

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// keywords are the words that cannot be names.
var keywords = strings.Fields(`False None True and as assert async await break class continue def del elif else except
	finally for from global if import in is lambda nonlocal not or pass raise return try while with yield`)

// private begins the names of the package that are not for users.
const private = "_ffi"

// plain returns a name that Python takes: a keyword gets an underscore behind it. No name begins with private.
func plain(name string) string {
	if slices.Contains(keywords, name) {
		return name + "_"
	}
	if strings.HasPrefix(name, private) {
		return name[1:]
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
	module := face.NewScope(plain, "annotations")
	w.names = module.Types(w.lib)
	for _, f := range w.lib.Functions {
		w.names[f] = module.Claim(f.Name)
	}
	take := func(name string) { w.taken[name] = true }
	w.lib.EachFunction(func(c *face.Class, f *face.Function) {
		if c != nil {
			take(f.Name)
		}
		if len(f.Results) < 2 {
			return
		}
		for _, r := range f.Results {
			take(r.Name)
		}
		if f.Results[0].Name != "" {
			w.tuples[f] = module.Claim(w.names[c] + f.GoName + "Result")
		}
	})
	for _, f := range w.lib.Functions {
		if f.Context {
			w.async[f] = module.Claim(f.Name + "_async")
		}
	}
	maps.Copy(w.taken, module.Taken)
	w.lib.EachField(func(f face.Field) { take(f.Name) })
	for _, r := range w.records {
		for _, f := range r.Fields {
			take(f.Name)
		}
	}
	for _, e := range w.lib.Enums {
		for _, m := range e.Members {
			take(m.Name)
		}
	}
}

// fresh returns a private name of the module.
func (w *writer) fresh(name string) string { return w.used.Claim("_" + name) }

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
	// field is set for a field that the constructor sets.
	field bool
}

// optional reports whether a caller may leave p out.
func (p parameter) optional() bool { return p.unknown || p.Default != nil }

// whole returns the type of p in the function, where a variadic parameter is a tuple of any length.
func (p parameter) whole() *face.Type {
	if p.Variadic {
		return &face.Type{Kind: crossing.KindSequence, Elems: []*face.Type{p.Type}}
	}
	return p.Type
}

// parameters names the parameters of f. Those of a method come after self.
func (w *writer) parameters(f *face.Function, method bool) []parameter {
	used := face.NewScope(plain)
	if method {
		used = face.NewScope(inClass, "self")
	}
	var params []parameter
	for _, p := range f.Params {
		params = append(params, parameter{Param: p, name: used.Claim(p.Name), key: p.Name})
	}
	if f.Packed {
		anything := &face.Type{Kind: crossing.KindAny}
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
		d := passed
		if p.kwOnly { // such as a field of an error
			d = given
		}
		text := p.name + ": " + w.typeText(p.Type, d)
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
			text += " = " + private + ".DEFAULT"
		case p.Default != nil:
			text += " = " + w.literal(*p.Default, p.Type, stub)
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// literal writes a default.
func (w *writer) literal(v face.Value, t *face.Type, stub bool) string {
	if v.Kind == crossing.KindDuration {
		return w.ref("datetime", "timedelta") + "(" + duration(v.Text) + ")"
	}
	text := value(v)
	if t = t.Bare(); t.Kind == crossing.KindEnum {
		for i, m := range members(t.Enum) {
			if value(t.Enum.Members[i].Value) == text {
				return w.names[t.Enum] + "." + m
			}
		}
	}
	if v.Kind == crossing.KindFloat && strings.ContainsAny(text, "n") { // inf and nan
		if stub {
			return "..."
		}
		return strings.Replace(strings.Replace(text, "inf", private+".inf", 1), "nan", private+".nan", 1)
	}
	return text
}

// duration writes nanoseconds as an argument of timedelta, which has microseconds.
func duration(text string) string {
	n, _ := strconv.ParseInt(text, 10, 64) // face has written it
	if n%1e9 == 0 {
		return fmt.Sprintf("seconds=%d", n/1e9)
	}
	return "microseconds=" + strconv.FormatFloat(float64(n)/1000, 'f', -1, 64)
}

// members returns the names of the members of an enum.
func members(e *face.Enum) []string {
	used := face.NewScope(inClass, "mro")
	var names []string
	for _, m := range e.Members {
		names = append(names, used.Claim(m.Name))
	}
	return names
}

// value writes a value.
func value(v face.Value) string {
	switch v.Kind {
	case crossing.KindNone:
		return "None"
	case crossing.KindBool:
		return strings.ToUpper(v.Text[:1]) + v.Text[1:]
	case crossing.KindInt:
		return v.Text
	case crossing.KindFloat:
		return strings.ToLower(strings.TrimPrefix(v.Text, "+"))
	}
	return quote(v.Text)
}

// tuple writes the class of several results with names.
func (w *writer) tuple(_ *face.Class, f *face.Function) {
	name := w.tuples[f]
	if name == "" {
		return
	}
	w.export(name)
	w.pyf("\n\nclass %s(%s.NamedTuple):\n    \"\"\"The results of %s.\"\"\"\n\n", name, private, cmp.Or(w.names[f], inClass(f.Name)))
	w.pyif("\nclass %s(%s):\n", name, w.ref("typing", "NamedTuple"))
	for i, field := range resultNames(f.Results) {
		ignore := ""
		if field == "count" || field == "index" {
			ignore = "  # type: ignore[assignment]"
		}
		w.both("    %s: %s%s\n", field, w.out(f.Results[i].Type), ignore)
	}
}

// resultNames returns the names of results. Those of a tuple cannot begin with an underscore.
func resultNames(results []face.Result) []string {
	used := face.NewScope(plain)
	var names []string
	for i, r := range results {
		name := strings.TrimLeft(r.Name, "_")
		if name == "" {
			name = fmt.Sprintf("result%d", i)
		}
		names = append(names, used.Claim(name))
	}
	return names
}
