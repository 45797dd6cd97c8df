package pynames

import (
	"maps"
	"slices"
	"strings"
)

// module is a Python module and what its source says.
type module struct {
	name, file string
	facts
	namespace string            // whose functions are attributes of the module, "" for none
	set       map[string]target // attributes that other modules set
	global    map[string]int    // classes by name
	defined   map[string]int    // defs by name, without those for type checkers
}

// target is a name in a module.
type target struct {
	in   *module
	name string
}

// kind says what a name stands for.
type kind int

const (
	unknown    kind = iota
	isModule        // a module
	isFunction      // a function of the registry, by its name
	isClass         // a class of a module
	isMethod        // an attribute of a class with a key, by the name "key.method"
	isDef           // a Python function
)

// entity is what a name stands for.
type entity struct {
	kind  kind
	name  string // of a function or method
	in    *module
	class int
}

// program is the sources of a library.
type program struct {
	modules map[string]*module
	iface   *iface // nil if it is not known
	keys    map[*class]string
	wraps   map[*class]string // classes of which each object holds one with that key
	known   map[target]entity // what names stand for; the zero entity while that is being found out
	enums   map[string][]*class
}

// maxHops bounds how many imports and assignments lead from a name to what it stands for.
const maxHops = 24

func newProgram(sources []source, all []facts, in *iface) *program {
	p := &program{modules: map[string]*module{}, iface: in, keys: map[*class]string{}, wraps: map[*class]string{}, known: map[target]entity{}, enums: map[string][]*class{}}
	for i, s := range sources {
		m := &module{name: s.module, file: s.path, facts: all[i], set: map[string]target{}, global: map[string]int{}, defined: map[string]int{}}
		for j, c := range m.Classes {
			m.global[c.Name] = j
		}
		for j, d := range m.Defs {
			if !d.Declared {
				m.defined[d.Name] = j
			}
		}
		p.modules[s.module] = m
	}
	for _, m := range p.sorted() {
		for _, n := range m.Namespaces {
			if in := p.modules[n.Module]; in != nil {
				in.namespace = strings.TrimPrefix(n.Name, "tvm.")
			} else { // as "tvm.contrib.random" where the package has another name
				m.namespace = strings.TrimPrefix(n.Name, "tvm.")
			}
		}
	}
	p.setAttributes()
	p.findKeys()
	p.findWrappers()
	return p
}

// sorted returns the modules in the order of their names.
func (p *program) sorted() []*module {
	var list []*module
	for _, name := range slices.Sorted(maps.Keys(p.modules)) {
		list = append(list, p.modules[name])
	}
	return list
}

// setAttributes records the attributes of modules that other modules set, short names first.
func (p *program) setAttributes() {
	for _, m := range p.sorted() {
		names := slices.SortedFunc(maps.Keys(m.Attributes), func(a, b string) int {
			if n := strings.Count(a, ".") - strings.Count(b, "."); n != 0 {
				return n
			}
			return strings.Compare(a, b)
		})
		for _, name := range names {
			at := strings.LastIndexByte(name, '.')
			if e := p.resolve(m, name[:at], 0); e.kind == isModule {
				e.in.set[name[at+1:]] = target{m, m.Attributes[name]}
				clear(p.known)
			}
		}
	}
}

// findKeys records the classes that are registered with a key.
func (p *program) findKeys() {
	for _, m := range p.sorted() {
		for i := range m.Classes {
			c := &m.Classes[i]
			for _, d := range c.Decorators {
				name, key, ok := strings.Cut(d, " ")
				if ok && registers(m, name) {
					p.keys[c] = key
				}
			}
		}
	}
}

// registers reports whether a decorator with that name registers a class.
func registers(m *module, name string) bool {
	if whole, ok := m.Imports[name]; ok {
		name = whole
	}
	name = name[strings.LastIndexByte(name, '.')+1:]
	return name == "register_object" || name == "py_class" || name == "c_class"
}

