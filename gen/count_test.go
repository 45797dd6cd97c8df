package gen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/schema"
)

// TestReportCountsEveryItem compares the report with counts that are taken from
// the schema itself.
func TestReportCountsEveryItem(t *testing.T) {
	for name, s := range realSchemas(t) {
		_, report, err := Generate(s, everything(s))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := map[Kind]int{KindFunction: len(s.Functions), KindType: len(s.Types)}
		packed := 0
		for _, f := range s.Functions {
			if f.Signature == nil {
				packed++
			}
		}
		for _, typ := range s.Types {
			want[KindField] += len(typ.Fields)
			if slices.Contains(typ.Attributes, "__ffi_init__") { // whether a method is behind it or not
				want[KindConstructor]++
			}
			for _, m := range typ.Methods {
				if m.Name != "__ffi_init__" {
					want[KindMethod]++
				}
				if m.Signature == nil {
					packed++
				}
			}
		}
		got := map[Kind]int{}
		gotPacked := 0
		for _, c := range report.Counts {
			got[c.Kind] += c.Number
			gotPacked += c.Packed
		}
		for kind, n := range want {
			if got[kind] != n {
				t.Errorf("%s: the report has %d entries of kind %s, the schema has %d", name, got[kind], kind, n)
			}
		}
		if gotPacked != packed {
			t.Errorf("%s: the report has %d packed functions, the schema has %d", name, gotPacked, packed)
		}
	}
}

// TestEveryEntryIsInTheSource looks up the Go name of each generated entry.
func TestEveryEntryIsInTheSource(t *testing.T) {
	for name, s := range realSchemas(t) {
		files, report, err := Generate(s, everything(s))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		declared := map[string]bool{}
		for _, f := range files {
			for _, n := range declaredNames(t, f) {
				declared[n] = true
			}
		}
		for _, e := range report.Entries {
			if bound := e.Status == Generated || e.Status == Opaque; bound != (e.GoName != "") {
				t.Errorf("%s: %s %s is %s and has the Go name %q", name, e.Kind, e.Name, e.Status, e.GoName)
			} else if bound && !declared[e.Package+" "+e.GoName] {
				t.Errorf("%s: %s %s should be %s in package %s, which is not there", name, e.Kind, e.Name, e.GoName, e.Package)
			}
		}
	}
}

// declaredNames lists the functions, methods and types of a file, with its
// directory before them.
func declaredNames(t *testing.T, f File) []string {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), f.Path, f.Content, 0)
	if err != nil {
		t.Fatal(err)
	}
	dir := "."
	if slash := strings.LastIndexByte(f.Path, '/'); slash >= 0 {
		dir = f.Path[:slash]
	}
	var names []string
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil && d.Recv.List[0].Type != nil {
				if star, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok {
					name = star.X.(*ast.Ident).Name + "." + name
				}
			}
			names = append(names, dir+" "+name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if typ, ok := spec.(*ast.TypeSpec); ok {
					names = append(names, dir+" "+typ.Name.Name)
				}
			}
		}
	}
	return names
}

// TestAnyOnlyWhereTheSchemaHasIt counts any and tvmffi.Any in the signatures of
// generated functions and methods, and compares with the schema: one for each
// Any, and for what is left out after a container, and two for a packed function.
func TestAnyOnlyWhereTheSchemaHasIt(t *testing.T) {
	for name, s := range realSchemas(t) {
		files, report, err := Generate(s, everything(s))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := 0
		for _, f := range files {
			got += anysInSignatures(t, f)
		}
		want := 0
		for _, f := range s.Functions {
			want += anysOfFunction(f.Signature)
		}
		skipped := map[string]bool{}
		for _, e := range report.Entries {
			if e.Kind == KindType && e.Status != Generated {
				skipped[e.Name] = true
			}
		}
		byKey := map[string]schema.Type{}
		for _, typ := range s.Types {
			byKey[typ.Key] = typ
		}
		for _, typ := range s.Types {
			if skipped[typ.Key] {
				continue
			}
			for _, f := range typ.Fields {
				want += anysOf(f.Type)
				if f.Flags&schema.FlagWritable != 0 {
					want += anysOf(f.Type)
				}
			}
			for _, m := range typ.Methods {
				want += anysOfFunction(m.Signature)
			}
			want += anysOfConstructor(typ, byKey)
		}
		if got != want {
			t.Errorf("%s: any stands %d times in signatures, the schema asks for %d", name, got, want)
		}
	}
}

func anysOfConstructor(t schema.Type, byKey map[string]schema.Type) int {
	has := false
	for _, a := range t.Attributes {
		has = has || a == "__ffi_init__"
	}
	for _, m := range t.Methods {
		has = has && m.Name != "__ffi_init__"
	}
	if !has {
		return 0
	}
	n := 0
	for _, key := range append(append([]string{}, t.Ancestors...), t.Key) {
		for _, f := range byKey[key].Fields {
			if f.Flags&schema.FlagInitOff == 0 {
				n += anysOf(f.Type)
			}
		}
	}
	return n
}

func anysOfFunction(s *schema.Signature) int {
	if s == nil {
		return 2
	}
	n := anysOf(s.Return)
	for _, p := range s.Params {
		n += anysOf(p.Type)
	}
	return n
}

func anysOf(e schema.TypeSchema) int {
	if e.Func != nil {
		return anysOfFunction(e.Func)
	}
	if e.Name == "Any" {
		return 1
	}
	if len(e.Args) == 0 {
		switch e.Name {
		case "ffi.Array", "ffi.List":
			return 1
		case "ffi.Map", "ffi.Dict":
			return 2
		}
	}
	n := 0
	for _, a := range e.Args {
		n += anysOf(a)
	}
	return n
}

func anysInSignatures(t *testing.T, f File) int {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), f.Path, f.Content, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, d := range tree.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			n += anysInFields(fn.Type.Params) + anysInFields(fn.Type.Results)
		}
	}
	return n
}

// anysInFields counts a type once for each parameter that has it.
func anysInFields(list *ast.FieldList) int {
	if list == nil {
		return 0
	}
	n := 0
	for _, field := range list.List {
		in := 0
		ast.Inspect(field.Type, func(at ast.Node) bool {
			switch at := at.(type) {
			case *ast.SelectorExpr:
				if at.Sel.Name == "Any" {
					in++
				}
				return false
			case *ast.Ident:
				if at.Name == "any" {
					in++
				}
			}
			return true
		})
		n += in * max(1, len(field.Names))
	}
	return n
}
