package plan

import (
	"cmp"
	"slices"
)

// A Heading is the declaration of a function or method without its body.
type Heading struct {
	Pkg      *Package // that declares it
	Receiver *Object  // nil for a function
	Self     string   // the name of the receiver
	Name     string
	Params   []Param
	// Rest is the last parameter, which takes any number of arguments, and RestType the type of one
	// of them. Rest is "" if there is none.
	Rest     string
	RestType GoType
	Results  []GoType
	// Alias is a name in Pkg for the object that the first result points to, or "".
	Alias string
}

// Self is the name of a receiver, unless a parameter has it.
const Self = "x"

var (
	anyType   = GoType{Name: "any"}
	errorType = GoType{Name: "error"}
)

// Heading returns the declaration of the function.
func (f *Func) Heading() Heading {
	h := Heading{Pkg: f.Pkg, Self: Self, Name: f.GoName}
	if f.Owner != nil {
		h.Pkg = f.Owner.Pkg
	}
	if f.Method {
		h.Receiver = f.Owner
	}
	if f.Call == nil {
		h.packed()
		return h
	}
	h.Self = f.Call.Locals.Receiver
	h.call(f.Call, f.Init, h.Pkg.Path)
	return h
}

// Heading returns the declaration of the func in pkg.
func (f *Forward) Heading(pkg *Package) Heading {
	h := Heading{Pkg: pkg, Name: f.GoName}
	if f.Call == nil {
		h.packed()
	} else {
		h.call(f.Call, f.To.Init, f.To.Owner.Pkg.Path)
	}
	return h
}

// Bound returns the declaration, without a name, of the func that a function of pkg returns and that makes the call c.
func Bound(pkg *Package, c *Call) Heading {
	h := Heading{Pkg: pkg}
	h.call(c, nil, pkg.Path)
	return h
}

// packed makes it the declaration of a function without types.
func (h *Heading) packed() {
	h.Rest, h.RestType = "args", anyType
	h.Results = []GoType{RuntimeType("Any"), errorType}
}

// call adds the parameters and results of c, whose options are declared in the package at optionPath.
func (h *Heading) call(c *Call, init *Init, optionPath string) {
	h.Params = c.Params
	option := ""
	if init != nil {
		option = init.OptionType
	} else if o := c.Options; o != nil {
		h.Params, option = c.Params[:o.First], o.Type
	}
	if option != "" {
		h.Rest, h.RestType = c.Locals.Options, GoType{Name: option, Path: optionPath}
	}
	h.Results = []GoType{errorType}
	if c.Result == nil {
		return
	}
	h.Results = []GoType{c.Result.Type, errorType}
	if elem := c.Result.Type.Elem; elem != nil && elem.Object != nil {
		h.Alias = h.Pkg.AliasOf(elem.Object)
	}
}

// Headings returns the declarations of the getter and the setter, as far as there are any.
func (f *Field) Headings(o *Object) (get, set Heading) {
	method := Heading{Pkg: o.Pkg, Receiver: o, Self: Self}
	if f.GoName != "" {
		get = method
		get.Name, get.Results = f.GoName, []GoType{f.Type}
	}
	if f.Setter != "" {
		set = method
		set.Name, set.Params, set.Results = f.Setter, []Param{{Name: "v", Type: f.Value.Type}}, []GoType{errorType}
	}
	return get, set
}

// Heading returns the declaration of the func that makes the option.
func (o *OptionFunc) Heading(pkg *Package) Heading {
	return makesOption(pkg, o.GoName, o.Value.Type, o.Type)
}

// Heading returns the declaration of the func that makes the option of a constructor.
func (o *Option) Heading(pkg *Package, optionType string) Heading {
	return makesOption(pkg, o.GoName, o.Value.Type, optionType)
}

func makesOption(pkg *Package, name string, value GoType, optionType string) Heading {
	return Heading{Pkg: pkg, Name: name, Params: []Param{{Name: "v", Type: value}}, Results: []GoType{{Name: optionType, Path: pkg.Path}}}
}

// A Span is a piece of text that may name a type.
type Span struct {
	Text string
	Type string // its key, or ""
}

