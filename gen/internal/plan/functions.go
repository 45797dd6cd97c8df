package plan

import (
	"errors"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/schema"
)

// A Func is a generated function or method.
type Func struct {
	GoName string
	Var    string // name of the bindrt.Func variable
	Name   string // in the registry
	Sig    string // canonical signature, "" if the runtime cannot compare it
	Module string // library of a module export
	Owner  *Object
	Method bool // it has a receiver
	// Constructor is true for NewT. Init is set if it is an auto constructor.
	Constructor bool
	Init        *Init
	Call        *Call // nil: packed
	Doc         Doc

	entry   *Entry
	want    string
	library string // that it is from
}

// describeFunctions plans all bound functions.
func (p *planner) describeFunctions() {
	for _, b := range p.functions {
		at := p.locate(b.schema.Name)
		pkg := p.pkg(at.dir)
		pkg.owners[b.schema.Library] = true
		f := &Func{Name: b.schema.Name, entry: b.entry, library: b.schema.Library, want: Camel(p.localNames[b.entry])}
		f.entry.local = at.local
		f.Doc = Doc{Intro: "calls " + f.Name + "."}
		if b.schema.Source == schema.SourceModule {
			f.Module = b.schema.Library
			f.Doc.Intro = "calls " + f.Name + " of " + f.Module + "."
		}
		pkg.funcs = append(pkg.funcs, f)
		p.sign(f, pkg, b.schema.Signature, b.schema.Flaw, p.refined[b.schema])
		if b.schema.Reported {
			f.Sig = ""
			f.Doc.Note = notes(b.schema.Signature)
		}
		p.preferVerb(f, pkg)
	}
}

// preferVerb renames a function that has the name of a type and makes objects of it: to
// NewT, or to MakeT if NewT is the constructor from the fields. A function without a
// signature, or one that returns a parent of the type, is assumed to make the type too.
func (p *planner) preferVerb(f *Func, pkg *Package) {
	o := p.namesake(f, pkg)
	if o == nil || o.External {
		return
	}
	var result *Object
	if f.Call != nil && f.Call.Result != nil {
		result = f.Call.Result.Object
	}
	makes := result == o
	likely := f.entry.Packed || result != nil && slices.Contains(o.schema.Ancestors, result.Key)
	i := slices.IndexFunc(o.Statics, func(s *Func) bool { return s.Constructor && o.Pkg == pkg })
	switch {
	case makes && i < 0:
		f.want = "New" + f.want
		f.entry.Renamed = "it makes objects of the type with its name, so New precedes the name"
	case makes || likely:
		f.want = "Make" + f.want
		f.entry.Renamed = "a type has this name"
		if i >= 0 && o.Statics[i].Init != nil {
			o.Statics[i].Doc.Note = "It sets the fields to the arguments. The constructor of the library itself is " + f.Name + "."
		}
	}
}

// namesake returns the type with the registry name of a function, or else the type of
// another namespace with the same name in the package.
func (p *planner) namesake(f *Func, pkg *Package) *Object {
	if o := p.objects[f.Name]; o != nil {
		return o
	}
	i := slices.IndexFunc(pkg.objects, func(o *Object) bool { return o.want == f.want })
	if i < 0 {
		return nil
	}
	return pkg.objects[i]
}

// sign sets the signature of a function: typed, packed if the schema has none, perhaps
// because of a flaw, or untyped if Go has no type for a part of it. The types are those of
// the refined signature; the runtime compares that of the schema.
func (p *planner) sign(f *Func, pkg *Package, own *schema.Signature, flaw string, r *refined) {
	f.Doc.Text = r.doc
	if len(r.notes) > 0 {
		f.entry.LeftOut = strings.Join(r.notes, "; ")
	}
	f.Sig, f.Doc.Signature = own.String(), own.String()
	s := r.signature
	if r.changed {
		f.Doc.Signature = strings.ReplaceAll(s.String(), `"`, "")
	}
	if s == nil {
		f.entry.Packed = true
		f.Doc.Warning = "The registry has no signature for it, so the arguments are not checked before the call."
		if flaw != "" {
			f.entry.Note = "its arguments are ...any, because of its " + flaw
			f.Doc.Warning = "The metadata of the library cannot be read, so the arguments are not checked before the call."
		}
		return
	}
	params, names, err := p.params(s.Params)
	var result *node
	if err == nil {
		result, err = p.resolve(s.Return)
	}
	if err == nil && f.Method && (len(params) == 0 || params[0].kind != kindObject && params[0].kind != kindRoot) {
		err = errors.New("the first parameter of the method is not its object")
	}
	if err != nil {
		f.entry.Status, f.entry.Reason = Opaque, err.Error()
		f.Doc.Warning = "It is untyped, so the arguments are not checked before the call: " + err.Error() + "."
		return
	}
	f.Call = pkg.newCall(params, names, result, f.Method)
}

// makes makes a constructor return the type itself, whatever its signature says.
func (f *Func) makes(o *Object) {
	if f.Call != nil {
		f.Call.Result = &Result{Type: pointer(GoType{Object: o}), Object: o}
		f.Call.Frame = frame(f.units())
	}
}

// units returns the space for the arguments of a function whose result is not a string.
func (f *Func) units() int {
	units := f.Call.Count
	for _, param := range f.Call.Params {
		if param.node.kind == kindString {
			units += textUnits
		}
	}
	return units
}

// notes lists what a reported signature says of parameters beside their types.
func notes(s *schema.Signature) string {
	var lines []string
	if s != nil {
		for _, param := range s.Params {
			if param.Note != "" {
				lines = append(lines, strings.TrimSuffix("  - "+param.Name, " ")+": "+param.Note)
			}
		}
	}
	if len(lines) > 0 {
		lines = slices.Insert(lines, 0, "Parameters:")
	}
	return strings.Join(lines, "\n")
}
