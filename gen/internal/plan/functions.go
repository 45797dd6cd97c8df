package plan

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/schema"
)

func (d *describer) describeFunction(f *Func, b *Function) {
	f.Doc.Intro = "calls " + f.Name + "."
	if b.Schema.Source == schema.SourceModule {
		f.Module = b.Schema.Library
		f.Doc.Intro = "calls " + f.Name + " of " + f.Module + "."
	}
	d.sign(f, &b.Item, b.Schema.Signature, b.Schema.Flaw)
	if b.Schema.Reported {
		f.Sig = ""
		f.Doc.Note = notes(b.Schema.Signature)
		align(f.Call, b.Schema.Signature)
	}
}

// alignment is in the note of a tensor whose address the function does not check.
var alignment = regexp.MustCompile(`, align=([1-9][0-9]{0,9})\)$`)

// align makes the function check the alignment of tensors.
func align(c *Call, s *schema.Signature) {
	if c == nil || s == nil || len(s.Params) != len(c.Params) {
		return
	}
	for i := range c.Params {
		p := &c.Params[i]
		if m := alignment.FindStringSubmatch(s.Params[i].Note); m != nil && p.Pack == PackPointer && p.Type.Elem.Name == "Tensor" && !p.Optional {
			p.Align, _ = strconv.Atoi(m[1]) // few digits
		}
	}
}

// sign sets the signature of a function: typed, packed if the schema has none, perhaps
// because of a flaw, or untyped if Go has no type for a part of it. The types are those of
// the item; the runtime compares the signature of the schema.
func (d *describer) sign(f *Func, it *Item, own *schema.Signature, flaw string) {
	f.Doc.Text = it.Doc
	f.Sig, f.Doc.Signature = own.String(), own.String()
	if it.Changed {
		f.Doc.Signature = strings.ReplaceAll(it.Signature.String(), `"`, "")
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
	if f.Call, err = d.Call(f.Pkg, it.Signature, f.Method); err != nil {
		f.Entry.Status, f.Entry.Reason = Opaque, err.Error()
		f.Doc.Warning = "It is untyped, so the arguments are not checked before the call: " + err.Error() + "."
	}
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
