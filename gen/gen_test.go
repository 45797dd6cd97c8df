package gen

import (
	"bytes"
	stdcmp "cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/tvmffi-go/tvmffi/schema"
)

var update = flag.Bool("update", false, "rewrite the expected parts of the golden cases")

// goldenCase is one file of testdata: a comment that describes it,
// schema.json, config.json, and then what Generate must return: files below
// want/ and report.txt, or error.txt.
type goldenCase struct {
	path    string
	archive *txtar.Archive
	schema  schema.Schema
	config  Config
}

func goldenCases(t *testing.T) []goldenCase {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden cases: %v", err)
	}
	var cases []goldenCase
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c := goldenCase{path: path, archive: archive, config: NewConfig("garden", "example.com/app/garden")}
		c.config.ToolVersion = "v0.0.0-test"
		for _, f := range archive.Files {
			switch f.Name {
			case "schema.json":
				if c.schema, err = schema.Decode(f.Data); err != nil {
					t.Fatalf("%s: %v", path, err)
				}
			case "config.json":
				dec := json.NewDecoder(bytes.NewReader(f.Data))
				dec.DisallowUnknownFields()
				if err := dec.Decode(&c.config); err != nil {
					t.Fatalf("%s: config.json: %v", path, err)
				}
			}
		}
		cases = append(cases, c)
	}
	return cases
}

func (c goldenCase) name() string { return strings.TrimSuffix(filepath.Base(c.path), ".txtar") }

// outcome returns what Generate makes of a case, in the form of the archive.
func (c goldenCase) outcome(t *testing.T) []txtar.File {
	t.Helper()
	files, report, err := Generate(c.schema, c.config)
	if err != nil {
		return []txtar.File{{Name: "error.txt", Data: []byte(err.Error() + "\n")}}
	}
	out := []txtar.File{{Name: "report.txt", Data: reportText(report)}}
	for _, f := range files {
		switch {
		case c.name() == "flat":
		case path.Base(f.Path) == "library_gen.go":
			f.Content = ownLines(t, f.Content)
		case c.name() != "objects":
			f.Content = ownParts(t, f.Content)
		}
		out = append(out, txtar.File{Name: "want/" + f.Path, Data: f.Content})
	}
	return out
}

// reportText returns the counts, then every entry that was skipped, renamed, left untyped or
// not fit by its names, with the reason.
func reportText(r Report) []byte {
	var w bytes.Buffer
	for _, c := range r.Counts {
		fmt.Fprintf(&w, "%d %s %s", c.Number, c.Kind, c.Status)
		if c.Packed > 0 {
			fmt.Fprintf(&w, ", %d of them packed", c.Packed)
		}
		if c.Renamed > 0 {
			fmt.Fprintf(&w, ", %d of them renamed", c.Renamed)
		}
		fmt.Fprintln(&w)
	}
	for _, e := range r.Entries {
		why := stdcmp.Or(e.Reason, e.Renamed, e.Note)
		if e.LeftOut != "" {
			why = strings.TrimPrefix(why+"; names that do not fit: "+e.LeftOut, "; ")
		}
		if why != "" {
			fmt.Fprintf(&w, "%s %s %q -> %s: %s\n", e.Status, e.Kind, e.Name, stdcmp.Or(e.GoName, "nothing"), why)
		}
	}
	for _, name := range r.Unused {
		fmt.Fprintf(&w, "names for %q: the libraries do not have it\n", name)
	}
	return w.Bytes()
}

// ownLines leaves out of the file with the library what the case flat shows for all, and the list of what LoadChecked
// compares, which TestLoadChecked judges.
func ownLines(t *testing.T, content []byte) []byte {
	flat, err := os.ReadFile("testdata/flat.txtar")
	if err != nil {
		t.Fatal(err)
	}
	same := strings.Split(string(flat), "\n")
	lines := slices.DeleteFunc(strings.SplitAfter(string(content), "\n"), func(line string) bool {
		return slices.Contains(same, strings.TrimSuffix(line, "\n")) || strings.HasPrefix(line, "\t\t&")
	})
	return []byte(strings.Join(lines, ""))
}

var (
	references = regexp.MustCompile(`(?m)^type (\w+)Ref interface \{\n\ttvmffi\.ObjectRef\n\t(As\w+)\(\) `)
	imports    = regexp.MustCompile("import (\\(\n\ttvmffi )?\"github.com/tvmffi-go/tvmffi/runtime(\"\n\t\"github.com/tvmffi-go/tvmffi/runtime)?/bindrt\"(\n\\))?\n\n")
)

// ownParts leaves out of a file what the cases flat and objects show for all: the usual source, the imports of the runtime
// alone, which TestGoldenCasesCompile needs, and the end of an object type, for which a line stands.
func ownParts(t *testing.T, content []byte) []byte {
	text := strings.Replace(string(content), "\n// source: libgarden.so\n\n", "\n", 1)
	text = imports.ReplaceAllString(text, "")
	for _, m := range references.FindAllStringSubmatch(text, -1) {
		end := strings.NewReplacer("NAME", m[1], "AS", m[2]).Replace("// NAMERef is how functions take NAME and types derived from it; nil is None.\n" +
			"type NAMERef interface {\n\ttvmffi.ObjectRef\n\tAS() *NAME\n}\n\n" +
			"// TVMFFIType is for generated code.\nfunc (*NAME) TVMFFIType(*NAME) *bindrt.Type { return &typeNAME }\n\n" +
			"// AS is for generated code. It returns x; nil stays nil.\nfunc (x *NAME) AS() *NAME { return x }\n")
		text = strings.Replace(text, end, "// And "+m[1]+"Ref, TVMFFIType and "+m[2]+".\n", 1)
	}
	return []byte(text)
}

