package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/internal/bindtool/console"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/files"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/probe"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/project"
	"github.com/tvmffi-go/tvmffi/internal/nearest"
	"github.com/tvmffi-go/tvmffi/schema"
)

func newLs(con *console.Console, p *probe.Prober) *cobra.Command {
	var in probe.Inputs
	var asJSON, all bool
	var html string
	cmd := &cobra.Command{
		Use:   "ls [FILE]... [PATTERN]",
		Short: "List the functions and types of libraries",
		Long: `ls shows functions with their signatures, types with fields, methods, constructors
and layout, and the first paragraph of what is documented; --html and --json have it
all. PATTERN is a part of a name, or a glob that fits the whole of it, such as "testing.*Pair*".

FILE is a library, or a schema that dump wrote. Without one ls looks at the libraries
of ` + project.ConfigName + ` in this folder, or at libtvm_ffi.`,
		Example: `  tvmffi-bind ls libgarden.so
  tvmffi-bind ls libgarden.so 'garden.*Bed*'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := in.Take(args)
			if err != nil {
				return err
			}
			if len(args) > 1 {
				return fmt.Errorf("%q are several patterns: ls takes files and then one pattern, which may have * in it", args)
			}
			c, err := in.Source()
			if err != nil {
				return err
			}
			s, err := p.Read(cmd.Context(), c)
			if err != nil {
				return err
			}
			pattern := ""
			if len(args) == 1 {
				pattern = args[0]
			}
			l := newListing(s)
			whole := s
			s, err = listed(s, pattern, all)
			switch {
			case err != nil:
				return err
			case asJSON:
				return con.JSON(l.json(s))
			case html != "":
				return writeHTML(con, html, l, s)
			}
			if len(s.Functions)+len(s.Types) == 0 && pattern == "" {
				return console.Refuse("%s has no functions and types of TVM-FFI: name another library, --all shows libtvm_ffi too", strings.Join(libraryNames(s, schema.RoleBound), ", "))
			}
			if len(s.Functions)+len(s.Types) == 0 {
				if info, err := os.Stat(pattern); err == nil && info.Mode().IsRegular() {
					return probe.NotLibrary(pattern)
				}
				return console.Refuse("nothing in %s matches %q: name another library, --all shows libtvm_ffi too%s", strings.Join(libraryNames(s, schema.RoleBound), ", "), pattern, nearest.Question(pattern, itemNames(whole)))
			}
			printFunctions(con, s.Functions)
			printTypes(con, l, s.Types)
			return nil
		},
	}
	in.Register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: the schema, as dump has it, with the constructors")
	cmd.Flags().StringVar(&html, "html", "", "write a page with the type tree to this file")
	cmd.Flags().BoolVar(&all, "all", false, "show libtvm_ffi and the dependencies too")
	cmd.MarkFlagsMutuallyExclusive("json", "html")
	_ = cmd.MarkFlagFilename("html", "html")
	return cmd
}

// listed is the part of s that ls shows: what the bound libraries add and the
// pattern matches.
func listed(s schema.Schema, pattern string, all bool) (schema.Schema, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return schema.Schema{}, fmt.Errorf("%q is not a valid pattern: %w", pattern, err)
	}
	bound := map[string]bool{}
	for _, l := range s.Libraries {
		bound[l.File] = all || l.Role == schema.RoleBound
	}
	wanted := func(library, name string) bool {
		return (all || bound[library]) && matches(pattern, name)
	}
	out := s
	out.Functions = nil
	out.Types = nil
	for _, f := range s.Functions {
		if wanted(f.Library, f.Name) {
			out.Functions = append(out.Functions, f)
		}
	}
	for _, t := range s.Types {
		if wanted(t.Library, t.Key) {
			out.Types = append(out.Types, t)
		}
	}
	return out, nil
}

// matches tells whether name contains pattern or, if that has glob characters,
// matches it whole.
func matches(pattern, name string) bool {
	if strings.ContainsAny(pattern, "*?[") {
		ok, err := path.Match(pattern, name)
		return err == nil && ok
	}
	return strings.Contains(name, pattern)
}

// signatureText is the signature of an item, or "packed" for one without.
func signatureText(s *schema.Signature) string {
	if s == nil {
		return "(packed)"
	}
	return s.String()
}

func printFunctions(con *console.Console, functions []schema.Function) {
	if len(functions) == 0 {
		return
	}
	con.Printf("%s\n", con.Paint(text.Bold, console.Count(len(functions), "function")))
	for _, f := range functions {
		where := ""
		if f.Source == schema.SourceModule {
			where = "  [module " + f.Library + "]"
		}
		con.Printf("  %s%s%s\n", f.Name, con.Paint(text.Faint, signatureText(f.Signature)), where)
		printDoc(con, f.Doc, 6)
	}
}

// printDoc prints the first paragraph of a doc text below what it is about.
func printDoc(con *console.Console, doc string, indent int) {
	first, _, _ := strings.Cut(strings.TrimSpace(strings.ReplaceAll(doc, "\r\n", "\n")), "\n\n")
	visible := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' ' // it comes from the library, and may be anything
		}
		return r
	}, first)
	if visible = strings.Join(strings.Fields(visible), " "); visible == "" {
		return
	}
	for line := range strings.Lines(text.WrapSoft(visible, 88-indent)) {
		con.Printf("%s%s\n", strings.Repeat(" ", indent), con.Paint(text.Faint, strings.TrimRight(line, " \n")))
	}
}

func printTypes(con *console.Console, l *listing, types []schema.Type) {
	if len(types) == 0 {
		return
	}
	con.Printf("%s\n", con.Paint(text.Bold, console.Count(len(types), "type")))
	byKey := func(a, b schema.Type) int { return strings.Compare(a.Key, b.Key) } // people look for names
	for _, typ := range slices.SortedFunc(slices.Values(types), byKey) {
		head := "  " + typ.Key
		if n := len(typ.Ancestors); n > 0 {
			head += con.Paint(text.Faint, " : "+typ.Ancestors[n-1])
		}
		if typ.TotalSize > 0 {
			head += con.Paint(text.Faint, fmt.Sprintf("  (%d bytes)", typ.TotalSize))
		}
		con.Printf("%s\n", head)
		printDoc(con, typ.Doc, 6)
		var docs []string // of the rows
		w := table.NewWriter()
		w.SetStyle(plainTable())
		for _, f := range typ.Fields {
			w.AppendRow(table.Row{"   ", "field", f.Name, f.Type.String(), layout(f), access(f)})
			docs = append(docs, f.Doc)
		}
		for _, m := range typ.Methods {
			kind := "method"
			if m.Flags&schema.FlagIsStaticMethod != 0 {
				kind = "static"
			}
			w.AppendRow(table.Row{"   ", kind, m.Name, signatureText(m.Signature)})
			docs = append(docs, m.Doc)
		}
		if text, ok := l.constructorText(&typ); ok { // may be long: it makes no column wider
			con.Printf("     init %s\n", text)
		}
		if w.Length() == 0 {
			continue
		}
		for i, line := range strings.Split(trimLines(w.Render()), "\n") {
			con.Printf("%s\n", line)
			if i < len(docs) {
				printDoc(con, docs[i], 12)
			}
		}
	}
}

// listing knows all types that were read, while some are shown.
type listing struct{ types map[string]*schema.Type }

func newListing(s schema.Schema) *listing {
	l := &listing{make(map[string]*schema.Type, len(s.Types))}
	for i := range s.Types {
		l.types[s.Types[i].Key] = &s.Types[i]
	}
	return l
}

// constructorText shows the constructor that the library makes of the fields of t, if
// there is one, as Python would: (color: ffi.String, petals: int = default, *, x: int).
func (l *listing) constructorText(t *schema.Type) (string, bool) {
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

// jsonListing is a schema with the constructors that libraries make of fields.
type jsonListing struct {
	schema.Schema
	Types []jsonType `json:"types"` // in place of those of the schema
}

type jsonType struct {
	schema.Type
	Constructor *[]jsonParam `json:"constructor,omitempty"`
}

type jsonParam struct {
	Name        string          `json:"name"`
	Type        schema.TypeExpr `json:"schema"`
	Doc         string          `json:"doc,omitempty"`
	HasDefault  bool            `json:"has_default"`
	KeywordOnly bool            `json:"keyword_only"`
}

func (l *listing) json(s schema.Schema) jsonListing {
	out := jsonListing{Schema: s, Types: make([]jsonType, len(s.Types))}
	for i := range s.Types {
		out.Types[i].Type = s.Types[i]
		fields, ok := s.Types[i].InitParams(l.types)
		if !ok {
			continue
		}
		params := make([]jsonParam, len(fields))
		for j, f := range fields {
			params[j] = jsonParam{f.Name, f.Type, f.Doc, f.HasDefault(), f.Flags&schema.FlagKwOnly != 0}
		}
		out.Types[i].Constructor = &params
	}
	return out
}

func layout(f schema.Field) string {
	return fmt.Sprintf("offset %d size %d", f.Offset, f.Size)
}

// access says in words what the flags of a field mean to its user.
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

// plainTable is a table of columns without any lines.
func plainTable() table.Style {
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	return style
}

func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

// writeHTML writes the page of s to a file.
func writeHTML(con *console.Console, file string, l *listing, s schema.Schema) error {
	var page bytes.Buffer
	if err := renderHTML(&page, l, s); err != nil {
		return err
	}
	if err := files.WriteOne(file, page.Bytes(), isOurPage); err != nil {
		return err
	}
	con.Notef("%s: %s, %s\n", file, console.Count(len(s.Functions), "function"), console.Count(len(s.Types), "type"))
	return nil
}

// itemNames lists the functions and types of s.
func itemNames(s schema.Schema) []string {
	var names []string
	for _, f := range s.Functions {
		names = append(names, f.Name)
	}
	for _, t := range s.Types {
		names = append(names, t.Key)
	}
	return names
}

// libraryNames lists the libraries of s that have one of the roles.
func libraryNames(s schema.Schema, roles ...schema.Role) []string {
	var names []string
	for _, l := range s.Libraries {
		if slices.Contains(roles, l.Role) {
			names = append(names, l.File)
		}
	}
	return names
}

func isOurPage(data []byte) bool {
	return bytes.Contains(data[:min(len(data), 512)], []byte(pageGenerator))
}
