package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// report is a file of results with what full writes and with what a reader may miss.
func report(m measurements, rows ...row) string {
	all := &team{peers: []*peer{{name: "cpp"}, {name: "ours"}, {name: "cgo"}, {name: "python"}, {name: "rust"}}}
	return "# Benchmark of 1970-01-01\n\nA machine, 2 CPUs, linux/amd64; load 1.00.\n\n" + m.table(rows, all) +
		"\n## Targets\n\n| item | target |\n|---|---|\n| map lookup | 1 |\n"
}

// TestPicture: what the table of the results says is in the picture.
func TestPicture(t *testing.T) {
	m := measurements{
		{"map_lookup", "ours", "map_lookup"}: undisturbed(2e6),
		{"map_lookup", "cpp", "map_lookup"}:  undisturbed(1e6),
	}
	m[key{"exported", "python", "exported.go"}] = undisturbed(160)
	m[key{"exported", "python", "exported"}] = undisturbed(80)
	for name, ns := range map[string]float64{"ours": 40, "cgo": 120, "rust": 10, "python": 2e4} {
		m[key{"int", name, "int"}] = undisturbed(ns)
	}
	var rows []row
	for _, name := range []string{"floor", "int", "exported", "map_lookup"} {
		r, _ := itemOf(name)
		rows = append(rows, r)
	}
	image, err := picture(report(m, rows...))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"map lookup", "2.00 ms", "<title>C++: 0.50x</title>", "int -&gt; int", "40.0 ns", "<title>Rust: 0.25x</title>", "<title>Python: 500x</title>",
		"1970-01-01", "A machine, 2 CPUs, linux/amd64", "Time relative to tvmffi",
	} {
		if !strings.Contains(image, part) {
			t.Errorf("the picture lacks %q:\n%s", part, image)
		}
	}
	if strings.Contains(image, "Go library") {
		t.Errorf("the picture compares the library that Python calls with Python:\n%s", image)
	}
	for d := xml.NewDecoder(strings.NewReader(image)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v\n%s", err, image)
		}
	}
	if _, err := picture("# Benchmark of 1970-01-01\n\nnothing\n"); err == nil {
		t.Error("results without a table have a picture")
	}
}

// TestPicture_current: the picture in the repository shows the latest results, and the README has their figures.
func TestPicture_current(t *testing.T) {
	text, err := latest("results")
	if err != nil {
		t.Fatal(err)
	}
	want, err := picture(text)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("results/speed.svg"); err != nil || string(got) != want {
		t.Errorf("results/speed.svg is not the picture of the latest results: run bench/run -draw (%v)", err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	r, err := record(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, sentence := range [][2]string{
		{"int", "| a call, int in and out | {C++} | {tvmffi} | {Python} |"},
		{"field_int", "| a field of an object | {C++} | {tvmffi} | {Python} |"},
		{"int", "makes that call in {Rust}"},
		{"floor", "Go needs {tvmffi} to cross into C"},
	} {
		item, _ := itemOf(sentence[0])
		format := sentence[1]
		row := r.rows[slices.IndexFunc(r.rows, func(row recordedRow) bool { return row.title == item.title })]
		for peer, cell := range row.cells {
			format = strings.ReplaceAll(format, "{"+peer+"}", cell.text)
		}
		if !strings.Contains(string(readme), format) {
			t.Errorf("the README does not say %q, as the latest results do", format)
		}
	}
}