var (
	described = regexp.MustCompile(`(?m)^(?:var |\t)(\w+) += bindrt\.(?:Func|Type|Field)\{`)
	compared  = regexp.MustCompile(`(?m)^\t\t&(\w+),$`)
)

// TestLoadChecked finds a function, type or field of a package that its LoadChecked does not compare.
func TestLoadChecked(t *testing.T) {
	all := 0
	for _, c := range goldenCases(t) {
		files, _, err := Generate(c.schema, c.config)
		if err != nil {
			continue // the case is about this error
		}
		have, listed := map[string][]string{}, map[string][]string{}
		for _, f := range files {
			dir := path.Dir(f.Path)
			for _, m := range described.FindAllSubmatch(f.Content, -1) {
				have[dir] = append(have[dir], string(m[1]))
			}
			for _, m := range compared.FindAllSubmatch(f.Content, -1) {
				listed[dir] = append(listed[dir], string(m[1]))
			}
		}
		for dir := range have {
			slices.Sort(have[dir])
			slices.Sort(listed[dir])
			all += len(have[dir])
			if !slices.Equal(have[dir], listed[dir]) {
				t.Errorf("%s, package %s has\n%s\nand compares\n%s", c.name(), dir, have[dir], listed[dir])
			}
		}
	}
	if all < 300 {
		t.Errorf("%d functions, types and fields", all)
	}
}

func isInput(f txtar.File) bool {
	return f.Name == "schema.json" || f.Name == "config.json" || strings.HasPrefix(f.Name, "src/")
}

func TestGolden(t *testing.T) {
	for _, c := range goldenCases(t) {
		t.Run(c.name(), func(t *testing.T) {
			got := c.outcome(t)
			if *update {
				inputs := slices.DeleteFunc(slices.Clone(c.archive.Files), func(f txtar.File) bool { return !isInput(f) })
				c.archive.Files = append(inputs, got...)
				if err := os.WriteFile(c.path, txtar.Format(c.archive), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			want := map[string]string{}
			for _, f := range c.archive.Files {
				if !isInput(f) {
					want[f.Name] = string(f.Data)
				}
			}
			have := map[string]string{}
			for _, f := range got {
				have[f.Name] = string(f.Data)
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("output differs from the golden case (-want +got); run with -update if it is meant to:\n%s", diff)
			}
		})
	}
}

// realSchemas are snapshots of real libraries.
func realSchemas(t *testing.T) map[string]schema.Schema {
	t.Helper()
	paths, err := filepath.Glob("testdata/schemas/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no schema snapshots: %v", err)
	}
	schemas := map[string]schema.Schema{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := schema.Decode(data)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		schemas[strings.TrimSuffix(filepath.Base(path), ".json")] = s
	}
	return schemas
}

// everything is a config that binds a whole schema.
func everything(s schema.Schema) Config {
	c := NewConfig("all", "github.com/tvmffi-go/tvmffi/generated/all")
	for _, l := range s.Libraries {
		c.Libraries = append(c.Libraries, l.File)
	}
	return c
}

func TestSameSchemaSameBytes(t *testing.T) {
	for name, s := range realSchemas(t) {
		first, report, err := Generate(s, everything(s))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for seed := range uint64(2) {
			r := rand.New(rand.NewPCG(seed, 1))
			shuffled := s
			shuffled.Functions, shuffled.Types = slices.Clone(s.Functions), slices.Clone(s.Types)
			r.Shuffle(len(shuffled.Functions), func(i, k int) {
				shuffled.Functions[i], shuffled.Functions[k] = shuffled.Functions[k], shuffled.Functions[i]
			})
			r.Shuffle(len(shuffled.Types), func(i, k int) {
				shuffled.Types[i], shuffled.Types[k] = shuffled.Types[k], shuffled.Types[i]
			})
			c := everything(s)
			r.Shuffle(len(c.Libraries), func(i, k int) { c.Libraries[i], c.Libraries[k] = c.Libraries[k], c.Libraries[i] })
			again, second, err := Generate(shuffled, c)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !reflect.DeepEqual(first, again) { // Diff is slow where nothing differs
				t.Fatalf("%s: another order of the input gives other output:\n%s", name, cmp.Diff(first, again))
			}
			if !reflect.DeepEqual(report, second) {
				t.Fatalf("%s: another order of the input gives another report:\n%s", name, cmp.Diff(report, second, cmp.AllowUnexported(Entry{})))
			}
		}
	}
}

// TestVersionStandsOnce has a library of another version with the same interface.
func TestVersionStandsOnce(t *testing.T) {
	for name, s := range realSchemas(t) {
		before, _, err := Generate(s, everything(s))
		if err != nil {
			t.Fatal(err)
		}
		s.Libraries = slices.Clone(s.Libraries)
		for i := range s.Libraries {
			s.Libraries[i].PackageVersion, s.Libraries[i].SHA256 = "9.9.9", strings.Repeat("9", 64)
		}
		after, _, err := Generate(s, everything(s))
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range after {
			if changed := !bytes.Equal(f.Content, before[i].Content); changed != (path.Base(f.Path) == "library_gen.go") {
				t.Errorf("%s: %s: changed is %t", name, f.Path, changed)
			}
		}
	}
}

func TestGenerateLeavesTheSchemaAlone(t *testing.T) {
	for name, s := range realSchemas(t) {
		slices.Reverse(s.Functions)
		before, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Generate(s, everything(s)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		after, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before, after) {
			t.Errorf("%s: Generate changed its argument", name)
		}
	}
}
