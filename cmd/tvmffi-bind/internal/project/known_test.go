package project

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/wheel"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// TestKnown checks what each known package consists of. Tests of the command run the programs.
func TestKnown(t *testing.T) {
	if len(KnownNames()) < 6 {
		t.Errorf("known: %v", KnownNames())
	}
	for _, name := range KnownNames() {
		t.Run(name, func(t *testing.T) {
			k := Known(name)
			c, err := k.Config()
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range append(slices.Clone(c.Libraries), c.Deps...) {
				pinned := func(s wheel.Spec) bool { return s.Package == l.Package && s.Version == l.Version }
				if !slices.ContainsFunc(wheel.Pinned(), pinned) {
					t.Errorf("%s %s has no wheel with a known hash", l.Package, l.Version)
				}
			}
			if !slices.ContainsFunc(c.Libraries, func(l LibrarySpec) bool { return l.Package == name }) {
				t.Errorf("no library of the package itself: %v", c.Libraries)
			}
			files, err := k.Files(Scaffold{Package: c.Package, Import: "example.com/hello/" + path.Base(c.Out)})
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{ConfigName, MainName, TestName} {
				if files[name] == nil {
					t.Errorf("no file %s: %v", name, k.FileNames())
				}
			}
			checkNames(t, c, files)
			checkProgram(t, string(files[MainName]), "example.com/hello/"+c.Package)
		})
	}
	if Known("nothing") != nil {
		t.Error("nothing is a known package")
	}
}

// TestShared finds a names file that does not exist, and an item that is in it although the packages share it.
func TestShared(t *testing.T) {
	for file, users := range shared {
		part, err := known.ReadFile("shared/" + file)
		if err != nil {
			t.Fatal(err)
		}
		common, err := hints.Decode(part)
		if err != nil || len(common.Items) == 0 {
			t.Errorf("%s: %d items, %v", file, len(common.Items), err)
		}
		for _, user := range users {
			data, err := known.ReadFile("known/" + user)
			if err != nil {
				t.Fatal(err)
			}
			own, err := hints.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			name, rest, _ := strings.Cut(user, "/")
			joined, err := Known(name).read(rest)
			if err != nil {
				t.Fatal(err)
			}
			all, err := hints.Decode(joined)
			for item := range common.Items {
				if _, twice := own.Items[item]; err != nil || twice || !reflect.DeepEqual(all.Items[item], common.Items[item]) {
					t.Errorf("%s of %s: in %s too: %v, joined: %v, %v", item, file, user, twice, all.Items[item], err)
				}
			}
		}
	}
}

// checkNames checks that the names files are in the form that "tvmffi-bind names" writes, so that one that is written
// again shows what has changed, and that the text in them is our own.
func checkNames(t *testing.T, c *Config, files map[string][]byte) {
	t.Helper()
	names, err := c.ReadNames()
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range names {
		data, err := f.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if string(data) != string(files[c.Names[i]]) {
			t.Errorf("%s is not in the form of hints.File.Encode", c.Names[i])
		}
		if len(f.Items) == 0 || len(f.Sources) == 0 {
			t.Errorf("%s has %d items of %d sources", c.Names[i], len(f.Items), len(f.Sources))
		}
		for _, name := range slices.Sorted(maps.Keys(f.Items)) {
			if doc := f.Items[name].Doc; strings.Contains(doc, "----") || strings.Contains(doc, "Parameters\n") {
				t.Errorf("%s has the doc of the library", name)
			}
		}
	}
}

// checkProgram checks that a program imports the generated package, or one below it, and says what it does.
func checkProgram(t *testing.T, text, want string) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), MainName, text, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(tree.Doc.Text(), "This program ") {
		t.Errorf("the comment of the program is %q", tree.Doc.Text())
	}
	if !slices.ContainsFunc(tree.Imports, func(s *ast.ImportSpec) bool {
		p, _ := strconv.Unquote(s.Path.Value)
		return p == want || strings.HasPrefix(p, want+"/")
	}) {
		t.Errorf("the program does not import %s", want)
	}
}
