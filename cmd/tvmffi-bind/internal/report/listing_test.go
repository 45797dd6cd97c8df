package report

import (
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/schema"
)

// No text of a library reaches the terminal as a command.
func TestPrint_visible(t *testing.T) {
	const bad = "a\x1b[2J"
	word := schema.TypeSchema{Name: bad}
	s := schema.Schema{
		Functions: []schema.Function{{Name: bad, Source: schema.SourceModule, Library: bad, Doc: bad, Flaw: bad}},
		Types: []schema.Type{{Key: bad, Ancestors: []string{bad}, Doc: bad,
			Fields:  []schema.Field{{Name: bad, Type: word, Doc: bad}},
			Methods: []schema.Method{{Name: bad, Signature: &schema.Signature{Return: word}}}}},
		Flaws: []schema.Flaw{{Kind: "type", Name: bad, Reason: bad}},
	}
	var out strings.Builder
	NewListing(s, s).Print(&console.Console{Out: &out})
	if strings.Contains(out.String(), "\x1b[2J") || !strings.Contains(out.String(), `a\u001b[2J`) {
		t.Errorf("%q", out.String())
	}
}

// TestPrint: the listing has functions, their docs and flaws, types with and without members in
// the order of their names, and what no schema can describe.
func TestPrint(t *testing.T) {
	number := schema.TypeSchema{Name: "int"}
	s := schema.Schema{
		Functions: []schema.Function{
			{Name: "garden.water", Source: schema.SourceGlobal, Doc: "Waters a\nplant.\n\nMore.", Signature: &schema.Signature{Return: number}},
			{Name: "weed", Source: schema.SourceModule, Library: "libgarden.so", Flaw: "bad metadata"}},
		Types: []schema.Type{
			{Key: "garden.Rose", Ancestors: []string{"ffi.Object", "garden.Plant"}, TotalSize: 40, Doc: "A rose.",
				Fields: []schema.Field{
					{Name: "petals", Type: number, Offset: 32, Size: 8, Flags: schema.FlagWritable | schema.FlagHasDefault, Doc: "How many."},
					{Name: "age", Type: number, Flags: schema.FlagKwOnly | schema.FlagInitOff}},
				Methods: []schema.Method{
					{Name: "cut", Signature: &schema.Signature{Return: number}, Doc: "Cuts it."},
					{Name: "make", Flags: schema.FlagIsStaticMethod, Flaw: "no metadata"}}},
			{Key: "garden.Empty"}, {Key: "garden.Plant"}},
		Flaws: []schema.Flaw{{Kind: "type", Name: "garden.Weed", Reason: "no index"}},
	}
	var out strings.Builder
	NewListing(s, s).Print(&console.Console{Out: &out})
	const want = `2 functions, 1 of them packed because of bad metadata
  garden.water() -> int
      Waters a plant.
  weed(packed)  [module libgarden.so]
      packed, because of its bad metadata
3 types
  garden.Empty
  garden.Plant
  garden.Rose : garden.Plant  (40 bytes)
      A rose.
     field   petals  int        offset 32 size 8  writable, default
            How many.
     field   age     int        offset 0 size 0   read-only, keyword-only, not in constructor
     method  cut     () -> int
            Cuts it.
     static  make    (packed)
            packed, because of its no metadata
1 item that cannot be bound
  type garden.Weed: no index
`
	if out.String() != want {
		t.Errorf("the listing is\n%s\nwant\n%s", &out, want)
	}
}

// TestSelect: a pattern chooses among the items of the bound libraries, or of all.
func TestSelect(t *testing.T) {
	s := schema.Schema{
		Libraries: []schema.Library{{File: "libtvm_ffi.so", Role: schema.RoleCore}, {File: "libdep.so", Role: schema.RoleDependency}, {File: "libgarden.so", Role: schema.RoleBound}},
		Functions: []schema.Function{{Name: "ffi.f", Library: "libtvm_ffi.so"}, {Name: "dep.f", Library: "libdep.so"}, {Name: "garden.water", Library: "libgarden.so"}, {Name: "garden.weed", Library: "libgarden.so"}},
		Types:     []schema.Type{{Key: "ffi.Object", Library: "libtvm_ffi.so"}, {Key: "garden.Rose", Library: "libgarden.so"}},
		Flaws:     []schema.Flaw{{Kind: "type", Name: "garden.Weed", Library: "libgarden.so"}, {Kind: "type", Name: "dep.T", Library: "libdep.so"}},
	}
	for _, c := range []struct {
		pattern string
		all     bool
		want    string
		flaws   int
	}{
		{"", false, "garden.water garden.weed garden.Rose", 1},
		{"", true, "ffi.f dep.f garden.water garden.weed ffi.Object garden.Rose", 2},
		{"w", false, "garden.water garden.weed", 0},
		{"*.f", true, "ffi.f dep.f", 0},
		{"garden.[RW]*", false, "garden.Rose", 1},
	} {
		got, err := Select(s, c.pattern, c.all)
		if err != nil || strings.Join(ItemNames(got), " ") != c.want || len(got.Flaws) != c.flaws {
			t.Errorf("Select(%q, %v) = %q with %d flaws, %v, want %s with %d", c.pattern, c.all, ItemNames(got), len(got.Flaws), err, c.want, c.flaws)
		}
	}
	if _, err := Select(s, "[", false); err == nil || !strings.Contains(err.Error(), `"[" is not a valid pattern`) {
		t.Errorf("a pattern that is not valid: %v", err)
	}
	if own := Own(s); Size(own) != "2 functions, 1 type" || BoundNames(s) != "libgarden.so" {
		t.Errorf("the bound libraries %s have %s", BoundNames(s), Size(own))
	}
}
