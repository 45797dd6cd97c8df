package golibrary

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/crosstest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// peer is what a host in another language says of a row: the value in its own words and the cell of what came back, or the kind
// and the message of an error.
type peer struct{ Shown, Back, Kind, Message string }

// cell returns the cell of a row: what the host has, and behind an arrow what came back if it differs.
func (p peer) cell() string {
	switch {
	case p.Kind != "":
		return crosstest.Refused(p.Kind, p.Message)
	case p.Back != crosstest.Same:
		return p.Shown + " -> " + p.Back
	}
	return p.Shown
}

// TestCrosses_python returns each value to Python, which returns it.
func TestCrosses_python(t *testing.T) {
	upToDate(t, "./testdata/crosses")
	python(t, "Python", consumer.Shared(t, "examples/go_library/testdata/crosses/libcrosses"))
}

// TestCrosses_package does it with the Python package of the library, which makes types of Python of the values.
func TestCrosses_package(t *testing.T) {
	python(t, "Python package", pythonPackage(t, "testdata/crosses"))
}

// python runs the program with the library at a place, and checks a column.
func python(t *testing.T, column, place string) {
	t.Helper()
	out := run(t, nil, nativetest.Python(t), filepath.Join("testdata", "crosses.py"), place)
	var rows map[string]peer
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cells := map[string]string{}
	for name, p := range rows {
		cells[name] = p.cell()
	}
	crosstest.Check(t, column, nativetest.Version(), cells)
}

// TestCrosses_rust returns each value to a Rust program, which returns it.
func TestCrosses_rust(t *testing.T) {
	r := newRust(t, "crossing")
	upToDate(t, "./testdata/crosses")
	run(t, nil, consumer.Tool(t), "export", "./testdata/crosses", "--rust", filepath.Join(r.dir, "crosses"))
	out := run(t, r.env, r.build("crossing"))
	cells := map[string]string{}
	for line := range strings.Lines(out) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), "\t")
		shown, back, _ := strings.Cut(rest, "\t")
		cells[name] = peer{Shown: shown, Back: back}.cell()
	}
	crosstest.Check(t, "Rust", nativetest.Version(), cells)
}
