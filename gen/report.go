package gen

import (
	"cmp"
	"slices"

	"github.com/tvmffi-go/tvmffi/gen/config"
	"github.com/tvmffi-go/tvmffi/gen/internal/classify"
	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/schema"
)

// The kinds of entries of a report.
const (
	KindFunction    = plan.KindFunction
	KindType        = plan.KindType
	KindField       = plan.KindField
	KindMethod      = plan.KindMethod
	KindConstructor = plan.KindConstructor
)

// The statuses of entries of a report.
const (
	Generated = plan.Generated // bound with its exact types
	Opaque    = plan.Opaque    // bound, but untyped
	InRuntime = plan.InRuntime // package tvmffi has it
	Skipped   = plan.Skipped   // not bound
	Weakened  = plan.Weakened  // a type that was not asked for: signatures have an ancestor instead
)

// Kind is the kind of an entry.
type Kind = plan.Kind

// Status is the outcome for an item.
type Status = plan.Status

// Entry is the outcome for one item of the schema.
type Entry = plan.Entry

// Span is a piece of a Go declaration, which may name a type.
type Span = plan.Span

// GoNames says what the exported names of generated packages stand for.
type GoNames = config.GoNames

// Meaning is a Go name that stands for another item than before. Callers of it may compile and do
// something else.
type Meaning = plan.Meaning

// Report is the outcome for everything that a config asks for.
type Report struct {
	Counts  []Count `json:"counts"`
	Entries []Entry `json:"entries"` // sorted by kind and name
	// Unused are the items of names files that the schema does not have, sorted.
	Unused []string `json:"unused_names,omitempty"`
	// Meanings are the names of Config.Before that stand for other items now, sorted.
	Meanings []Meaning `json:"changed_meanings,omitempty"`
	// Names are all exported names, for Config.Before of the next run.
	Names GoNames `json:"-"`
}

// Count is the number of entries of one kind and status.
type Count struct {
	Kind   Kind   `json:"kind"`
	Status Status `json:"status"`
	Number int    `json:"number"`
	// Packed counts those without a signature, and Renamed those whose Go name is not
	// the converted registry name.
	Packed  int `json:"packed,omitempty"`
	Renamed int `json:"renamed,omitempty"`
}

func newReport(items *classify.Items) Report {
	r := Report{Unused: items.Unused, Meanings: items.Meanings, Names: items.Names}
	entries := items.Entries
	for _, f := range items.Schema.Flaws {
		// Flaws of a library that is not bound do not matter here.
		if slices.ContainsFunc(items.Schema.Libraries, func(l schema.Library) bool { return l.File == f.Library && l.Role == schema.RoleBound }) {
			entries = append(entries, &Entry{Kind: Kind(f.Kind), Name: f.Name, Status: Skipped, Reason: f.Reason})
		}
	}
	for _, e := range entries {
		r.Entries = append(r.Entries, *e)
		c := r.count(e.Kind, e.Status)
		c.Number++
		if e.Packed {
			c.Packed++
		}
		if e.Renamed != "" {
			c.Renamed++
		}
	}
	slices.SortFunc(r.Counts, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Status, b.Status))
	})
	return r
}

// count returns the count of a kind and status, adding it if it is new.
func (r *Report) count(kind Kind, status Status) *Count {
	for i := range r.Counts {
		if c := &r.Counts[i]; c.Kind == kind && c.Status == status {
			return c
		}
	}
	r.Counts = append(r.Counts, Count{Kind: kind, Status: status})
	return &r.Counts[len(r.Counts)-1]
}
