package gen

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestReadExports_errors finds exactly the mistakes that the comments of the source
// announce, each at its line.
func TestReadExports_errors(t *testing.T) {
	folder := filepath.Join("testdata", "export", "errors")
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{} // by file and line
	mark := regexp.MustCompile("// want `(.*)`")
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(folder, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if m := mark.FindStringSubmatch(line); m != nil {
				want[file.Name()+":"+strconv.Itoa(i+1)] = m[1]
			}
		}
	}
	_, err = ReadExports(".", "./testdata/export/errors")
	if err == nil {
		t.Fatal("no error")
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		rest, ok := strings.CutPrefix(line, filepath.ToSlash(folder)+"/")
		number, message, found := strings.Cut(rest, ": ")
		if !ok || !found {
			t.Errorf("no file and line: %s", line)
			continue
		}
		if want[number] == "" || !strings.Contains(message, want[number]) {
			t.Errorf("%s: %s\nwant %q", number, message, want[number])
		}
		delete(want, number)
	}
	for number, message := range want {
		t.Errorf("%s: nothing was found, want %q", number, message)
	}
}

// wide reads the package with every form of func, once for all tests.
var wide = sync.OnceValues(func() (*Exports, error) { return ReadExports(".", "./testdata/export/wide") })

func TestReadExports_refused(t *testing.T) {
	dir := t.TempDir() // a module that requires nothing is read at once
	for name, text := range map[string]string{"go.mod": "module example.com/m\n", "plain/plain.go": "package plain\n", "program/main.go": "package main\n\nfunc main() {}\n",
		"lacking/lacking.go": "package lacking\n\nimport _ \"example.com/other/x\"\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string]string{
		"./plain":               "has no directive: write //tvmffi:export above a func",
		"./program":             "is package main, which cannot be imported",
		"./lacking":             "it cannot import example.com/other/x: no required module provides package example.com/other/x; to add it:\n\tgo get example.com/other/x",
		"./nothing":             "",
		"./...":                 "packages: name one",
		"example.com/not/there": "",
	} {
		if _, err := ReadExports(dir, pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", pattern, err, want)
		}
	}
}

// TestExports compares what is generated for a package with every form of func.
func TestExports(t *testing.T) {
	x, err := wide()
	if err != nil {
		t.Fatal(err)
	}
	files, err := x.Generate(ExportConfig{Prefix: "my.wide.", ToolVersion: "v0.0.0-test"})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Verify(files); err != nil {
		t.Error(err)
	}
	python, err := x.Python(ExportConfig{Prefix: "my.wide.", ToolVersion: "v0.0.0-test", Version: "1.2"})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range python { // TestWrite of pyface compares them
		if !IsGenerated(f.Content) {
			t.Errorf("%s does not look generated", f.Path)
		}
	}
	got := &txtar.Archive{Comment: []byte("What tvmffi-bind export makes of the package wide; go test ./gen -update writes it.\n")}
	template, err := os.ReadFile("internal/emit/exportmain.go")
	if err != nil {
		t.Fatal(err)
	}
	fixed := strings.Split(string(template), "\n")
	for _, f := range files {
		if path.Ext(f.Path) == ".c" { // most of it is the same for each library
			lines := strings.Split(string(f.Content), "\n")
			f.Content = []byte(strings.Join(slices.DeleteFunc(lines, func(l string) bool { return slices.Contains(fixed, l) }), "\n"))
		}
		got.Files = append(got.Files, txtar.File{Name: f.Path, Data: f.Content})
	}
	compareGolden(t, "wide.golden", got)
	files = files[:3]
	again, err := x.Generate(ExportConfig{Prefix: "my.wide.", ToolVersion: "v0.0.0-test"})
	if err != nil || cmp.Diff(files, again) != "" {
		t.Error("the second run differs", err)
	}
}

// compareGolden compares an archive with a file of testdata/export, or writes that under -update.
func compareGolden(t *testing.T, name string, got *txtar.Archive) {
	t.Helper()
	golden := filepath.Join("testdata", "export", name)
	if *update {
		if err := os.WriteFile(golden, txtar.Format(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(txtar.Format(got))); d != "" {
		t.Errorf("%s (-) and the result (+) differ:\n%s", golden, d)
	}
}

func TestExports_config(t *testing.T) {
	x, err := wide()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		config ExportConfig
		want   string
	}{
		{ExportConfig{Name: "a-b"}, `name: "a-b" is not a valid library name`},
		{ExportConfig{Prefix: "wide"}, `prefix: "wide" is not a namespace: write words with a dot after each, such as "wide."`},
		{ExportConfig{Prefix: "a b."}, "is not a namespace"},
		{ExportConfig{Out: "."}, "out: the main package needs a folder of its own"},
	} {
		if _, err := x.Generate(c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.config, err, c.want)
		}
	}
	defer delete(x.pkg.Declared, "Register")
	x.pkg.Declared["Register"] = true
	if _, err := x.Generate(ExportConfig{}); err == nil || !strings.Contains(err.Error(), "declares Register, which the generated file needs") {
		t.Error(err)
	}
	// A type error that is not the generator's is found before anything is written.
	files := []File{{registrationFile, []byte("package wide\n\nvar x int = \"text\"\n")}}
	if err := x.Verify(files); err == nil {
		t.Error("Verify found nothing")
	}
}
