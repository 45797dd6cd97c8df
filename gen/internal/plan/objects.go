package plan

import (
	"fmt"

	"github.com/tvmffi-go/tvmffi/schema"
)

const initName = "__ffi_init__"

// An Object is a Go type for an object type of the registry.
type Object struct {
	Key    string
	GoName string
	Ref    string // name of the Ref interface
	Marker string // name of the method that makes a Go type satisfy Ref
	Pkg    *Package
	// External objects are generated elsewhere; only their names are known.
	External bool
	Parent   *Object // nearest ancestor with a Go type, nil for ffi.Object
	Base     string  // alias under which the parent is embedded
	Var      string  // name of the bindrt.Type variable
	Doc      Doc
	// UserType and UserRef are true if the consumer declares the type or its Ref.
	UserType, UserRef bool
	Fields            []*Field
	Methods           []*Func // with a receiver
	Statics           []*Func // static methods and constructors
	Makers            []*Func // functions that are called like the type and make it

	schema *schema.Type
	entry  *Entry
	want   string
	scope  *scope
}

// Ancestors lists the ancestors that have a Go type, nearest first.
func (o *Object) Ancestors() []*Object {
	var all []*Object
	for a := o.Parent; a != nil; a = a.Parent {
		all = append(all, a)
	}
	return all
}

// A Field is a getter and perhaps a setter.
type Field struct {
	GoName string // "" if the consumer declared the getter
	Setter string // "" if there is none
	Var    string
	Name   string // in the registry
	Sig    string
	Type   GoType
	Read   string  // a method of bindrt.Field, or ""
	Object *Object // bindrt.ObjectField
	Value  Param   // of the setter
	Doc    Doc

	entry *Entry
}

// A Doc holds the parts of a documentation comment.
type Doc struct {
	Intro     string   // follows the Go name in the first sentence
	Signature string   // as the registry has it
	Text      string   // of the registry, as it came
	About     []string // paragraphs with links, which follow Text
	Warning   string
	Note      string
	// Params maps the parameters that Text may mention to their names in Go.
	Params map[string]string
}

// describeTypes plans the members of all bound types.
func (p *planner) describeTypes() {
	for _, t := range p.bound {
		o := t.object
		o.Doc = Doc{Intro: "is the object type " + o.Key + ".", Text: p.hinted(o.entry, t.schema.Doc)}
		for i := range t.schema.Fields {
			p.describeField(o, &t.schema.Fields[i])
		}
		seen := map[string]int{}
		for i := range t.schema.Methods {
			m := &t.schema.Methods[i]
			seen[m.Name]++
			p.describeMethod(o, m, seen[m.Name])
		}
		if _, declared := seen[initName]; !declared {
			p.describeInit(o)
		}
	}
}

func (p *planner) describeField(o *Object, f *schema.Field) {
	e := p.entry(KindField, o.Key+"."+f.Name, f.Name)
	if p.skip(e) {
		return
	}
	field := &Field{Name: f.Name, Sig: f.Type.String(), entry: e}
	field.Doc = Doc{Intro: "reads the field " + f.Name + ".", Signature: field.Sig, Text: p.hinted(e, f.Doc)}
	o.Fields = append(o.Fields, field)
	n, err := p.resolve(f.Type)
	if key := p.late(f.Type); err == nil && key != "" {
		err = unregistered(key) // a field is read in place, so its type must be known
	}
	if err == nil && n.kind == kindNone {
		err = fmt.Errorf("a field of type None has no Go type")
	}
	if err != nil {
		e.Status, e.Reason = Opaque, err.Error()
		field.Type = runtimeType("Any")
		field.Doc.Warning = "It is untyped: " + err.Error() + "."
		return
	}
	field.Type = o.Pkg.goType(n, Outcome)
	switch n.kind {
	case kindBool, kindInt, kindFloat:
		field.Read = frameMethods[n.kind]
	case kindString:
		field.Read = "Text"
	}
	field.Object = n.base().object
	if f.Flags&schema.FlagWritable != 0 {
		field.Value = o.Pkg.fieldParam(n, "v")
	}
}

// methodKind returns the kind of a method: a static method with the name of constructors is
// one.
func methodKind(m *schema.Method) Kind {
	if m.Flags&schema.FlagIsStaticMethod != 0 && m.Name == initName {
		return KindConstructor
	}
	return KindMethod
}

// describeMethod plans the n-th method of its name.
func (p *planner) describeMethod(o *Object, m *schema.Method, n int) {
	local := m.Name
	if n > 1 {
		local = fmt.Sprintf("%s_%d", m.Name, n)
	}
	static := m.Flags&schema.FlagIsStaticMethod != 0
	kind := methodKind(m)
	e := p.entry(kind, o.Key+"."+m.Name, local)
	if n > 1 {
		e.Note = fmt.Sprintf("overload %d of this name", n)
	}
	if p.skip(e) {
		return
	}
	f := &Func{Name: m.Name, Owner: o, entry: e, Method: !static, overload: n}
	f.Doc = Doc{Intro: "calls the method " + m.Name + "."}
	if !f.Method {
		f.Doc.Intro = "calls the static method " + m.Name + " of " + o.Key + "."
	}
	if kind == KindConstructor {
		f.Constructor = true
		f.Doc.Intro = "makes a new " + o.Key + "."
	}
	if f.Method {
		o.Methods = append(o.Methods, f)
	} else {
		o.Statics = append(o.Statics, f)
	}
	p.sign(f, o.Pkg, m.Signature, m.Flaw, p.refined[m])
	if f.Constructor {
		f.makes(o)
	}
}
