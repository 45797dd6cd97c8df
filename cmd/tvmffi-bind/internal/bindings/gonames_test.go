package bindings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/gen"
	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

func TestNamesInGo(t *testing.T) {
	deep := &schema.Signature{Params: []schema.Param{{Type: schema.TypeSchema{Name: "float"}}}, Return: schema.TypeSchema{Name: "None"}}
	s := schema.Schema{
		Format:    schema.FormatVersion,
		Libraries: []schema.Library{{File: "libgarden.so", Role: schema.RoleBound}},
		Functions: []schema.Function{
			{Name: "garden.water", Source: schema.SourceGlobal, Library: "libgarden.so", Signature: &schema.Signature{
				Params: []schema.Param{{Type: schema.TypeSchema{Name: "garden.beds.Bed"}}}, Return: schema.TypeSchema{Name: "None"}}},
			{Name: "garden.dig", Source: schema.SourceGlobal, Library: "libgarden.so", Signature: deep},
			{Name: "garden.hoe", Source: schema.SourceGlobal, Library: "libgarden.so", Signature: deep},
			{Name: "garden.secret", Source: schema.SourceGlobal, Library: "libgarden.so"}},
		Types: []schema.Type{
			{Key: "ffi.Object"},
			{Key: "garden.beds.Bed", Ancestors: []string{"ffi.Object"}, Library: "libgarden.so", Attributes: []string{"__ffi_init__"}, TotalSize: 32,
				Fields: []schema.Field{{Name: "width", Type: schema.TypeSchema{Name: "float"}, Offset: 24, Size: 8, Alignment: 8, Flags: schema.FlagWritable | schema.FlagHasDefault}}}},
	}
	dir := t.TempDir()
	file, err := hints.File{Format: 1, Namespaces: map[string]string{"garden": "Package plants waters plants."}}.Encode()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "names.json"), file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := project.NewConfig(dir, "")
	c.Names = []string{"names.json"}
	c.Package, c.Out = "plants", "plants"
	c.Rename = map[string]string{"garden.water": "Sprinkle"}
	c.Skip = []string{"garden.secret"}
	shared := hints.Item{Params: []string{"depth"}, Default: map[string]hints.Constant{"depth": {Value: 0.5}}}
	c.Functions = map[string]hints.Item{"garden.dig": shared, "garden.hoe": shared, "garden.water": {Params: []string{"bed"}, Doc: "Waters a bed."}, "garden.*width": {Doc: "In metres."}}
	names, err := NamesInGo(s, c)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		kind gen.Kind
		name string
		want string // a type follows its name in brackets
	}{
		{gen.KindFunction, "garden.water", "plants: func Sprinkle(bed beds.BedRef[garden.beds.Bed]) error: Waters a bed."},
		{gen.KindFunction, "garden.hoe", "plants: func Hoe(options ...HoeOption) error; func Depth(v float64) DepthOption: "},
		{gen.KindFunction, "garden.secret", "missing: in the skip list"},
		{gen.KindType, "garden.beds.Bed", "plants/beds: type Bed[garden.beds.Bed]: "},
		{gen.KindField, "garden.beds.Bed.width", "plants/beds: func (*Bed[garden.beds.Bed]) Width() float64; func (*Bed[garden.beds.Bed]) SetWidth(v float64) error: In metres."},
		{gen.KindConstructor, "garden.beds.Bed.__ffi_init__", "plants/beds: func NewBed(options ...BedOption) (*Bed[garden.beds.Bed], error); func BedWidth(v float64) BedOption: "},
		{KindNamespace, "garden", ": : Package plants waters plants."},
	} {
		if got := textOf(names.Of(x.kind, x.name)); got != x.want {
			t.Errorf("%s: got %q, want %q", x.name, got, x.want)
		}
	}
	// Without a configuration, or without a package in it, the library names the package.
	for _, c := range []*project.Config{nil, project.NewConfig(dir, "")} {
		names, err := NamesInGo(s, c)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := textOf(names.Of(gen.KindFunction, "garden.secret")), "garden: func Secret(args ...any) (tvmffi.Any, error): "; got != want {
			t.Errorf("without a package: got %q, want %q", got, want)
		}
	}
}

func textOf(g GoItem) string {
	if g.Missing != "" {
		return "missing: " + g.Missing
	}
	var lines []string
	for _, spans := range g.Lines {
		line := ""
		for _, s := range spans {
			line += s.Text
			if s.Type != "" {
				line += "[" + s.Type + "]"
			}
		}
		lines = append(lines, line)
	}
	return g.Package + ": " + strings.Join(lines, "; ") + ": " + g.Doc
}
