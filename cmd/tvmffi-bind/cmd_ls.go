package main

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/reflection/schema"
)

func newLs(t *tool) *cobra.Command {
	var in inputs
	var asJSON, all bool
	var html string
	cmd := &cobra.Command{
		Use:   "ls [FILE]... [PATTERN]",
		Short: "List the functions and types of libraries",
		Long: `ls shows functions with their signatures, and types with fields, methods and
layout. PATTERN is a part of a name, or a glob that fits the whole of it, such as "testing.*Pair*".

FILE is a library, or a schema that dump wrote. Without one ls looks at the libraries of ` + configName + ` in this folder, or at libtvm_ffi.`,
		Example: `  tvmffi-bind ls libgarden.so
  tvmffi-bind ls libgarden.so 'garden.*Bed*'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := in.take(args)
			if err != nil {
				return err
			}
			if len(args) > 1 {
				return fmt.Errorf("%q are several patterns: ls takes files and then one pattern, which may have * in it", args)
			}
			c, err := in.source()
			if err != nil {
				return err
			}
			s, err := t.read(cmd.Context(), c)
			if err != nil {
				return err
			}
			pattern := ""
			if len(args) == 1 {
				pattern = args[0]
			}
			s, err = listed(s, pattern, all)
			switch {
			case err != nil:
				return err
			case asJSON:
				return t.printJSON(s)
			case html != "":
				return t.writeHTML(html, s)
			}
			if len(s.Functions)+len(s.Types) == 0 && pattern == "" {
				return refuse("%s has no functions and types of TVM-FFI: name another library, --all shows libtvm_ffi too", strings.Join(libraryNames(s, schema.RoleBound), ", "))
			}
			if len(s.Functions)+len(s.Types) == 0 {
				return refuse("nothing in %s matches %q: name another library, --all shows libtvm_ffi too", strings.Join(libraryNames(s, schema.RoleBound), ", "), pattern)
			}
			t.printFunctions(s.Functions)
			t.printTypes(s.Types)
			return nil
		},
	}
	in.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the schema as JSON")
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
	shown := func(library, name string) bool {
		return (all || bound[library]) && matches(pattern, name)
	}
	out := s
	out.Functions = nil
	out.Types = nil
	for _, f := range s.Functions {
		if shown(f.Library, f.Name) {
			out.Functions = append(out.Functions, f)
		}
	}
	for _, t := range s.Types {
		if shown(t.Library, t.Key) {
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

func (t *tool) printFunctions(functions []schema.Function) {
	if len(functions) == 0 {
		return
	}
	t.printf("%s\n", paint(t.out, text.Bold, count(len(functions), "function")))
	for _, f := range functions {
		where := ""
		if f.Source == schema.SourceModule {
			where = "  [module " + f.Library + "]"
		}
		t.printf("  %s%s%s\n", f.Name, paint(t.out, text.Faint, signatureText(f.Signature)), where)
	}
}

func (t *tool) printTypes(types []schema.Type) {
	if len(types) == 0 {
		return
	}
	t.printf("%s\n", paint(t.out, text.Bold, count(len(types), "type")))
	for _, typ := range types {
		head := "  " + typ.Key
		if n := len(typ.Ancestors); n > 0 {
			head += paint(t.out, text.Faint, " : "+typ.Ancestors[n-1])
		}
		if typ.TotalSize > 0 {
			head += paint(t.out, text.Faint, fmt.Sprintf("  (%d bytes)", typ.TotalSize))
		}
		t.printf("%s\n", head)
		w := table.NewWriter()
		w.SetStyle(plainTable())
		for _, f := range typ.Fields {
			w.AppendRow(table.Row{"   ", "field", f.Name, f.Type.String(), layout(f), access(f)})
		}
		if madeFromFields(typ) {
			w.AppendRow(table.Row{"   ", "init", "__ffi_init__", "(made from the fields)"})
		}
		for _, m := range typ.Methods {
			kind := "method"
			if m.Flags&schema.FlagIsStaticMethod != 0 {
				kind = "static"
			}
			w.AppendRow(table.Row{"   ", kind, m.Name, signatureText(m.Signature)})
		}
		if w.Length() > 0 {
			t.printf("%s\n", trimLines(w.Render()))
		}
	}
}

// madeFromFields tells whether a type has a constructor that it does not declare.
func madeFromFields(t schema.Type) bool {
	const init = "__ffi_init__"
	return slices.Contains(t.Attributes, init) && !slices.ContainsFunc(t.Methods, func(m schema.Method) bool { return m.Name == init })
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
func (t *tool) writeHTML(file string, s schema.Schema) error {
	var page bytes.Buffer
	if err := renderHTML(&page, s); err != nil {
		return err
	}
	if err := writeOne(file, page.Bytes(), isOurPage); err != nil {
		return err
	}
	t.notef("%s: %s, %s\n", file, count(len(s.Functions), "function"), count(len(s.Types), "type"))
	return nil
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
