package pynames

import (
	"slices"
	"strings"
)

// site is a call of a function or method of the registry, or a def that declares one.
type site struct {
	in   *module
	def  *def // nil outside defs
	of   *class
	call *call
	// declares is true for a def that has the parameters of the function: one that only type checkers see, or,
	// with alike, one that has the name and the number of parameters of a function that no call tells about.
	declares, alike bool
	// loose is true for a call of an attribute of anything that has the name of a function of a module.
	loose bool
}

// sites returns all calls of each function, method and constructor, by name.
func (p *program) sites() map[string][]site {
	found := map[string][]site{}
	for _, m := range p.sorted() {
		dynamic := 0
		for i := range m.Calls {
			c := &m.Calls[i]
			if strings.HasSuffix(c.Callee, ".*") {
				if dynamic++; dynamic > maxDynamic {
					continue
				}
			}
			s := site{in: m, call: c}
			if c.Def >= 0 {
				s.def = &m.Defs[c.Def]
			}
			if c.Class >= 0 {
				s.of = &m.Classes[c.Class]
			}
			names := p.callees(s)
			if name := last(c.Callee); len(names) == 0 && p.ofModule(s, name) {
				s.loose = true
				names = []string{name}
			}
			for _, name := range names {
				found[name] = append(found[name], s)
			}
		}
		for i := range m.Defs {
			if name := p.declared(m, &m.Defs[i]); name != "" {
				s := site{in: m, def: &m.Defs[i], declares: true}
				if s.def.Class >= 0 {
					s.of = &m.Classes[s.def.Class]
				}
				found[name] = append(found[name], s)
			}
		}
	}
	return found
}

// ofModule reports whether a call may be one of a function of a loaded module: what the call names is not Python,
// and the function takes as many arguments. A module is an object, so only its name says which function it is.
func (p *program) ofModule(s site, name string) bool {
	if p.iface == nil || !p.iface.exports[name] || s.call.Keywords > 0 || len(s.call.Args) != len(p.iface.items[name].params) {
		return false
	}
	return p.resolve(s.in, s.call.Callee, 0).kind == unknown
}

// Of a module, so many calls of getattr(a, name) count, and for each so many names.
const (
	maxDynamic = 100
	maxStrings = 2000
)

// callees returns the registry names of what a call calls. They are several for getattr(a, name)(b).
func (p *program) callees(s site) []string {
	rest, dynamic := strings.CutSuffix(s.call.Callee, ".*")
	if !dynamic {
		if name := p.callee(s); name != "" {
			return []string{name}
		}
		return nil
	}
	var names []string
	for _, part := range s.in.Strings[:min(len(s.in.Strings), maxStrings)] {
		if e := p.resolve(s.in, rest+"."+part, 0); e.kind == isFunction {
			names = append(names, e.name)
		}
	}
	return names
}

// callee returns the registry name of what a call calls, "" if it is Python.
func (p *program) callee(s site) string {
	c := s.call
	if rest, ok := strings.CutPrefix(c.Callee, "self."); ok && s.of != nil {
		return p.ofSelf(s, rest)
	}
	if rest, ok := strings.CutPrefix(c.Callee, "cls."); ok && s.of != nil {
		if key := p.keys[s.of]; key != "" && !strings.Contains(rest, ".") && p.isItem(key+"."+rest) && !p.defines(s.in, s.of, rest) {
			return key + "." + rest
		}
		return ""
	}
	e := p.resolve(s.in, c.Callee, 0)
	switch e.kind {
	case isFunction:
		return e.name
	case isMethod:
		if p.isItem(e.name) {
			return e.name
		}
	case isClass:
		cls := &e.in.Classes[e.class]
		if key := p.keys[cls]; key != "" && !p.defines(e.in, cls, "__init__") {
			return key + "." + constructor
		}
	}
	return ""
}

// ofSelf returns the registry name of the method that self.NAME is, in a class with a key, or self._handle.NAME,
// in a class that wraps one.
func (p *program) ofSelf(s site, rest string) string {
	attr, method, deeper := strings.Cut(rest, ".")
	if !deeper {
		key := p.keys[s.of]
		if key == "" || attr != constructor && (p.defines(s.in, s.of, attr) || !p.isItem(key+"."+attr)) {
			return ""
		}
		return key + "." + attr
	}
	key := p.wraps[s.of]
	if key == "" || strings.Contains(method, ".") || !strings.Contains(strings.ToLower(attr), "handle") && p.iface == nil {
		return ""
	}
	if !p.isItem(key + "." + method) {
		return ""
	}
	return key + "." + method
}

