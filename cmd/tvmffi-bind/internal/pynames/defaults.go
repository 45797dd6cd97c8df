package pynames

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// defaults adds the defaults and the enums of the parameters that the defs pass on as they are. If a public def
// has the name of the function, only such defs count. The others must agree.
func (b *builder) defaults(function string, out *hints.Item, it item, known bool, c chosen) {
	if !known || !it.typed {
		return
	}
	sites := c.best
	if named := slices.DeleteFunc(slices.Clone(sites), func(s site) bool { return !s.named(function) || !public(s.def) }); len(named) > 0 {
		sites = named
	}
	for i, name := range c.names {
		if name == "" {
			continue
		}
		enum := agreed(sites, func(s site) string { return b.enumOf(s, argumentOf(s, c, i)) })
		if enum != "" && b.addEnum(function, enum) {
			setIn(&out.Enum, name, enum)
		}
		t := it.params[i].Type.Normalized()
		if text := out.Types[name]; text != "" {
			if narrow, err := hints.ParseType(text); err == nil {
				t = narrow.Normalized()
			}
		}
		var found []hints.Constant
		for _, s := range sites {
			v, ok := b.defaultOf(s, argumentOf(s, c, i))
			if !ok {
				found = nil
				break
			}
			if !slices.Contains(found, v) {
				found = append(found, v)
			}
		}
		if len(found) > 1 {
			b.leaveOut(function, fmt.Sprintf("the defaults of %s differ: %s and %s", name, found[0], found[1]))
		}
		if len(found) != 1 {
			continue
		}
		if _, v, ok := b.iface.types.Constant(t, found[0].Value); ok {
			setIn(&out.Default, name, hints.Constant{Value: v})
		}
	}
	if enum := agreed(c.best, b.enumResult); enum != "" && b.addEnum(function, enum) {
		setIn(&out.Enum, hints.Returns, enum)
	}
}

func setIn[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}

// agreed returns what all sites say, "" if they differ.
func agreed(sites []site, say func(site) string) string {
	says := map[string]bool{}
	for _, s := range sites {
		says[say(s)] = true
	}
	return only(says)
}

// argumentOf returns what a site passes for a parameter, nil if it is a declaration.
func argumentOf(s site, c chosen, i int) *argument {
	if s.declares {
		return nil
	}
	return &s.call.Args[i+len(s.call.Args)-len(c.names)]
}

// passedOn returns the parameter of the def that an argument passes on, nil if it is another value.
func passedOn(s site, a *argument) *param {
	if a == nil || s.def == nil || a.Param == "" {
		return nil
	}
	i := slices.IndexFunc(s.def.Params, func(q param) bool { return q.Name == a.Param })
	if i < 0 {
		return nil
	}
	return &s.def.Params[i]
}

// defaultOf returns the default of the parameter that an argument passes on.
func (p *program) defaultOf(s site, a *argument) (hints.Constant, bool) {
	q := passedOn(s, a)
	if q == nil || q.Default == nil {
		return hints.Constant{}, false
	}
	if q.Default.Of != "" {
		at := strings.LastIndexByte(q.Default.Of, '.')
		c := p.enumClass(s.in, q.Default.Of[:max(at, 0)])
		if c == nil || !passes(c, a.Form) {
			return hints.Constant{}, false
		}
		i := slices.IndexFunc(c.Values, func(m member) bool { return m.Name == q.Default.Of[at+1:] })
		if i < 0 {
			return hints.Constant{}, false
		}
		return c.Values[i].Value, true
	}
	none := q.Default.Value.Value == nil
	return q.Default.Value, a.Form == "same" || none && a.Optional
}

// enumOf returns the name of the enum of which an argument passes a member or its value, "" if it is not one.
func (p *program) enumOf(s site, a *argument) string {
	q := passedOn(s, a)
	if q == nil || q.Type == nil {
		return ""
	}
	c := p.enumClass(s.in, q.Type.Name)
	if c == nil || !passes(c, a.Form) {
		return ""
	}
	p.enums[last(c.Name)] = append(p.enums[last(c.Name)], c)
	return last(c.Name)
}

// passes reports whether a library gets the value of a member of an enum that is passed in a form: a member of
// an IntEnum, or of an enum that is also a str, is its value.
func passes(c *class, form string) bool {
	return form == "value" || form == "same" && slices.ContainsFunc(c.Bases, func(b string) bool { return last(b) != "Enum" && last(b) != "Flag" })
}

// enumResult returns the name of the enum that a site makes of the result, "" if it makes none.
func (p *program) enumResult(s site) string {
	if s.declares || len(s.call.Use) == 0 {
		return ""
	}
	if wrapper, ok := strings.CutPrefix(s.call.Use[0], "in "); ok {
		if c := p.enumClass(s.in, wrapper); c != nil {
			p.enums[last(c.Name)] = append(p.enums[last(c.Name)], c)
			return last(c.Name)
		}
	}
	return ""
}

// enumClass returns the enum with that name in a module, nil if it is not one.
func (p *program) enumClass(m *module, name string) *class {
	e := p.resolve(m, name, 0)
	if name == "" || e.kind != isClass {
		return nil
	}
	c := &e.in.Classes[e.class]
	if len(c.Values) == 0 || !slices.ContainsFunc(c.Bases, func(b string) bool { return strings.HasSuffix(last(b), "Enum") || strings.HasSuffix(last(b), "Flag") }) {
		return nil
	}
	return c
}

// addEnum adds an enum to the file, and reports whether all classes of its name have the same members.
func (b *builder) addEnum(function, name string) bool {
	classes := b.enums[name]
	c := classes[0]
	if i := slices.IndexFunc(classes, func(o *class) bool { return !slices.Equal(o.Values, c.Values) }); i >= 0 {
		b.leaveOut(function, fmt.Sprintf("two enums have the name %s", name))
		return false
	}
	e := hints.Enum{Values: map[string]hints.Constant{}}
	taken := map[hints.Constant]bool{}
	for _, m := range c.Values {
		if !taken[m.Value] { // a second name for one value is an alias
			e.Values[m.Name] = m.Value
		}
		taken[m.Value] = true
	}
	if _, err := e.Check(); err != nil {
		b.leaveOut(function, fmt.Sprintf("enum %s: %v", name, err))
		return false
	}
	if b.docs {
		e.Doc = b.doc(name, c.Doc)
	}
	setIn(&b.file.Enums, name, e)
	return true
}
