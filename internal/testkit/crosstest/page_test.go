package crosstest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestPage reads docs/CROSSES.md and writes it again: it has all tables, with their rows and columns in order, and no others.
func TestPage(t *testing.T) {
	root, err := nativetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, "docs", "CROSSES.md"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := parse(string(data))
	if err != nil {
		t.Fatal(err)
	}
	if p.String() != string(data) {
		t.Error("the page differs from what its own cells make: run the tests of a column with -update")
	}
	names := map[string]bool{}
	for _, g := range Groups {
		if !strings.Contains(string(data), opening+g.Title+ending) {
			t.Errorf("the page has no place for the table %q", g.Title)
		}
		for _, r := range g.Rows {
			if names[r.Name] {
				t.Errorf("two rows have the name %q", r.Name)
			}
			if names[r.Name] = true; strings.ContainsAny(r.Name, ";|`") {
				t.Errorf("the name %q has a character of the page", r.Name)
			}
		}
	}
	for _, peer := range peers() {
		if p.versions[peer].version == "" || p.versions[peer].date == "" {
			t.Errorf("the column %s has no version or date", peer)
		}
	}
}

// TestCells are read from the page as they were written.
func TestCells(t *testing.T) {
	saved := Groups
	t.Cleanup(func() { Groups = saved })
	Groups = []Group{{"T", []string{"a", "b"}, []Row{{"one", 1}, {"two", 2}, {"three", 3}}}}
	cells := map[string]map[string]string{
		"a": {"one": Same, "two": `x | "y"`, "three": Failed(tvmffi.NewError("ValueError", "a `b` | c: d\ne"))},
		"b": {"one": Failed(errors.New("plain")), "two": "`ticks`", "three": Failed(tvmffi.NewError("KeyError", "a `b` | c: d ..."))},
	}
	p := &page{parts: []string{"begin\n", "versions", "middle\n", "T", "", "errors", "end\n"}, versions: map[string]edition{"a": {"1", "today"}}, cells: cells}
	back, err := parse(p.String())
	if err != nil {
		t.Fatal(err)
	}
	for peer, want := range cells {
		if differences := back.set(peer, want); differences != nil {
			t.Errorf("%s: %q\n%s", peer, differences, p)
		}
	}
	if back.versions["a"] != (edition{"1", "today"}) || back.String() != p.String() {
		t.Errorf("it was read as\n%s", back)
	}
	back.cells["a"]["one"] = "1"
	if differences := back.set("a", map[string]string{"one": Same}); len(differences) != 3 {
		t.Errorf("the differences are %q", differences)
	}
	if _, err := parse("<!-- begin T -->\nno end"); err == nil {
		t.Error("a table without an end was read")
	}
}

// TestText: values that differ have texts that differ.
func TestText(t *testing.T) {
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
	seen := map[string]any{}
	for _, x := range []any{nil, true, 1, 1.0, "1", "true", []byte("1"), "", 1e16, "nil", tvmffi.CPU, tvmffi.Float32, "cpu:0", []any{}, []any{nil}} {
		s := Row{"x", x}.Text()
		if was, ok := seen[s]; ok {
			t.Errorf("%#v and %#v are both %s", was, x, s)
		}
		seen[s] = x
	}
}
