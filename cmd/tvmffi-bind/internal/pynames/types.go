package pynames

import (
	"slices"
	"strings"
)

// scalars maps the types of Python that are certain to types of the registry. A tensor is not among them: it
// may be of numpy or torch.
var scalars = map[string]string{"bool": "bool", "int": "int", "float": "float", "str": "ffi.String", "bytes": "ffi.Bytes"}

// typeOf returns the registry type of an annotation in a module, "" if that is not certain. With handles,
// a class that wraps an object stands for that object, otherwise only a class with a key stands for itself.
func (p *program) typeOf(m *module, t *typed, handles bool, depth int) string {
	if t == nil || depth > maxHops {
		return ""
	}
	name := last(t.Name)
	switch {
	case len(t.Args) == 0:
		if s, ok := scalars[t.Name]; ok && m.Imports[t.Name] == "" && !hasName(m, t.Name) {
			return s
		}
		return p.key(m, t.Name, handles)
	case name == "Optional" && len(t.Args) == 1:
		return optional(p.typeOf(m, t.Args[0], handles, depth+1))
	case name == "Union":
		rest := slices.DeleteFunc(slices.Clone(t.Args), func(a *typed) bool { return a != nil && a.Name == "None" })
		if len(rest) == 1 && len(t.Args) == 2 {
			return optional(p.typeOf(m, rest[0], handles, depth+1))
		}
	case slices.Contains([]string{"List", "list", "Sequence"}, name) && len(t.Args) == 1:
		if item := p.typeOf(m, t.Args[0], handles, depth+1); item != "" {
			return "ffi.Array<" + item + ">"
		}
	case slices.Contains([]string{"Dict", "dict", "Mapping"}, name) && len(t.Args) == 2:
		key, value := p.typeOf(m, t.Args[0], handles, depth+1), p.typeOf(m, t.Args[1], handles, depth+1)
		if key != "" && value != "" {
			return "ffi.Map<" + key + ", " + value + ">"
		}
	}
	return ""
}

func hasName(m *module, name string) bool {
	_, class := m.global[name]
	_, def := m.defined[name]
	return class || def
}

func optional(t string) string {
	if t == "" || strings.HasPrefix(t, "Optional<") {
		return t
	}
	return "Optional<" + t + ">"
}

// key returns the key of the class with that name in a module, or the key that it wraps.
func (p *program) key(m *module, name string, handles bool) string {
	e := p.resolve(m, name, 0)
	if e.kind != isClass {
		return ""
	}
	c := &e.in.Classes[e.class]
	if handles {
		return p.wraps[c]
	}
	return p.keys[c]
}

// passed returns the type of an argument, as the annotation of the parameter that is passed says it.
func (p *program) passed(s site, a argument) string {
	if a.Form == "" || a.Form == "value" || s.def == nil {
		return ""
	}
	if a.Param == "self" {
		switch {
		case s.of == nil:
			return ""
		case a.Form == "same":
			return p.keys[s.of]
		case strings.HasPrefix(a.Form, "_"):
			return p.wraps[s.of]
		}
		return ""
	}
	i := slices.IndexFunc(s.def.Params, func(q param) bool { return q.Name == a.Param })
	if i < 0 {
		return ""
	}
	t := p.typeOf(s.in, s.def.Params[i].Type, strings.Contains(a.Form, "_"), 0)
	switch each := strings.HasPrefix(a.Form, "each"); {
	case each && !strings.HasPrefix(strings.TrimPrefix(t, "Optional<"), "ffi.Array<"), !each && a.Form != "same" && strings.Contains(t, "ffi.Array<"):
		return ""
	}
	if a.Optional {
		return optional(t)
	}
	return t
}

// returned returns the type of the result of a call: of the class that wraps it, or of the annotation of the def
// that returns it.
func (p *program) returned(s site) string {
	if s.alike {
		return ""
	}
	if s.declares {
		return p.typeOf(s.in, s.def.Returns, false, 0)
	}
	if s.def == nil || len(s.call.Use) == 0 {
		return ""
	}
	use := s.call.Use[0]
	if wrapper, ok := strings.CutPrefix(use, "in "); ok {
		if at := strings.LastIndexByte(wrapper, '.'); at > 0 && factory(wrapper[at+1:]) {
			wrapper = wrapper[:at]
		}
		if wrapper == "cls" && s.of != nil {
			return p.wraps[s.of]
		}
		return p.key(s.in, wrapper, true)
	}
	if use == "return" {
		return p.typeOf(s.in, s.def.Returns, false, 0)
	}
	return ""
}

// factory reports whether a method makes an object of its class around a handle.
func factory(name string) bool {
	return strings.Contains(name, "handle") || strings.Contains(name, "create")
}