// isItem reports whether the libraries have an item of that name, or may have one.
func (p *program) isItem(name string) bool {
	if p.iface == nil {
		return !strings.HasPrefix(last(name), "__") || last(name) == constructor
	}
	_, ok := p.iface.items[name]
	return ok
}

// declared returns the registry name of what a def declares for type checkers.
func (p *program) declared(m *module, d *def) string {
	if !d.Declared || slices.ContainsFunc(d.Params, func(q param) bool { return strings.HasPrefix(q.Name, "_") }) {
		return "" // the names of tvm-ffi-stubgen are _0, _1 and so on
	}
	name := ""
	switch {
	case d.Class >= 0:
		if key := p.keys[&m.Classes[d.Class]]; key != "" {
			name = key + "." + last(d.Name)
		}
	case m.namespace != "" && !strings.Contains(d.Name, "."):
		name = m.namespace + "." + d.Name
	}
	if name == "" || !p.isItem(name) {
		return ""
	}
	return name
}

// findWrappers records the classes that wrap an object with a key: those that set or pass such an object
// to themselves, and those that have the name of exactly one key and no key of their own.
func (p *program) findWrappers() {
	byName := map[string][]string{}
	for _, key := range p.keys {
		byName[last(key)] = append(byName[last(key)], key)
	}
	for _, m := range p.sorted() {
		for i := range m.Classes {
			c := &m.Classes[i]
			if keys := byName[c.Name]; p.keys[c] == "" && len(keys) == 1 {
				p.wraps[c] = keys[0]
			}
		}
	}
	for _, m := range p.sorted() {
		for i := range m.Calls {
			c := &m.Calls[i]
			if c.Class < 0 || c.Def < 0 || last(m.Defs[c.Def].Name) != "__init__" || p.keys[&m.Classes[c.Class]] != "" {
				continue
			}
			use := c.Use[0]
			if !strings.HasPrefix(use, "in self._") && !strings.HasPrefix(use, "set self._") && use != "set self.handle" {
				continue
			}
			if name := p.callee(site{in: m, def: &m.Defs[c.Def], of: &m.Classes[c.Class], call: c}); last(name) == constructor {
				p.wraps[&m.Classes[c.Class]] = strings.TrimSuffix(name, "."+constructor)
			}
		}
	}
}

// alike adds to the functions and methods of which no call gives the names the defs of their names: the method
// of the class with that key or around such an object, and the def in a module that calls the namespace.
func (p *program) alike(found map[string][]site, callers map[string]map[*module]bool) {
	byKey := map[string][]site{}
	for _, m := range p.sorted() {
		for i := range m.Defs {
			d := &m.Defs[i]
			if d.Declared || slices.ContainsFunc(d.Params, func(q param) bool { return q.Kind != "" && q.Kind != "keyword" }) {
				continue
			}
			s := site{in: m, def: d, declares: true, alike: true}
			if d.Class < 0 {
				if !strings.Contains(d.Name, ".") {
					byKey["/"+d.Name] = append(byKey["/"+d.Name], s)
				}
				continue
			}
			s.of = &m.Classes[d.Class]
			for _, key := range []string{p.keys[s.of], p.wraps[s.of]} {
				if key != "" {
					byKey[key+"."+last(d.Name)] = append(byKey[key+"."+last(d.Name)], s)
				}
			}
		}
	}
	for _, name := range p.iface.all {
		it := p.iface.items[name]
		name = it.name
		if !it.bound || !it.typed || slices.ContainsFunc(found[name], func(s site) bool { names, ok := s.names(); return ok && !s.declares && len(names) == len(it.params) }) {
			continue
		}
		near := byKey[name]
		if it.kind == "function" {
			near = byKey[name+".__init__"]
			for _, s := range byKey["/"+last(name)] {
				if at := strings.LastIndexByte(name, '.'); at > 0 && callers[name[:at]][s.in] {
					near = append(near, s)
				}
			}
		}
		for _, s := range near {
			if names, ok := s.names(); ok && len(names) == len(it.params) {
				found[name] = append(found[name], s)
			}
		}
	}
}
