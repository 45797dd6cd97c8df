package plan

import (
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/schema"
)

// An Init is the calling convention of an auto constructor: positional
// arguments, then keywords. The parameters of the call are the required ones,
// positional before keyword-only.
type Init struct {
	Positional int
	Keywords   []string // registry names of the required keyword-only fields
	OptionType string   // "" if there are no options
	Options    []*Option
}

// An Option is an argument with a default.
type Option struct {
	GoName string // "" if the consumer declared it
	Name   string // in the registry
	Value  Param
	Doc    Doc
}

// describeInit plans the auto constructor of a type, if it has one. Its parameters are
// the required positional fields, then the required keyword-only fields. A field with a
// default becomes an option.
func (p *planner) describeInit(o *Object) {
	if !slices.Contains(o.schema.Attributes, initName) {
		return
	}
	e := p.entry(KindConstructor, o.Key+"."+initName, initName)
	if p.skip(e) {
		return
	}
	f := &Func{Name: initName, Owner: o, Constructor: true, Init: &Init{}, Call: &Call{Frame: "CallN"}, entry: e}
	f.Doc = Doc{Intro: "makes a new " + o.Key + ".", Text: p.hinted(e, "")}
	var keywords []Param
	var positional []string
	for _, field := range o.schema.AllFields(p.types) {
		if field.Flags&schema.FlagInitOff != 0 {
			continue
		}
		optional := field.HasDefault()
		n, err := p.resolve(p.accepted(field.Type))
		if err != nil && optional {
			e.Note = "no option for the field " + field.Name + ": " + err.Error()
			continue
		}
		if err != nil {
			e.Status, e.Reason = Skipped, "the field "+field.Name+": "+err.Error()
			return
		}
		param := o.Pkg.fieldParam(n, field.Name)
		switch {
		case optional:
			f.Init.Options = append(f.Init.Options, &Option{Name: field.Name, Value: param,
				Doc: Doc{Intro: "sets " + field.Name + " of a new " + o.Key + ".", Signature: field.Type.String(), Text: field.Doc}})
		case field.Flags&schema.FlagKwOnly != 0:
			keywords = append(keywords, param)
			f.Init.Keywords = append(f.Init.Keywords, field.Name)
		default:
			f.Call.Params = append(f.Call.Params, param)
			positional = append(positional, field.Name+": "+field.Type.String())
		}
	}
	f.Sig = "(" + strings.Join(positional, ", ") + ")"
	f.Init.Positional = len(f.Call.Params)
	f.Call.Params = append(f.Call.Params, keywords...)
	f.makes(o)
	f.Call.Frame = "CallN"
	o.Statics = append(o.Statics, f)
}
