package main

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// testTree returns the tree of this repository, whose root becomes the working directory.
func testTree(t *testing.T) *tree {
	t.Helper()
	t.Chdir("..")
	tree, err := newTree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// planted holds three runs of an item. A neighbour disturbed ours in the second run and
// both sides in the third.
func planted(item string, ours, peer float64) measurements {
	return measurements{
		{item, "ours", item}: undisturbed(ours, 3*ours, 2*ours),
		{item, "cpp", item}:  undisturbed(peer, peer, 2*peer),
	}
}

// undisturbed makes runs of these times.
func undisturbed(ns ...float64) *samples {
	s := &samples{ns: ns}
	for range ns {
		s.allocs, s.quiet = append(s.allocs, 0), append(s.quiet, true)
	}
	return s
}

func TestTimes(t *testing.T) {
	for o, want := range map[options]bool{
		{times: 1}: true, {times: 1, check: true}: true, {times: 2, check: true}: true,
		{times: 2}: false, {times: 0.5}: false, {times: 0.5, check: true}: false,
	} {
		if o.judged() != want {
			t.Errorf("-times %v, -check %t: accepted: %t", o.times, o.check, !want)
		}
	}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		times       float64 // of C++; the target of map_lookup is 1.8
		met, beyond bool    // beyond twice the target
	}{
		{1.7, true, false},
		{1.9, false, false},
		{3.5, false, false},
		{3.7, false, true},
	} {
		all := planted("map_lookup", 10*c.times, 10).judge()
		if len(all) != 1 || all[0].met() != c.met || all[0].beyond(1) == c.met || all[0].beyond(2) != c.beyond {
			t.Errorf("%v times: %+v", c.times, all)
		}
		if got := failures(all, 2); (len(got) == 1 && got[0].name == "map_lookup") != c.beyond {
			t.Errorf("%v times: failures %v", c.times, got)
		}
		if text := judgements(all); strings.Contains(text, "| **missed** |") == c.met {
			t.Errorf("%v times: %s", c.times, text)
		}
	}
	m := planted("int", 1, 1)
	m[key{"int", "ours", "int"}].allocs = []float64{1, 1, 1}
	if all := m.judge(); len(all) != 1 || !all[0].beyond(2) {
		t.Errorf("an allocation: %+v", all)
	}
}

// TestRatio: what slows both sides of a run does not count, nor does a run that is off.
func TestRatio(t *testing.T) {
	m := measurements{
		{"int", "ours", "int"}: undisturbed(90, 60, 20, 44, 63),
		{"int", "cpp", "int"}:  undisturbed(10, 30, 10, 11, 30),
	}
	if got, ok := m.ratio("int", "cpp", "int"); !ok || got != 2.1 {
		t.Errorf("%v, %v, want 2.1", got, ok)
	}
	m[key{"int", "ours", "int"}].quiet = []bool{true, true, true, false, false}
	m[key{"int", "cpp", "int"}].quiet = []bool{false, true, false, true, true}
	if got, _ := m.ratio("int", "cpp", "int"); got != 2 {
		t.Errorf("%v, want 2, from the only run in which both were undisturbed", got)
	}
	m[key{"int", "cpp", "int"}].quiet = make([]bool, 5)
	if got, _ := m.ratio("int", "cpp", "int"); got != 2.1 {
		t.Errorf("%v, want 2.1, from all runs", got)
	}
	if _, ok := m.ratio("int", "rust", "int"); ok {
		t.Error("a peer that was not measured has a ratio")
	}
}

// TestAdd: a run counts with its undisturbed batches.
func TestAdd(t *testing.T) {
	s := &samples{}
	s.add(&samples{ns: []float64{9, 1, 8, 3, 7}, allocs: []float64{0, 2, 0, 2, 2}, quiet: []bool{false, true, false, true, false}})
	s.add(&samples{ns: []float64{9, 1, 8}, allocs: []float64{0, 0, 0}, quiet: make([]bool, 3)})
	if !slices.Equal(s.ns, []float64{2, 8}) || !slices.Equal(s.allocs, []float64{2, 0}) || !slices.Equal(s.quiet, []bool{true, false}) {
		t.Errorf("%+v", s)
	}
}

// TestScaling: where two threads miss their target, the table says how C++ scales there.
func TestScaling(t *testing.T) {
	m := planted("threads2", 8, 5)
	m[key{"threads2", "ours", "int"}] = undisturbed(10, 10, 10)
	for times, want := range map[float64]string{10: "| **missed** |", 7: "| **missed**; C++ is 1.40 times as fast on two threads |"} {
		m[key{"int", "cpp", "int"}] = undisturbed(times)
		if text := judgements(m.judge()); !strings.Contains(text, want) {
			t.Errorf("C++ scales %v times: no %q in\n%s", m.scaling(), want, text)
		}
	}
}

