// Package members plans what each item becomes: fields, methods, constructors and functions, with
// their calls.
package members

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/classify"
	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/gen/internal/types"
	"github.com/tvmffi-go/tvmffi/schema"
)

// Describe plans the members of the types, and the functions.
func Describe(t *types.Types) {
	d := &describer{t}
	for _, t := range d.Items.Types {
		d.describeType(t)
	}
	for i, f := range d.Functions {
		d.describeFunction(d.Funcs[i], f)
	}
	d.findMakers()
	for _, pkg := range d.Packages {
		describeForwards(pkg)
	}
}

type describer struct{ *types.Types }

func (d *describer) describeType(t *classify.Type) {
	o := d.Objects[t.Schema.Key]
	o.Doc = plan.Doc{Intro: "is the object type " + o.Key + ".", Text: t.Doc}
	for _, f := range t.Fields {
		if f.Entry.Status != plan.Skipped {
			d.describeField(o, f)
		}
	}
	for _, m := range t.Methods {
		if m.Entry.Status != plan.Skipped {
			d.describeMethod(o, m)
		}
	}
	if t.Init != nil && t.Init.Entry.Status != plan.Skipped {
		d.describeInit(o, t)
	}
}

func (d *describer) describeField(o *plan.Object, f *classify.Field) {
	field := &plan.Field{Name: f.Schema.Name, Sig: f.Schema.Type.String(), Entry: f.Entry}
	field.Doc = plan.Doc{Intro: "reads the field " + field.Name + ".", Signature: field.Sig, Text: f.Doc}
	if f.Changed {
		field.Doc.Signature = f.Type.String()
		f.Entry.Signature, f.Entry.Narrow = field.Doc.Signature, f.Narrow
	}
	o.Fields = append(o.Fields, field)
	if err := d.Field(o.Pkg, field, f); err != nil {
		f.Entry.Status, f.Entry.Reason = plan.Opaque, err.Error()
		field.Type = plan.RuntimeType("Any")
		field.Doc.Warning = "It is untyped: " + err.Error() + "."
	}
}

func (d *describer) describeMethod(o *plan.Object, m *classify.Method) {
	f := &plan.Func{Name: m.Schema.Name, Owner: o, Pkg: o.Pkg, Entry: m.Entry, Local: m.Schema.Name, Overload: m.Overload,
		Method: m.Schema.Flags&schema.FlagIsStaticMethod == 0, Constructor: m.Entry.Kind == plan.KindConstructor}
	if m.Overload > 1 {
		f.Local = fmt.Sprintf("%s_%d", f.Name, m.Overload)
	}
	to := &o.Statics
	switch {
	case f.Constructor:
		f.Doc.Intro, f.Doc.Noun = "makes a new "+o.Key+".", "returns"
	case f.Method:
		f.Doc.Intro = "calls the method " + f.Name + "."
		to = &o.Methods
	default:
		f.Doc.Intro = "calls the static method " + f.Name + " of " + o.Key + "."
	}
	*to = append(*to, f)
	d.sign(f, &m.Item, m.Schema.Signature, m.Schema.Flaw)
	if f.Constructor && f.Call != nil {
		types.ReturnObject(f.Call, o)
	}
}

// describeInit plans the constructor of a type that sets its fields. Its parameters are
// the required positional fields, then the required keyword-only fields. A field with a
// default becomes an option.
func (d *describer) describeInit(o *plan.Object, t *classify.Type) {
	e := t.Init.Entry
	f := &plan.Func{Name: plan.InitName, Owner: o, Pkg: o.Pkg, Constructor: true, Init: &plan.Init{}, Call: &plan.Call{}, Entry: e, Local: plan.InitName, Brief: t.Init.Brief}
	f.Doc = plan.Doc{Intro: "makes a new " + o.Key + ".", Noun: "returns", Text: t.Init.Doc}
	var keywords []plan.Param
	var positional, all []string
	for _, field := range t.Schema.AllFields(d.Keys) {
		if field.Flags&schema.FlagInitOff != 0 {
			continue
		}
		optional := field.HasDefault()
		typ, narrow := d.FieldType(t.Schema, field)
		e.Narrow = e.Narrow || narrow
		text := field.Name + ": " + typ.String()
		if optional {
			text += " = default"
		}
		all = append(all, text)
		param, err := d.FieldParam(o.Pkg, d.Accepted(typ), field.Name)
		if err != nil && optional {
			e.Note = "no option for the field " + field.Name + ": " + err.Error()
			continue
		}
		if err != nil {
			e.Status, e.Reason = plan.Skipped, "the field "+field.Name+": "+err.Error()
			return
		}
		switch {
		case optional:
			f.Init.Options = append(f.Init.Options, &plan.Option{Name: field.Name, Value: param,
				Doc: plan.Doc{Intro: "sets " + field.Name + " of a new " + o.Key + ".", Signature: typ.String(), Text: field.Doc}})
		case field.Flags&schema.FlagKwOnly != 0:
			keywords = append(keywords, param)
			f.Init.Keywords = append(f.Init.Keywords, field.Name)
		default:
			f.Call.Params = append(f.Call.Params, param)
			positional = append(positional, field.Name+": "+field.Type.String())
		}
	}
	f.Sig = "(" + strings.Join(positional, ", ") + ")"
	if e.Narrow {
		e.Signature = "(" + strings.Join(all, ", ") + ")"
	}
	f.Init.Positional = len(f.Call.Params)
	f.Call.Params = append(f.Call.Params, keywords...)
	types.ReturnObject(f.Call, o)
	f.Call.Frame = "CallN"
	o.Statics = append(o.Statics, f)
}

// describeForwards plans the forwards of the aliases of a package.
func describeForwards(pkg *plan.Package) {
	for _, a := range pkg.Aliases {
		for _, f := range a.Object.Statics {
			forward := &plan.Forward{To: f}
			if f.Call != nil {
				c := *f.Call
				c.Params = slices.Clone(c.Params)
				forward.Call = &c
			}
			a.Forwards = append(a.Forwards, forward)
		}
	}
}
