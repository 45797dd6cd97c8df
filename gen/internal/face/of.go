package face

import (
	"cmp"
	"fmt"
	"go/constant"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/tvmffi-go/tvmffi/gen/internal/source"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/fieldtag"
)

// Of describes what p exports as the library name, with prefix before the names in the
// registry.
func Of(p *source.Package, name, prefix string) *Library {
	b := &builder{
		pkg: p, prefix: prefix, lib: &Library{Name: name, Prefix: prefix, Path: p.Path, Doc: p.Doc},
		classes: map[*types.TypeName]*Class{}, enums: map[*types.TypeName]*Enum{}, records: map[*types.TypeName]*Record{},
	}
	parts := b.parts()
	for _, part := range parts { // first all names, because packages use types of each other
		part.declare()
	}
	for _, part := range parts {
		for _, t := range part.pkg.Types {
			part.class(t)
		}
		part.orderClasses()
	}
	for _, part := range parts {
		for _, f := range part.pkg.Functions {
			if part.has(f.Name) {
				g := part.function(f)
				g.Symbol, g.Global = f.Name, part.prefix+f.Name
				b.lib.Functions = append(b.lib.Functions, g)
			}
		}
		part.addKernels()
		part.addErrors()
	}
	slices.SortFunc(b.lib.Functions, func(x, y *Function) int { return cmp.Compare(x.Name, y.Name) })
	slices.SortStableFunc(b.lib.Enums, func(x, y *Enum) int { return cmp.Compare(x.Name, y.Name) })
	slices.SortStableFunc(b.lib.Errors, func(x, y *Error) int { return cmp.Compare(x.Name, y.Name) })
	return b.lib
}

// declare adds the enums of the package, and its classes without what is in them.
func (b *builder) declare() {
	for _, e := range b.pkg.Enums {
		b.enum(e)
	}
	for _, t := range b.pkg.Types {
		b.classes[t.Object] = &Class{
			Name: t.GoName, Key: b.key(t.Key), Doc: t.Doc, ParentKey: t.Parent, Opaque: t.Opaque,
			Final: slices.Contains(t.Flags, "Final"), Frozen: slices.Contains(t.Flags, "Frozen"), KwOnly: slices.Contains(t.Flags, "KwOnly"), Structural: t.Structural != "",
		}
	}
}

// addErrors adds the error types of the package.
func (b *builder) addErrors() {
	for _, e := range b.pkg.Errors {
		fields := b.fields(e.Object.Type().Underlying(), nil)
		if basic, ok := e.Object.Type().Underlying().(*types.Basic); ok {
			fields = []Field{{Name: "value", Type: b.typeOf(basic)}}
		}
		b.lib.Errors = append(b.lib.Errors, &Error{Name: e.GoName, Kind: b.key(e.Kind), Base: e.Base, Doc: e.Doc, Fields: fields})
	}
}

// builder describes one package of a library.
type builder struct {
	pkg     *source.Package
	prefix  string // before the names of the package in the registry
	lib     *Library
	classes map[*types.TypeName]*Class
	enums   map[*types.TypeName]*Enum
	records map[*types.TypeName]*Record
}

// key returns a key or a kind with the prefix.
func (b *builder) key(key string) string {
	if strings.Contains(key, ".") {
		return key
	}
	return b.prefix + key
}

// class fills the class of t.
func (b *builder) class(t *source.Type) {
	c := b.classes[t.Object]
	if t.Opaque {
		c.Parent = b.embedded(t.Object.Type().Underlying())
	} else {
		c.Fields = b.fields(t.Object.Type().Underlying(), c)
	}
	if t.Constructor != nil {
		c.Constructor = b.function(t.Constructor)
	}
	for _, m := range t.Properties {
		c.Properties = append(c.Properties, b.function(m))
	}
	for _, m := range t.Methods {
		switch m.Hook {
		case "Repr":
			c.Repr = true
		case "EqualBy":
			c.Equal = true
		case "HashBy":
			c.Hash = true
		case "CompareBy":
			c.Compare = true
		default:
			f := b.function(m)
			c.Methods = append(c.Methods, f)
			c.special(f)
		}
	}
}

// embedded returns the class that an opaque struct embeds, nil if there is none.
func (b *builder) embedded(t types.Type) *Class {
	for f := range t.(*types.Struct).Fields() {
		if named, ok := types.Unalias(f.Type()).(*types.Named); ok && f.Embedded() && b.classes[named.Obj()] != nil {
			return b.classes[named.Obj()]
		}
	}
	return nil
}

// special notes the methods for which other languages have a form of their own.
func (c *Class) special(f *Function) {
	returns := func(k crossing.Kind) bool { return len(f.Results) == 1 && f.Results[0].Type.Kind == k }
	switch {
	case len(f.Params) > 0 || f.Packed || f.Context:
	case f.GoName == "Close" && len(f.Results) == 0:
		c.Close = f
	case f.GoName == "Len" && returns(crossing.KindInt):
		c.Len = f
	case f.GoName == "String" && returns(crossing.KindString):
		c.String = f
	case f.GoName == "All" && returns(crossing.KindIterator):
		c.All = f
	}
}