// Declarations returns the Go declarations of the items of the package, by their entries, with the funcs that
// make the options of a function after it.
func (pkg *Package) Declarations() map[*Entry][][]Span {
	all := map[*Entry][][]Span{}
	add := func(e *Entry, h Heading) {
		if h.Name != "" && e != nil {
			all[e] = append(all[e], h.spans())
		}
	}
	for _, f := range pkg.AllFuncs() {
		if f.GoName == "" {
			continue
		}
		add(f.Entry, f.Heading())
		switch {
		case f.Init != nil:
			for _, o := range f.Init.Options {
				add(f.Entry, o.Heading(f.Owner.Pkg, f.Init.OptionType))
			}
		case f.Call != nil && f.Call.Options != nil:
			for _, o := range f.Call.Options.Funcs {
				add(f.Entry, o.Heading(pkg))
			}
		}
	}
	for _, o := range pkg.Objects {
		for _, f := range o.Fields {
			get, set := f.Headings(o)
			add(f.Entry, get)
			add(f.Entry, set)
		}
		if o.Entry != nil && o.GoName != "" {
			all[o.Entry] = append(all[o.Entry], []Span{{Text: "type "}, {o.GoName, o.Key}})
		}
	}
	return all
}

// spans writes the heading without the name of the receiver, as gofmt does.
func (h Heading) spans() []Span {
	w := spanWriter{pkg: h.Pkg}
	w.text("func ")
	if h.Receiver != nil {
		w.text("(*")
		w.key(h.Receiver.GoName, h.Receiver.Key)
		w.text(") ")
	}
	w.text(h.Name + "(")
	for i, p := range h.Params {
		w.separate(i)
		w.text(p.Name)
		if i+1 == len(h.Params) || !p.Type.Same(h.Params[i+1].Type) {
			w.text(" ")
			w.goType(p.Type)
		}
	}
	if h.Rest != "" {
		w.separate(len(h.Params))
		w.text(h.Rest + " ...")
		w.goType(h.RestType)
	}
	w.text(") ")
	w.results(h.Results, h.Alias)
	return w.spans
}

type spanWriter struct {
	pkg   *Package
	spans []Span
}

func (w *spanWriter) text(s string) {
	if n := len(w.spans) - 1; n >= 0 && w.spans[n].Type == "" {
		w.spans[n].Text += s
		return
	}
	w.spans = append(w.spans, Span{Text: s})
}

func (w *spanWriter) key(s, key string) { w.spans = append(w.spans, Span{s, key}) }

func (w *spanWriter) separate(i int) {
	if i > 0 {
		w.text(", ")
	}
}

// results writes the results in brackets, unless there is one.
func (w *spanWriter) results(types []GoType, alias string) {
	if len(types) == 1 {
		w.goType(types[0])
		return
	}
	w.text("(")
	for i, t := range types {
		w.separate(i)
		if i == 0 && alias != "" {
			w.text("*")
			w.key(alias, t.Elem.Object.Key)
		} else {
			w.goType(t)
		}
	}
	w.text(")")
}

// qualified returns a name of the package at path, in the form for this package.
func (w *spanWriter) qualified(path, name string) string {
	if path == "" || path == w.pkg.Path {
		return name
	}
	i := slices.IndexFunc(w.pkg.Imports, func(i Import) bool { return i.Path == path })
	if i < 0 {
		return Segment(path) + "." + name
	}
	return cmp.Or(w.pkg.Imports[i].Name, Segment(path)) + "." + name
}

func (w *spanWriter) goType(t GoType) {
	switch {
	case t.Object != nil:
		w.key(w.qualified(t.Object.Pkg.Path, t.Object.GoName), t.Object.Key)
	case t.Ref != nil:
		w.key(w.qualified(t.Ref.Pkg.Path, t.Ref.Ref), t.Ref.Key)
	case t.Variant != nil:
		w.text(w.qualified(t.Variant.Pkg.Path, t.Variant.GoName))
	case t.Enum != nil:
		w.text(w.qualified(t.Enum.Pkg.Path, t.Enum.GoName))
	case t.Elem != nil:
		w.text("*")
		w.goType(*t.Elem)
	case t.Slice != nil:
		w.text("[]")
		w.goType(*t.Slice)
	case t.Func != nil:
		w.text("func(")
		for i, p := range t.Func.Params {
			w.separate(i)
			w.goType(p)
		}
		w.text(") ")
		if t.Func.Result == nil {
			w.results([]GoType{errorType}, "")
		} else {
			w.results([]GoType{*t.Func.Result, errorType}, "")
		}
	default:
		w.text(w.qualified(t.Path, t.Name))
		if len(t.Args) == 0 {
			return
		}
		w.text("[")
		for i, a := range t.Args {
			w.separate(i)
			w.goType(a)
		}
		w.text("]")
	}
}
