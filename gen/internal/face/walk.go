package face

// Each calls f for the type of each parameter, result and field of the library.
func (l *Library) Each(f func(*Type)) {
	functions := func(list ...*Function) {
		for _, g := range list {
			for _, p := range g.Params {
				f(p.Type)
			}
			for _, r := range g.Results {
				f(r.Type)
			}
		}
	}
	fields := func(list []Field) {
		for _, d := range list {
			f(d.Type)
		}
	}
	functions(l.Functions...)
	for _, c := range l.Classes {
		if c.Constructor != nil {
			functions(c.Constructor)
		}
		functions(c.Methods...)
		functions(c.Properties...)
		fields(c.Fields)
	}
	for _, e := range l.Errors {
		fields(e.Fields)
	}
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
