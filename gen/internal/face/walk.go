package face

import "slices"

// EachFunction calls f for each function, and for each constructor, property and method with its class.
func (l *Library) EachFunction(f func(*Class, *Function)) {
	for _, g := range l.Functions {
		f(nil, g)
	}
	for _, c := range l.Classes {
		if c.Constructor != nil {
			f(c, c.Constructor)
		}
		for _, g := range slices.Concat(c.Properties, c.Methods) {
			f(c, g)
		}
	}
}

// EachField calls f for each field of a class or an error.
func (l *Library) EachField(f func(Field)) {
	for _, c := range l.Classes {
		for _, d := range c.Fields {
			f(d)
		}
	}
	for _, e := range l.Errors {
		for _, d := range e.Fields {
			f(d)
		}
	}
}

// Each calls f for the type of each parameter, result and field of the library.
func (l *Library) Each(f func(*Type)) {
	l.EachFunction(func(_ *Class, g *Function) {
		for _, p := range g.Params {
			f(p.Type)
		}
		for _, r := range g.Results {
			f(r.Type)
		}
	})
	l.EachField(func(d Field) { f(d.Type) })
}

// Records returns the structs that cross as maps. A struct follows those that it contains, unless
// it contains itself, as those in cyclic do.
func (l *Library) Records() (list []*Record, cyclic map[*Record]bool) {
	cyclic = map[*Record]bool{}
	done := map[*Record]bool{} // false: the visit goes on
	var visit func(t *Type)
	visit = func(t *Type) {
		for _, e := range t.Elems {
			visit(e)
		}
		r := t.Record
		if r == nil {
			return
		}
		if finished, seen := done[r]; seen {
			if !finished {
				cyclic[r] = true
			}
			return
		}
		done[r] = false
		for _, f := range r.Fields {
			visit(f.Type)
		}
		done[r] = true
		list = append(list, r)
	}
	l.Each(visit)
	return list, cyclic
}

// Result returns the type of what f returns: a tuple of several results.
func (f *Function) Result() *Type {
	switch {
	case len(f.Results) == 1:
		return f.Results[0].Type
	case len(f.Results) > 1:
		t := &Type{Kind: KindTuple}
		for _, r := range f.Results {
			t.Elems = append(t.Elems, r.Type)
		}
		return t
	}
	return &Type{Kind: KindNone}
}

// Init returns the fields that the constructor of c takes if no func of Go makes objects, those of its parents first.
func (c *Class) Init() []Field {
	var fields []Field
	if c.Parent != nil {
		fields = c.Parent.Init()
	}
	for _, f := range c.Fields {
		if !f.NoInit {
			f.KwOnly = f.KwOnly || c.KwOnly
			fields = append(fields, f)
		}
	}
	return fields
}
