package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/bindings"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/files"
	"github.com/tvmffi-go/tvmffi/gen"
	"github.com/tvmffi-go/tvmffi/schema"
)

// fullReport is what --report writes.
type fullReport struct {
	Tool      string            `json:"tool"`
	Package   string            `json:"package"` // import path
	Libraries []schema.Library  `json:"libraries"`
	Files     []reportedFile    `json:"files"`
	Timings   []bindings.Timing `json:"timings"`
	gen.Report
}

type reportedFile struct {
	Path  string `json:"path"` // relative to the output folder
	Bytes int    `json:"bytes"`
}

// WriteJSON writes the whole report as JSON to a file, or to standard output for "-".
func WriteJSON(con *console.Console, file string, b *bindings.Result) error {
	r := fullReport{Tool: console.Version(), Package: b.ImportPath, Libraries: b.Schema.Libraries, Timings: b.Timings, Report: b.Report}
	for _, name := range slices.Sorted(maps.Keys(b.Files)) {
		r.Files = append(r.Files, reportedFile{name, len(b.Files[name])})
	}
	if file == "-" {
		return con.JSON(r)
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return files.WriteOne(file, append(data, '\n'), isReport)
}

func isReport(data []byte) bool {
	var r fullReport
	return json.Unmarshal(data, &r) == nil && r.Tool != ""
}

// Summarize writes a summary of b to standard error.
func Summarize(con *console.Console, b *bindings.Result, timing bool) {
	if b.Kernels > 0 {
		con.Notef("%s -> %s (%s)\n", console.Count(b.Kernels, "kernel"), console.Shown(b.Root), console.Count(len(b.Files), "file"))
		return
	}
	counts := map[gen.Kind]map[gen.Status]int{}
	byStatus := map[gen.Status][]gen.Entry{}
	for _, e := range b.Report.Entries {
		byStatus[e.Status] = append(byStatus[e.Status], e)
		if e.Status == gen.Weakened {
			continue // nobody asked for it
		}
		if counts[e.Kind] == nil {
			counts[e.Kind] = map[gen.Status]int{}
		}
		counts[e.Kind][e.Status]++
	}
	w := table.NewWriter()
	w.SetStyle(plainTable())
	w.AppendHeader(table.Row{"", "generated", "opaque", "in runtime", "skipped"})
	for _, kind := range slices.SortedFunc(maps.Keys(counts), byKind) {
		n := counts[kind]
		w.AppendRow(table.Row{string(kind) + "s", n[gen.Generated], n[gen.Opaque], n[gen.InRuntime], n[gen.Skipped]})
	}
	con.Notef("%s -> %s (%d files)\n%s\n", BoundNames(b.Schema), console.Shown(b.Root), len(b.Files), trimLines(w.Render()))
	if n := packed(b.Report.Entries); n > 0 {
		con.Notef("%s without a signature in the library: their arguments are ...any\n", console.Count(n, "function"))
	}
	list := func(title string, entries []gen.Entry, why func(gen.Entry) string) {
		lines := make([]string, len(entries))
		for i, e := range entries {
			lines[i] = fmt.Sprintf("%s %s%s: %s", e.Kind, e.Name, e.Overload, why(e))
		}
		con.List(title, "--report", lines)
	}
	reason := func(e gen.Entry) string { return cmp.Or(e.Reason, e.Note) }
	list("renamed", renamed(b.Report.Entries), func(e gen.Entry) string { return e.GoName + " in Go, because " + e.Renamed })
	list("weaker types (bind their namespaces by prefixes, or name the packages that bind them under external)", byStatus[gen.Weakened], reason)
	list("opaque", byStatus[gen.Opaque], reason)
	list("packed because of bad metadata", flawed(b.Report.Entries), reason)
	list("skipped", byStatus[gen.Skipped], reason)
	list("names that do not fit", misnamed(b.Report.Entries), func(e gen.Entry) string { return e.LeftOut })
	if unused := b.Report.Unused; len(unused) > 0 {
		con.Notef("names for %s that the libraries do not have: %s\n", console.Count(len(unused), "item"), console.Few(unused))
	}
	if timing {
		for _, x := range b.Timings {
			con.Notef("%-9s %6.0f ms\n", x.Stage, x.Seconds*1000)
		}
	}
}

// Changes says on standard error how the libraries, their names and the exported Go declarations differ from the run before.
func Changes(con *console.Console, b *bindings.Result) {
	for _, line := range append(b.Changes(), b.Notes...) {
		con.Notef("%s\n", line)
	}
	con.List("changes for callers", "git diff", b.GoChanges())
}

// byKind orders the kinds of entries as a reader expects them.
func byKind(a, b gen.Kind) int {
	order := []gen.Kind{gen.KindFunction, gen.KindType, gen.KindConstructor, gen.KindMethod, gen.KindField}
	return slices.Index(order, a) - slices.Index(order, b)
}

func renamed(entries []gen.Entry) []gen.Entry {
	var out []gen.Entry
	for _, e := range entries {
		if e.Renamed != "" {
			out = append(out, e)
		}
	}
	return out
}

func packed(entries []gen.Entry) int {
	n := 0
	for _, e := range entries {
		if e.Packed && e.Status == gen.Generated {
			n++
		}
	}
	return n
}

// flawed returns the functions and methods that are packed for a reason.
func flawed(entries []gen.Entry) []gen.Entry {
	var out []gen.Entry
	for _, e := range entries {
		if e.Packed && e.Status == gen.Generated && e.Note != "" {
			out = append(out, e)
		}
	}
	return out
}

// misnamed returns the items for which names files hold something that does not fit.
func misnamed(entries []gen.Entry) []gen.Entry {
	var out []gen.Entry
	for _, e := range entries {
		if e.LeftOut != "" {
			out = append(out, e)
		}
	}
	return out
}
