package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/bindings"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/gen"
	"github.com/tvmffi-go/tvmffi/schema"
)

// result has entries of each status, with and without a reason.
func result() *bindings.Result {
	return &bindings.Result{
		Root: "garden", ImportPath: "example.com/garden", Files: map[string][]byte{"b.go": []byte("bb"), "a.go": []byte("a")},
		Schema:  schema.Schema{Libraries: []schema.Library{{File: "libgarden.so", Role: schema.RoleBound}}},
		Timings: []bindings.Timing{{Stage: "read", Seconds: 0.25}},
		Report: gen.Report{Unused: []string{"garden.gone"}, Entries: []gen.Entry{
			{Kind: gen.KindField, Name: "garden.Rose.age", Status: gen.Generated},
			{Kind: gen.KindFunction, Name: "garden.water", Status: gen.Generated, LeftOut: "the names of 2 of 3 parameters"},
			{Kind: gen.KindFunction, Name: "garden.weed", Status: gen.Generated, Packed: true},
			{Kind: gen.KindFunction, Name: "garden.dig", Status: gen.Generated, Packed: true, Note: "its metadata is not JSON"},
			{Kind: gen.KindFunction, Name: "garden.Rose", GoName: "RoseFunc", Status: gen.Opaque, Renamed: "Rose is taken", Reason: "float8 has no Go type"},
			{Kind: gen.KindType, Name: "garden.Rose", Status: gen.Generated},
			{Kind: gen.KindType, Name: "garden.Weed", Status: gen.Skipped, Reason: "skip lists it"},
			{Kind: gen.KindType, Name: "ffi.Array", Status: gen.InRuntime},
			{Kind: gen.KindType, Name: "soil.Clay", Status: gen.Weakened, Note: "nobody binds it"},
		}},
	}
}

// TestSummarize: the table counts what was asked for, and each list has its entries and no others.
func TestSummarize(t *testing.T) {
	var out strings.Builder
	Summarize(&console.Console{Err: &out}, result(), true)
	const want = `libgarden.so -> garden (2 files)
           generated  opaque  in runtime  skipped
functions          3       1           0        0
types              1       0           1        1
fields             1       0           0        0
2 functions without a signature in the library: their arguments are ...any
renamed:
  function garden.Rose: RoseFunc in Go, because Rose is taken
weaker types (bind their namespaces by prefixes, or name the packages that bind them under external):
  type soil.Clay: nobody binds it
opaque:
  function garden.Rose: float8 has no Go type
packed because of bad metadata:
  function garden.dig: its metadata is not JSON
skipped:
  type garden.Weed: skip lists it
names that do not fit:
  function garden.water: the names of 2 of 3 parameters
names for 1 item that the libraries do not have: garden.gone
read         250 ms
`
	if out.String() != want {
		t.Errorf("the summary is\n%s\nwant\n%s", &out, want)
	}
	out.Reset()
	Summarize(&console.Console{Err: &out}, &bindings.Result{Root: "k", Kernels: 1, Files: map[string][]byte{"k.go": nil}}, false)
	if out.String() != "1 kernel -> k (1 file)\n" {
		t.Errorf("the summary of kernels is %q", &out)
	}
}

// TestWriteJSON: the report lists the files by name, and replaces an older report and nothing else.
func TestWriteJSON(t *testing.T) {
	con := &console.Console{}
	file := filepath.Join(t.TempDir(), "report.json")
	for range 2 {
		if err := WriteJSON(con, file, result()); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r fullReport
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if r.Package != "example.com/garden" || len(r.Entries) != 9 || len(r.Files) != 2 || r.Files[0] != (reportedFile{"a.go", 1}) {
		t.Errorf("the report is %s", data)
	}
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(con, file, result()); err == nil {
		t.Error("the report replaced another file")
	}
}

// TestJSON: a type whose fields make its constructor has the parameters, also behind one without.
func TestJSON(t *testing.T) {
	number := schema.TypeSchema{Name: "int"}
	s := schema.Schema{Types: []schema.Type{
		{Key: "garden.Empty", Ancestors: []string{"ffi.Object"}},
		{Key: "garden.Rose", Ancestors: []string{"ffi.Object"}, TotalSize: 40, Attributes: []string{"__ffi_init__"}, Fields: []schema.Field{
			{Name: "petals", Type: number, Offset: 24, Size: 8, Flags: schema.FlagHasDefault},
			{Name: "age", Type: number, Offset: 32, Size: 8, Flags: schema.FlagKwOnly, Doc: "In days."}}}}}
	out := NewListing(s, s).JSON().(jsonListing)
	if out.Types[0].Constructor != nil || out.Types[1].Constructor == nil {
		t.Fatalf("the constructors are %v and %v", out.Types[0].Constructor, out.Types[1].Constructor)
	}
	got := *out.Types[1].Constructor
	if len(got) != 2 || got[0].Name != "petals" || !got[0].HasDefault || got[0].KeywordOnly || got[1].Doc != "In days." || got[1].HasDefault || !got[1].KeywordOnly {
		t.Errorf("the parameters are %+v", got)
	}
}
