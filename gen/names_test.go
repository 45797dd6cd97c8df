package gen

import (
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/schema"
)

// TestNamesAreStable adds a function, a type and a member that no other item resembles to real
// schemas: all other names stay the same.
func TestNamesAreStable(t *testing.T) {
	for name, s := range realSchemas(t) {
		before := goNames(t, s)
		larger := s
		larger.Functions, larger.Types = slices.Clone(s.Functions), slices.Clone(s.Types)
		number := schema.TypeSchema{Name: "int"}
		signature := &schema.Signature{Params: []schema.Param{{Type: number}}, Return: number}
		for _, f := range s.Functions {
			f.Name, f.Signature, f.Metadata = f.Name+"_aaa_unrelated", signature, nil
			larger.Functions = append(larger.Functions, f)
		}
		for i := range larger.Types {
			typ := &larger.Types[i]
			if len(typ.Ancestors) == 0 {
				continue
			}
			typ.Methods = append(slices.Clone(typ.Methods), schema.Method{Name: "_aaa_unrelated", Flags: schema.FlagIsStaticMethod, Signature: signature})
			unrelated := *typ
			unrelated.Key, unrelated.Fields, unrelated.Methods, unrelated.Attributes = typ.Key+"AaaUnrelated", nil, nil, nil
			larger.Types = append(larger.Types, unrelated)
		}
		after := goNames(t, larger)
		if len(after) <= len(before) {
			t.Errorf("%s: nothing was added", name)
		}
		for item, goName := range before {
			if after[item] != goName {
				t.Errorf("%s: %s was %s and is now %s", name, item, goName, after[item])
			}
		}
	}
}

// goNames returns the Go name of each item of a schema.
func goNames(t *testing.T, s schema.Schema) map[string]string {
	t.Helper()
	_, report, err := Generate(s, everything(s))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, e := range report.Entries {
		names[string(e.Kind)+" "+e.Name] = e.GoName
	}
	return names
}

// TestForwardOfUser has a program that declares a function with the name of a constructor
// beside an alias.
func TestForwardOfUser(t *testing.T) {
	for _, c := range goldenCases(t) {
		if c.name() != "cycle_merged" {
			continue
		}
		for declared, want := range map[string]bool{"Nothing": true, "NewStone": false} {
			c.config.UserNames = map[string][]string{"path": {declared}}
			files, _, err := Generate(c.schema, c.config)
			if err != nil {
				t.Fatal(err)
			}
			has := slices.ContainsFunc(files, func(f File) bool {
				return strings.HasPrefix(f.Path, "path/") && strings.Contains(string(f.Content), "func NewStone(")
			})
			if has != want {
				t.Errorf("with %s of the user, package path has NewStone: %t, want %t", declared, has, want)
			}
		}
	}
}
