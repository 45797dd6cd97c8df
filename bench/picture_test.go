package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// report is a file of results with what full writes and with what a reader may miss.
func report(m measurements, rows ...row) string {
	all := &team{peers: []*peer{{name: "cpp"}, {name: "ours"}, {name: "cgo"}, {name: "python"}, {name: "rust"}}}
	return "# Benchmark of 1970-01-01\n\nA machine, 2 CPUs, linux/amd64; load 1.00.\n\n" + m.table(rows, all) +
		"\n## Targets\n\n| item | target |\n|---|---|\n| map lookup | 1 |\n"
}

// TestPictures: what the table of the results says is in the pictures.
func TestPictures(t *testing.T) {
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
	files, err := pictures(report(m, rows...))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"speed.svg":   "map lookup|2.00 ms|<title>C++: 0.50x</title>|int -&gt; int|40.0 ns|<title>Rust: 0.25x</title>|<title>Python: 500x</title>",
		"summary.svg": "int in, int out|tvmffi 40.0 ns|>cgo<|>3.00x<|>Rust<|>0.25x<|>Python<|>500x<",
	} {
		for _, part := range append(strings.Split(want, "|"), "1970-01-01", "A machine, 2 CPUs, linux/amd64", "Time relative to tvmffi") {
			if !strings.Contains(files[name], part) {
				t.Errorf("%s lacks %q:\n%s", name, part, files[name])
			}
		}
		if strings.Contains(files[name], "Go library") {
			t.Errorf("%s compares the library that Python calls with Python:\n%s", name, files[name])
		}
		for d := xml.NewDecoder(strings.NewReader(files[name])); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v\n%s", err, files[name])
			}
		}
	}
	if _, err := pictures("# Benchmark of 1970-01-01\n\nnothing\n"); err == nil {
		t.Error("results without a table have pictures")
	}
}

// TestPictures_current: the pictures in the repository show the latest results, the small one has all its rows, and
// the README says the same of the first one.
func TestPictures_current(t *testing.T) {
	text, err := latest("results")
	if err != nil {
		t.Fatal(err)
	}
	files, err := pictures(text)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("results", name))
		if err != nil || string(got) != want {
			t.Errorf("results/%s is not the picture of the latest results: run bench/run -draw (%v)", name, err)
		}
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, paragraph, _ := strings.Cut(string(readme), "(bench/results/summary.svg)\n\n")
	paragraph, _, _ = strings.Cut(paragraph, "\n\n")
	r, err := record(text)
	if err != nil {
		t.Fatal(err)
	}
	first := r.picked()[0]
	for _, d := range first.dots {
		if want := number(d.ratio) + "x in " + d.title; !strings.Contains(paragraph, first.time) || !strings.Contains(paragraph, want) {
			t.Errorf("below the picture the README does not say %s or %s:\n%s", first.time, want, paragraph)
		}
	}
	for _, r := range summaryRows {
		if !strings.Contains(files["summary.svg"], r.title) {
			t.Errorf("the small picture lacks %q", r.title)
		}
	}
}
