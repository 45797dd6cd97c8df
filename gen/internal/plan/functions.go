package plan

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
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
	Makes       *Object // the type that a function makes, which is called like it
	Call        *Call   // nil: packed
	Doc         Doc

	entry    *Entry
	want     string
	library  string   // that it is from
	overload int      // number of a method among those of its name
	pkg      *Package // of a function that makes a type
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
			f.align(b.schema.Signature)
		}
	}
}

// alignment is in the note of a tensor whose address the function does not check.
var alignment = regexp.MustCompile(`, align=([1-9][0-9]{0,9})\)$`)

// align makes the function check the alignment of tensors.
func (f *Func) align(s *schema.Signature) {
	if f.Call == nil || s == nil || len(s.Params) != len(f.Call.Params) {
		return
	}
	for i := range f.Call.Params {
		p := &f.Call.Params[i]
		if m := alignment.FindStringSubmatch(s.Params[i].Note); m != nil && p.Pack == PackPointer && p.node.kind == kindTensor {
			p.Align, _ = strconv.Atoi(m[1]) // few digits
		}
	}
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
