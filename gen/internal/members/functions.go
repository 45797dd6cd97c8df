package members

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/classify"
	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/schema"
)

func (d *describer) describeFunction(f *plan.Func, b *classify.Function) {
	f.Doc.Intro = "calls " + f.Name + "."
	if b.Schema.Source == schema.SourceModule {
		f.Module = b.Schema.Library
		f.Doc.Intro = "calls " + f.Name + " of " + f.Module + "."
	}
	d.sign(f, &b.Item, b.Schema.Signature, b.Schema.Flaw)
	if b.Schema.Reported {
		f.Sig = ""
		f.Doc.Note = notes(b.Schema.Signature, b.Fixed)
		align(f.Call, b.Schema.Signature)
	}
}

// alignment is in the note of a tensor whose address the function does not check.
var alignment = regexp.MustCompile(`, align=([1-9][0-9]{0,9})\)$`)

// align makes the function check the alignment of tensors.
func align(c *plan.Call, s *schema.Signature) {
	if c == nil || s == nil || len(s.Params) != c.Count {
		return
	}
	for i := range c.Params {
		p := &c.Params[i]
		if m := alignment.FindStringSubmatch(s.Params[p.At].Note); m != nil && p.Pack == plan.PackPointer && p.Type.Elem.Name == "Tensor" && !p.Optional {
			p.Align, _ = strconv.Atoi(m[1]) // few digits
		}
	}
}

// sign sets the signature of a function: typed, packed if the schema has none, perhaps
// because of a flaw, or untyped if Go has no type for a part of it. The types come from
// the item; the runtime compares the signature of the schema.
func (d *describer) sign(f *plan.Func, it *classify.Item, own *schema.Signature, flaw string) {
	f.Doc.Text, f.Brief = it.Doc, it.Brief
	f.Sig, f.Doc.Signature = own.String(), own.String()
	if it.Changed {
		f.Doc.Signature = strings.ReplaceAll(it.Signature.String(), `"`, "")
		f.Entry.Signature, f.Entry.Types, f.Entry.Narrow = f.Doc.Signature, it.Signature, it.Narrow
	}
	if it.Signature == nil {
		f.Entry.Packed = true
		f.Doc.Warning = "The registry has no signature for it, so the arguments are not checked before the call."
		if flaw != "" {
			f.Entry.Note = "its arguments are ...any, because of its " + flaw
			f.Doc.Warning = "The metadata of the library cannot be read, so the arguments are not checked before the call."
		}
		return
	}
	var err error
	if f.Call, err = d.Call(f.Pkg, it.Signature, f.Method); err == nil {
		err = d.Complete(f, it)
	}
	if err != nil {
		f.Call = nil
		f.Entry.Status, f.Entry.Reason = plan.Opaque, err.Error()
		f.Doc.Warning = "It is untyped, so the arguments are not checked before the call: " + err.Error() + "."
	}
}

// notes lists what a reported signature says of parameters beside their types.
func notes(s *schema.Signature, fixed []*plan.Default) string {
	var lines []string
	if s != nil {
		for i, param := range s.Params {
			if param.Note != "" {
				if fixed[i] != nil {
					param.Note += ", with which the kernel was compiled, so the func passes it itself"
				}
				lines = append(lines, strings.TrimSuffix("  - "+param.Name, " ")+": "+param.Note)
			}
		}
	}
	if len(lines) > 0 {
		lines = slices.Insert(lines, 0, "Parameters:")
	}
	return strings.Join(lines, "\n")
}

// findMakers finds the functions that are constructors of the library: those registered under
// the key of a type, and those with the last part of the key as their name that return exactly
// the type. Such a function is named New and the type.
func (d *describer) findMakers() {
	for _, pkg := range d.Packages {
		taken := map[string]bool{}
		for _, f := range pkg.Funcs {
			if o := d.Objects[f.Name]; o != nil && !o.External && d.mayMake(f, o) {
				taken[f.Want] = true
				f.Makes, o.Makers = o, append(o.Makers, f)
			}
		}
		for _, f := range pkg.Funcs {
			o := f.Result()
			if o == nil || f.Makes != nil || o.External || taken[f.Want] {
				continue
			}
			if _, local := d.Cut(f.Name); local == plan.LastPart(o.Key) {
				f.Makes, o.Makers = o, append(o.Makers, f)
			}
		}
	}
	for _, o := range d.Objects {
		for _, f := range o.Makers {
			f.Doc.Noun = "returns"
		}
		slices.SortStableFunc(o.Makers, func(a, b *plan.Func) int {
			return cmp.Or(plan.Order(b.Name == o.Key)-plan.Order(a.Name == o.Key), cmp.Compare(a.Name, b.Name))
		})
	}
}

// mayMake reports whether a function with the key of a type as its name makes the type. Its
// signature may be unknown, or say a parent of the type.
func (d *describer) mayMake(f *plan.Func, o *plan.Object) bool {
	if f.Call == nil {
		return f.Entry.Packed
	}
	if f.Call.Result == nil {
		return false
	}
	result := f.Call.Result.Object
	if result == nil {
		return f.Call.Result.Type.Same(plan.Pointer(plan.RuntimeType("Object")))
	}
	return result == o || slices.Contains(d.Keys[o.Key].Ancestors, result.Key)
}
