package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/schema"
)

// Listing is what ls shows: a part of the schema that it read.
type Listing struct {
	shown schema.Schema
	types map[string]*schema.Type // all that were read
}

// NewListing returns a listing of shown, which is a part of whole.
func NewListing(whole, shown schema.Schema) *Listing {
	l := &Listing{shown, make(map[string]*schema.Type, len(whole.Types))}
	for i := range whole.Types {
		l.types[whole.Types[i].Key] = &whole.Types[i]
	}
	return l
}

// Print writes the listing as text.
func (l *Listing) Print(con *console.Console) {
	l.printFunctions(con)
	l.printTypes(con)
	l.printFlaws(con)
}

// printFlaws writes what no schema can describe. Its texts come from the library.
func (l *Listing) printFlaws(con *console.Console) {
	flaws := l.shown.Flaws
	if len(flaws) == 0 {
		return
	}
	con.Printf("%s\n", con.Paint(text.Bold, console.Count(len(flaws), "item")+" that cannot be bound"))
	for _, f := range flaws {
		con.Printf("  %s %s: %s\n", visible(f.Kind), visible(f.Name), visible(f.Reason))
	}
}

func (l *Listing) printFunctions(con *console.Console) {
	functions := l.shown.Functions
	if len(functions) == 0 {
		return
	}
	con.Printf("%s\n", con.Paint(text.Bold, console.Count(len(functions), "function")+badMetadata(functions)))
	for _, f := range functions {
		where := ""
		if f.Source == schema.SourceModule {
			where = "  [module " + visible(f.Library) + "]"
		}
		con.Printf("  %s%s%s\n", visible(f.Name), con.Paint(text.Faint, signatureText(f.Noted())), where)
		printFlaw(con, f.Flaw, 6)
		printDoc(con, f.Doc, 6)
	}
}

// badMetadata counts the functions whose metadata cannot be read.
func badMetadata(functions []schema.Function) string {
	n := 0
	for _, f := range functions {
		if f.Flaw != "" {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of them packed because of bad metadata", n)
}

// printFlaw prints below a function or method why it has no signature.
func printFlaw(con *console.Console, flaw string, indent int) {
	if flaw != "" {
		con.Printf("%s%s\n", strings.Repeat(" ", indent), con.Paint(text.FgRed, "packed, because of its "+visible(flaw)))
	}
}

// visible returns s, which comes from a library and may be anything, on one line.
func visible(s string) string {
	return console.Visible(oneLine.Replace(s))
}

var oneLine = strings.NewReplacer("\n", " ", "\r", " ", "\t", " ")

// printDoc prints the first paragraph of a doc string below its item.
func printDoc(con *console.Console, doc string, indent int) {
	first, _, _ := strings.Cut(strings.TrimSpace(strings.ReplaceAll(doc, "\r\n", "\n")), "\n\n")
	if first = strings.Join(strings.Fields(visible(first)), " "); first == "" {
		return
	}
	for line := range strings.Lines(text.WrapSoft(first, 88-indent)) {
		con.Printf("%s%s\n", strings.Repeat(" ", indent), con.Paint(text.Faint, strings.TrimRight(line, " \n")))
	}
}

func (l *Listing) printTypes(con *console.Console) {
	types := l.shown.Types
	if len(types) == 0 {
		return
	}
	con.Printf("%s\n", con.Paint(text.Bold, console.Count(len(types), "type")))
	byKey := func(a, b schema.Type) int { return strings.Compare(a.Key, b.Key) } // people look for names
	for _, typ := range slices.SortedFunc(slices.Values(types), byKey) {
		head := "  " + visible(typ.Key)
		if n := len(typ.Ancestors); n > 0 {
			head += con.Paint(text.Faint, " : "+visible(typ.Ancestors[n-1]))
		}
		if typ.TotalSize > 0 {
			head += con.Paint(text.Faint, fmt.Sprintf("  (%d bytes)", typ.TotalSize))
		}
		con.Printf("%s\n", head)
		printDoc(con, typ.Doc, 6)
		var notes []schema.Method // their docs and flaws stand below the rows
		w := table.NewWriter()
		w.SetStyle(plainTable())
		for _, f := range typ.Fields {
			w.AppendRow(table.Row{"   ", "field", visible(f.Name), visible(f.Type.String()), layout(f), access(f)})
			notes = append(notes, schema.Method{Doc: f.Doc})
		}
		for _, m := range typ.Methods {
			kind := "method"
			if m.Flags&schema.FlagIsStaticMethod != 0 {
				kind = "static"
			}
			w.AppendRow(table.Row{"   ", kind, visible(m.Name), signatureText(m.Signature)})
			notes = append(notes, m)
		}
		if text, ok := l.constructorText(&typ); ok { // may be long, so it is not in the table
			con.Printf("     init %s\n", visible(text))
		}
		if w.Length() == 0 {
			continue
		}
		for i, line := range strings.Split(trimLines(w.Render()), "\n") {
			con.Printf("%s\n", line)
			if i < len(notes) {
				printFlaw(con, notes[i].Flaw, 12)
				printDoc(con, notes[i].Doc, 12)
			}
		}
	}
}

// signatureText is the signature of an item, or "packed" for one without.
func signatureText(s *schema.Signature) string {
	if s == nil {
		return "(packed)"
	}
	return visible(s.String())
}

// constructorText shows the constructor that the library makes of the fields of t, if
// there is one, as Python would: (color: ffi.String, petals: int = default, *, x: int).
func (l *Listing) constructorText(t *schema.Type) (string, bool) {
	fields, ok := t.InitParams(l.types)
	var params []string
	named := false
	for _, f := range fields {
		if f.Flags&schema.FlagKwOnly != 0 && !named {
			named = true
			params = append(params, "*")
		}
		param := f.Name + ": " + f.Type.String()
		if f.HasDefault() {
			param += " = default"
		}
		params = append(params, param)
	}
	return "(" + strings.Join(params, ", ") + ")", ok
}

func layout(f schema.Field) string {
	return fmt.Sprintf("offset %d size %d", f.Offset, f.Size)
}

// access describes what the flags of a field mean to its user.
func access(f schema.Field) string {
	words := []string{"read-only"}
	if f.Flags&schema.FlagWritable != 0 {
		words[0] = "writable"
	}
	for _, x := range []struct {
		flag schema.Flags
		word string
	}{
		{schema.FlagHasDefault, "default"},
		{schema.FlagKwOnly, "keyword-only"},
		{schema.FlagInitOff, "not in constructor"},
	} {
		if f.Flags&x.flag != 0 {
			words = append(words, x.word)
		}
	}
	return strings.Join(words, ", ")
}
