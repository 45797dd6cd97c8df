package gen

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

const virtualPath = "github.com/tvmffi-go/tvmffi/gen/testdata/virtual/"

// TestGoldenCasesCompile type-checks the output of every golden case, with the
// files of the consumer that the case has below src/.
func TestGoldenCasesCompile(t *testing.T) {
	var files []File
	for _, c := range goldenCases(t) {
		c.config.ImportPath = virtualPath + c.name() + "/garden"
		for key, target := range c.config.External {
			c.config.External[key] = strings.Replace(target, "example.com/app", virtualPath+c.name(), 1)
		}
		generated, _, err := Generate(c.schema, c.config)
		if err != nil {
			continue // the case is about this error
		}
		for _, f := range generated {
			files = append(files, File{Path: path.Join(c.name(), "garden", f.Path), Content: f.Content})
		}
		for _, f := range sources(c.archive) {
			files = append(files, File{Path: path.Join(c.name(), f.Name), Content: f.Data})
		}
	}
	if err := Verify("testdata/virtual", files); err != nil {
		t.Error(err)
	}
}

// sources are the files of the consumer in a golden case.
func sources(a *txtar.Archive) []txtar.File {
	var files []txtar.File
	for _, f := range a.Files {
		if name, ok := strings.CutPrefix(f.Name, "src/"); ok {
			files = append(files, txtar.File{Name: name, Data: f.Data})
		}
	}
	return files
}

func TestRealSchemasCompile(t *testing.T) {
	var files []File
	for name, s := range realSchemas(t) {
		c := everything(s)
		dir := strings.NewReplacer(".", "", "_", "").Replace(name)
		c.ImportPath = virtualPath + dir
		generated, _, err := Generate(s, c)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, f := range generated {
			files = append(files, File{Path: path.Join(dir, f.Path), Content: f.Content})
		}
	}
	if err := Verify("testdata/virtual", files); err != nil {
		t.Error(err)
	}
}

func TestVerifyRefuses(t *testing.T) {
	cases := []struct{ what, source, want string }{
		{"code that does not compile", "var x int = \"\"", "cannot use"},
		{"unsafe", "import _ \"unsafe\"", "imports unsafe"},
		{"another layout", `import tvmffi "github.com/tvmffi-go/tvmffi/runtime"
			type Rose struct { tvmffi.Object; petals int }
			func (*Rose) TVMFFIType(*Rose) {}`, "does not have the layout"},
		{"another layout of the parent", `import tvmffi "github.com/tvmffi-go/tvmffi/runtime"
			type plant struct { tvmffi.Object; height int }
			type Rose struct { plant }
			func (*Rose) TVMFFIType(*Rose) {}`, "does not have the layout"},
	}
	for _, c := range cases {
		err := Verify("testdata/virtual", []File{{Path: "p/p_gen.go", Content: []byte("package p\n" + c.source + "\n")}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.what, err, c.want)
		}
	}
}

// TestVerifyImports has generated code whose import does not compile in the body of a
// function. The declarations of an import suffice.
func TestVerifyImports(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":         "module example.com/app\n\ngo 1.26\n",
		"plants/here.go": "package plants\n\nfunc Count() int { return notWrittenYet }\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	generated := func(typ string) []File {
		return []File{{Path: "garden_gen.go", Content: []byte("package garden\n\nimport \"example.com/app/plants\"\n\nvar n " + typ + " = plants.Count()\n")}}
	}
	if err := Verify(dir, generated("int")); err != nil {
		t.Errorf("an error in the body of an imported function must not count: %v", err)
	}
	if err := Verify(dir, generated("string")); err == nil || !strings.Contains(err.Error(), "garden_gen.go:5:16: cannot use plants.Count()") {
		t.Errorf("got %v, want an error about the type of plants.Count", err)
	}
}

// TestVerifyIgnoresStaleFiles has an earlier run's file on disk, which declares
// what now stands in another file.
func TestVerifyIgnoresStaleFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/app\n\ngo 1.26\n")
	write("old_gen.go", Marker+"\n\npackage oldname\n\nfunc Water() {}\n")
	files := []File{{Path: "new_gen.go", Content: []byte(Marker + "\n\npackage garden\n\nfunc Water() {}\n")}}
	if err := Verify(dir, files); err != nil {
		t.Errorf("a stale generated file must not count: %v", err)
	}
	write("user.go", "package garden\n\nfunc Water() {}\n")
	if err := Verify(dir, files); err == nil || !strings.Contains(err.Error(), "redeclared") {
		t.Errorf("got %v, want an error about the name that the consumer declares", err)
	}
}

func TestUserNames(t *testing.T) {
	dir := t.TempDir()
	write := func(name, source string) {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(source), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("user.go", "package garden\nimport \"fmt\"\ntype Rose struct{}\nfunc (r *Rose) Prune() { fmt.Println() }\nfunc (Rose) Grow() {}\nconst a, b = 1, 2\nvar c int\nfunc Water() {}\nfunc init() {}\nvar _ = c\n")
	write("rose_gen.go", Marker+"\npackage garden\nfunc Generated() {}\n")
	write("user_test.go", "package garden\nfunc OfTest() {}\n")
	write("other_plan9.go", "package garden\nfunc OfPlan9() {}\n")
	write("soil/soil.go", "package soil\nfunc Dig() {}\n")
	write("testdata/x.go", "package x\nfunc X() {}\n")
	write("nested/go.mod", "module nested\n")
	write("nested/x.go", "package nested\nfunc X() {}\n")
	names, err := UserNames(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for dir, list := range names {
		got[dir] = strings.Join(list, " ")
	}
	want := map[string]string{".": "Rose Rose.Grow Rose.Prune Water a b c", "soil": "Dig"}
	if len(got) != len(want) || got["."] != want["."] || got["soil"] != want["soil"] {
		t.Errorf("got %q, want %q", got, want)
	}
	write("broken.go", "package garden\nfunc {")
	if _, err := UserNames(dir); err == nil {
		t.Error("a file that does not parse must be an error")
	}
	if names, err := UserNames(filepath.Join(dir, "absent")); err != nil || len(names) > 0 {
		t.Errorf("a folder that does not exist has no names, got %v, %v", names, err)
	}
}