// resolve returns what a dotted name stands for in a module.
func (p *program) resolve(m *module, name string, hops int) entity {
	if global, ok := strings.CutPrefix(name, "@"); ok {
		return entity{kind: isFunction, name: global}
	}
	first, rest, more := strings.Cut(name, ".")
	e := p.member(m, first, hops)
	for more && e.kind != unknown {
		first, rest, more = strings.Cut(rest, ".")
		e = p.attribute(e, first, hops)
	}
	return e
}

// attribute returns what an attribute of e stands for.
func (p *program) attribute(e entity, name string, hops int) entity {
	switch e.kind {
	case isModule:
		if found := p.member(e.in, name, hops+1); found.kind != unknown {
			return found
		}
		if sub := p.modules[e.in.name+"."+name]; sub != nil {
			return entity{kind: isModule, in: sub}
		}
	case isClass:
		c := &e.in.Classes[e.class]
		if i, ok := e.in.global[c.Name+"."+name]; ok {
			return entity{kind: isClass, in: e.in, class: i}
		}
		if p.defines(e.in, c, name) {
			return entity{kind: isDef, in: e.in, name: c.Name + "." + name}
		}
		if key := p.keys[c]; key != "" {
			return entity{kind: isMethod, name: key + "." + name}
		}
	}
	return entity{}
}

// defines reports whether a class or one of its bases has a Python method of that name.
func (p *program) defines(m *module, c *class, name string) bool {
	return p.inherits(m, c, name, map[*class]bool{})
}

func (p *program) inherits(m *module, c *class, name string, seen map[*class]bool) bool {
	if _, ok := m.defined[c.Name+"."+name]; ok {
		return true
	}
	seen[c] = true
	for _, b := range c.Bases {
		e := p.resolve(m, b, 0)
		if e.kind == isClass && !seen[&e.in.Classes[e.class]] && p.inherits(e.in, &e.in.Classes[e.class], name, seen) {
			return true
		}
	}
	return false
}

// member returns what a global name of a module stands for.
func (p *program) member(m *module, name string, hops int) entity {
	if hops > maxHops {
		return entity{}
	}
	t := target{m, name}
	e, ok := p.known[t]
	if !ok {
		p.known[t] = entity{} // so that a cycle ends
		e = p.find(m, name, hops)
		p.known[t] = e
	}
	return e
}

// find is member for a name that was not asked for before.
func (p *program) find(m *module, name string, hops int) entity {
	if t, ok := m.set[name]; ok {
		return p.resolve(t.in, t.name, hops+1)
	}
	if m.namespace != "" && p.iface.has(m.namespace+"."+name) {
		return entity{kind: isFunction, name: m.namespace + "." + name}
	}
	if i, ok := m.global[name]; ok {
		return entity{kind: isClass, in: m, class: i}
	}
	if _, ok := m.defined[name]; ok {
		return entity{kind: isDef, in: m, name: name}
	}
	if values := m.Values[name]; len(values) > 0 && values[0] != name {
		if e := p.resolve(m, values[0], hops+1); e.kind != unknown {
			return e
		}
	}
	if whole, ok := m.Imports[name]; ok {
		if e := p.absolute(whole, hops+1); e.kind != unknown {
			return e
		}
		return entity{}
	}
	for _, star := range m.Stars {
		if from := p.modules[star]; from != nil && from != m {
			if e := p.member(from, name, hops+1); e.kind != unknown {
				return e
			}
		}
	}
	if m.namespace != "" && p.iface == nil {
		return entity{kind: isFunction, name: m.namespace + "." + name}
	}
	return entity{}
}

// absolute returns what a dotted name stands for that begins with a module.
func (p *program) absolute(name string, hops int) entity {
	if m := p.modules[name]; m != nil {
		return entity{kind: isModule, in: m}
	}
	for at := strings.LastIndexByte(name, '.'); at > 0; at = strings.LastIndexByte(name[:at], '.') {
		m := p.modules[name[:at]]
		if m == nil {
			continue
		}
		e := entity{kind: isModule, in: m}
		for part := range strings.SplitSeq(name[at+1:], ".") {
			if e = p.attribute(e, part, hops); e.kind == unknown {
				break
			}
		}
		return e
	}
	return entity{}
}