// orderClasses puts parents before their children.
func (b *builder) orderClasses() {
	var add func(c *Class)
	add = func(c *Class) {
		if slices.Contains(b.lib.Classes, c) {
			return
		}
		if c.Parent != nil {
			add(c.Parent)
		}
		b.lib.Classes = append(b.lib.Classes, c)
	}
	for _, t := range b.pkg.Types {
		add(b.classes[t.Object])
	}
}

// fields returns the fields with tags. An embedded struct is the parent of c if it is a
// class; the fields of another one count as those of the struct around it.
func (b *builder) fields(t types.Type, c *Class) []Field {
	s, ok := t.(*types.Struct)
	if !ok {
		return nil
	}
	var fields []Field
	for i := range s.NumFields() {
		f := s.Field(i)
		text, tagged, err := fieldtag.Lookup(reflect.StructTag(s.Tag(i)))
		if err != nil {
			continue // source reports it
		}
		if f.Embedded() && !tagged {
			named, _ := types.Unalias(f.Type()).(*types.Named)
			if named != nil && c != nil && b.classes[named.Obj()] != nil {
				c.Parent = b.classes[named.Obj()]
			} else {
				fields = append(fields, b.fields(f.Type().Underlying(), c)...)
			}
			continue
		}
		tag, err := fieldtag.Parse(text)
		if !tagged || err != nil || tag.Name == "" {
			continue
		}
		d := b.field(f, tag, reflect.StructTag(s.Tag(i)).Get("doc"))
		if c != nil && d.Type.Kind == crossing.KindOptional && !d.HasDefault { // as define registers it
			d.Default, d.HasDefault = &Value{Kind: crossing.KindNone}, true
		}
		fields = append(fields, d)
	}
	return fields
}

func (b *builder) function(f *source.Function) *Function {
	g := &Function{Name: f.Name, GoName: f.GoName, Doc: f.Doc, Fails: f.Fails, Context: f.Context, Packed: f.Packed}
	for i, p := range f.Params {
		if f.Packed {
			break
		}
		name := p.Name
		if name == "" || name == "_" {
			name = fmt.Sprintf("arg%d", i)
		}
		param := Param{Name: name, Type: b.crossing(p), Variadic: p.Variadic}
		if p.Default != nil {
			param.Default = defaultOf(*p.Default, param.Type)
			if *p.Default == "nil" && param.Default == nil { // an object or a func, which may be None
				param.Default, param.Type = &Value{Kind: crossing.KindNone}, optional(param.Type)
			}
		}
		g.Params = append(g.Params, param)
	}
	for _, r := range f.Results {
		name := r.Name
		if name == "_" {
			name = ""
		}
		g.Results = append(g.Results, Result{Name: name, Type: b.crossing(r)})
	}
	return g
}

// crossing describes the type of a parameter or a result as others see it.
func (b *builder) crossing(p source.Param) *Type {
	t := b.typeOf(p.Type)
	if !p.Lent {
		return t
	}
	elem := &Type{Kind: crossing.KindInt, Bits: 8, Unsigned: true} // of []byte, which else are bytes
	if t.Kind == crossing.KindSequence {
		if elem = t.Elems[0]; elem.Kind == crossing.KindEnum { // a tensor has numbers
			elem = b.typeOf(p.Type.Underlying().(*types.Slice).Elem().Underlying())
		}
	}
	return &Type{Kind: crossing.KindTensor, Elems: []*Type{elem}, Lent: true}
}

// enum adds the enum of e.
func (b *builder) enum(e *source.Enum) {
	basic := e.Object.Type().Underlying().(*types.Basic)
	enum := &Enum{Name: e.GoName, Path: e.Object.Pkg().Path() + "." + e.GoName, Doc: e.Doc, Kind: crossing.KindInt, Unsigned: basic.Info()&types.IsUnsigned != 0 && bits(basic) == 64}
	used := map[string]bool{}
	for _, c := range e.Constants {
		m := Member{GoName: c.GoName, Name: memberName(c.GoName, e.GoName), Doc: c.Doc}
		for used[m.Name] {
			m.Name += "_"
		}
		used[m.Name] = true
		if c.Value.Kind() == constant.String {
			enum.Kind = crossing.KindString
			m.Value = Value{Kind: crossing.KindString, Text: constant.StringVal(c.Value)}
		} else {
			m.Value = Value{Kind: crossing.KindInt, Text: c.Value.ExactString()}
		}
		enum.Members = append(enum.Members, m)
	}
	b.enums[e.Object] = enum
	b.lib.Enums = append(b.lib.Enums, enum)
}

// memberName returns the name of a constant in capital letters, without the name of its
// type: RED for ColorRed.
func memberName(name, typ string) string {
	short := name
	if rest, ok := strings.CutPrefix(name, typ); ok {
		short = rest
	} else if rest, ok := strings.CutSuffix(name, typ); ok {
		short = rest
	}
	short = strings.TrimLeft(short, "_")
	if short == "" || unicode.IsDigit(rune(short[0])) {
		short = name
	}
	return strings.ToUpper(source.Snake(short))
}
