// Package crosstest has the values of docs/CROSSES.md, a page that says what other languages, processes and formats make of
// a Go value, and keeps its tables: a test gives each value to one of them, and [Check] compares what came back with the
// column of the page. With the flag -update it writes the column instead.
//
//   - rows.go has the groups of values: one table of the page for each
//   - text.go describes a value that came back
//   - page.go reads and writes the tables
package crosstest

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/jsongraph"
)

var update = flag.Bool("update", false, "write the columns of docs/CROSSES.md")

// The beginning of a cell that is not a value.
const (
	// Same is the cell of a value that arrived as it was.
	Same = "same"
	// refused begins the cell of an error.
	refused = "!"
)

// funcs is the name of the func of a test.
var funcs = regexp.MustCompile(`the Go func \S+: `)

// Failed returns the cell of a value that was refused: the kind of the error stands in the table, the text below it.
func Failed(err error) string {
	if e, ok := errors.AsType[*tvmffi.Error](err); ok && e.Kind != "" {
		return Refused(e.Kind, funcs.ReplaceAllString(e.Message, ""))
	}
	return Refused("error", err.Error())
}

// Refused returns the cell of an error of another language.
func Refused(kind, message string) string {
	message = strings.TrimSpace(message)
	if line, more, cut := strings.Cut(message, "\n"); cut && more != "" {
		message = line + " ..."
	}
	return refused + kind + ": " + message
}

// Cell returns the cell of a value that was given away and came back.
func Cell(given string, back tvmffi.Any, err error) string {
	if err != nil {
		return Failed(err)
	}
	defer back.Release()
	text := Text(back)
	if text == given {
		return Same
	}
	return text
}

// Trips gives the value of each row to trip, and returns the cells of what came back.
func Trips(t testing.TB, trip func(x any) (tvmffi.Any, error)) map[string]string {
	t.Helper()
	cells := map[string]string{}
	for _, g := range Groups {
		for _, r := range g.Rows {
			if !r.IsValue() {
				continue
			}
			x, release := r.make(t)
			back, err := trip(x)
			cells[r.Name] = Cell(r.Text(), back, err)
			release()
		}
	}
	return cells
}

// Narrow gives the values for a type to the function for that type, and adds the cells of what it returned.
func Narrow(t testing.TB, cells map[string]string, echo map[string]func(x any) (tvmffi.Any, error)) {
	t.Helper()
	for _, g := range Groups {
		for _, r := range g.Rows {
			v, ok := r.Value.(Typed)
			if f := echo[v.For]; ok && f != nil {
				back, err := f(v.Value)
				cells[r.Name] = Cell("", back, err)
			}
		}
	}
}

// Results lets call make a value of a JSON graph and return it, and adds the cells of what came. Other values are refused as
// arguments, so a result has to be made where it comes from.
func Results(t testing.TB, cells map[string]string, call func(graph []byte) (tvmffi.Any, error)) {
	t.Helper()
	for _, g := range Groups {
		for _, r := range g.Rows {
			v, ok := r.Value.(Result)
			if !ok {
				continue
			}
			inner := Row{r.Name, v.Value}
			x, release := inner.make(t)
			graph, err := jsongraph.Marshal(x, nil)
			release()
			if err != nil {
				t.Fatalf("%s: %v", r.Name, err)
			}
			back, err := call(graph)
			cells[r.Name] = Cell(inner.Text(), back, err)
		}
	}
}

// MakeResult is the function that [Results] calls.
func MakeResult(graph []byte) (tvmffi.Any, error) { return jsongraph.Unmarshal[tvmffi.Any](graph) }

// Raise lets raise end a function with the error of each row, and adds the cells of the errors that it returns.
func Raise(t testing.TB, cells map[string]string, raise func(kind, message string) error) {
	t.Helper()
	for _, g := range Groups {
		for _, r := range g.Rows {
			if v, ok := r.Value.(Raised); ok {
				cells[r.Name] = RaisedCell(v, raise(v.Kind, v.Message))
			}
		}
	}
}

// RaisedCell returns the cell of an error that came in place of another.
func RaisedCell(want Raised, err error) string {
	e, ok := errors.AsType[*tvmffi.Error](err)
	switch {
	case err == nil:
		return "nothing"
	case !ok:
		return quote(err.Error())
	case e.Kind == want.Kind && e.Message == want.Message:
		return Same
	}
	return Error(e.Kind, e.Message)
}

// Check compares the column of peer, of this version, with cells, by the names of rows. Rows without a cell are empty in the
// page. The tables of another version may differ: then the test is skipped with the first difference.
func Check(t testing.TB, peer, version string, cells map[string]string) {
	t.Helper()
	if len(cells) == 0 {
		t.Fatalf("%s: there are no cells", peer)
	}
	root, err := nativetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "docs", "CROSSES.md")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := parse(string(data))
	if err != nil {
		t.Fatal(err)
	}
	for name := range cells {
		if !slices.ContainsFunc(Groups, func(g Group) bool { return g.has(name, peer) }) {
			t.Errorf("%s: no table with this column has the row %q", peer, name)
		}
	}
	differences := p.set(peer, cells)
	written := p.versions[peer].version
	switch {
	case len(differences) == 0 && written == version:
		return
	case *update:
		p.versions[peer] = edition{version, time.Now().Format(time.DateOnly)}
		if err := os.WriteFile(file, []byte(p.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	case len(differences) == 0:
		return // another version that does the same
	case written != version && written != "":
		t.Skipf("docs/CROSSES.md is about %s %s, and version %s differs: %s", peer, written, version, differences[0])
	}
	t.Errorf("docs/CROSSES.md differs from what %s %s does; with -update the test writes it:\n%s", peer, version, strings.Join(differences, "\n"))
}
