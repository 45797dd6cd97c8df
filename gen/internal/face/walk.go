package face

import (
	"slices"

	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

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

// Records are the structs that cross as maps. A struct follows those that it contains, unless it contains itself, as those in
// cyclic do.
type Records struct {
	List   []*Record
	cyclic map[*Record]bool
}

// Records returns the structs of the library.
func (l *Library) Records() Records {
	r := Records{cyclic: map[*Record]bool{}}
	done := map[*Record]bool{} // false: the visit goes on
	var visit func(t *Type)
	visit = func(t *Type) {
		for _, e := range t.Elems {
			visit(e)
		}
		if t.Record == nil {
			return
		}
		if finished, seen := done[t.Record]; seen {
			r.cyclic[t.Record] = r.cyclic[t.Record] || !finished
			return
		}
		done[t.Record] = false
		for _, f := range t.Record.Fields {
			visit(f.Type)
		}
		done[t.Record] = true
		r.List = append(r.List, t.Record)
	}
	l.Each(visit)
	return r
}

// Hold reports whether a field of type t of a struct holds, in itself, a struct that is not complete before that one.
func (r Records) Hold(t *Type, field *Record) bool {
	if t.Record != nil {
		return r.cyclic[t.Record] && slices.Index(r.List, t.Record) >= slices.Index(r.List, field)
	}
	return (t.Kind == crossing.KindOptional || t.Kind == crossing.KindTuple) && slices.ContainsFunc(t.Elems, func(e *Type) bool { return r.Hold(e, field) })
}

// Result returns the type of what f returns: a tuple of several results.
func (f *Function) Result() *Type {
	switch {
	case len(f.Results) == 1:
		return f.Results[0].Type
	case len(f.Results) > 1:
		t := &Type{Kind: crossing.KindTuple}
		for _, r := range f.Results {
			t.Elems = append(t.Elems, r.Type)
		}
		return t
	}
	return &Type{Kind: crossing.KindNone}
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