// TestJudge_rivals: the fastest rival counts.
func TestJudge_rivals(t *testing.T) {
	m := planted("field_object", 10, 1)
	for name, ns := range map[string]float64{"python": 30, "cgo": 8, "purego": 20} {
		m[key{"field_object", name, "field_object"}] = undisturbed(ns, ns, 2*ns)
	}
	all := m.judge()
	if len(all) != 1 || all[0].got != 1.25 || !strings.Contains(all[0].what, "cgo") || all[0].met() {
		t.Errorf("%+v", all)
	}
}

// TestHosts: where a peer calls ours, both figures are of that peer, which is not a rival.
func TestHosts(t *testing.T) {
	m := measurements{}
	m[key{"exported", "python", "exported"}] = undisturbed(100)
	m[key{"exported", "python", "exported.go"}] = undisturbed(160)
	all := m.judge()
	if len(all) != 1 || all[0].got != 1.6 || all[0].what != "times C++" || !all[0].met() {
		t.Errorf("%+v", all)
	}
}

// TestGoals: every target is for an item and compares it with one that exists.
func TestGoals(t *testing.T) {
	for _, g := range goals {
		_, ok := itemOf(g.item)
		_, ok2 := itemOf(strings.TrimSuffix(g.peerItem, variants[g.peer]))
		if !ok || !ok2 || !slices.Contains(peerNames, g.peer) {
			t.Errorf("%+v names what does not exist", g)
		}
	}
	for name := range allocations {
		if _, ok := itemOf(name); !ok {
			t.Errorf("no item is called %s", name)
		}
	}
}

// TestWithLoad: rows that need two cores are left out with a message.
func TestWithLoad(t *testing.T) {
	if rows, reason := withLoad(items, 0.9, 2); len(rows) != len(items) || reason != "" {
		t.Errorf("a free machine: %d rows, %q", len(rows), reason)
	}
	rows, reason := withLoad(items, 1.1, 2)
	if len(rows) != len(items)-1 || slices.ContainsFunc(rows, func(r row) bool { return r.name == "threads2" }) {
		t.Errorf("a machine at work: %v", rows)
	}
	if !strings.Contains(reason, "int -> int on 2 threads") || !strings.Contains(reason, "1.10") {
		t.Errorf("the reason: %q", reason)
	}
}

// TestGeneration: the ratio is of the runs, each process counts, and both targets can be missed.
func TestGeneration(t *testing.T) {
	g := &generation{bound: bound{title: "roses", times: 2, memory: 100}, stages: map[string][]float64{"typecheck": {4, 6}}, order: []string{"typecheck"}}
	g.ours = []usage{{cpu: 3, memory: 90}, {cpu: 1, memory: 95}, {cpu: 9, memory: 80}}
	g.stubgen = []usage{{cpu: 1, memory: 10}, {cpu: 1, memory: 10}, {cpu: 9, memory: 10}}
	g.again = []usage{{cpu: 0.5}, {cpu: 0.2}, {cpu: 0.9}}
	if got := g.missed(1); got != "" || g.ratio() != 1 {
		t.Errorf("%q, ratio %v", got, g.ratio())
	}
	if text := generationTable([]*generation{g}); !strings.Contains(text, "| roses | 3.00 s | 1.00 s | 1.00 | 2 | 90 MB | 10 MB | 100 MB | met |") || !strings.Contains(text, "- roses: typecheck 5 ms\n") ||
		!strings.Contains(text, "- roses: 0.50 s, 0.20 times as long") {
		t.Error(text)
	}
	g.times, g.memory = 0.5, 50
	if got := g.missed(1); !strings.Contains(got, "1.00 times as long") || !strings.Contains(got, "90 MB for roses") {
		t.Error(got)
	}
	if got := g.missed(2); got != "" {
		t.Error(got)
	}
}

// TestUsed measures a process that does nothing.
func TestUsed(t *testing.T) {
	printed, u, err := used(t.Context(), t.TempDir(), "a library", os.Args[0], "-test.run=TestNothing", "-test.v")
	if err != nil || u.cpu <= 0 || u.memory < 1 && runtime.GOOS != "windows" {
		t.Errorf("%q, %+v, %v", printed, u, err)
	}
}
