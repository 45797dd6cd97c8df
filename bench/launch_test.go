package main

import (
	"slices"
	"strings"
	"testing"
)

// TestLaunchVerdicts: medians decide, a hair beyond the target is a miss, and the table
// names what was not measured.
func TestLaunchVerdicts(t *testing.T) {
	m := measurements{}
	set := func(row, peer, item string, ns ...float64) {
		m[key{row, peer, item}] = undisturbed(ns...)
	}
	set("empty", "cpp", "empty", 100, 200, 100)
	set("empty", "ours", "empty", 104, 104, 500)
	set("saxpy", "cpp", "saxpy", 100, 100, 100)
	set("saxpy", "ours", "saxpy", 90, 111, 111)
	set("busy2", "ours", "busy2", 50)
	set("busy2", "ours", "busy", 100)
	set("busy", "ours", "busy", 100)
	table, missed := m.launchVerdicts()
	for _, line := range []string{
		"| empty kernel of 3 arguments | times C++ | 1.05 | 1.040 | met |",
		"| empty kernel of 3 arguments | times CuPy | 0.6 |  | not measured |",
		"| saxpy of 256, typed and checked | times C++ | 1.05 | 1.110 | **missed** |",
		"per launch over both | times one stream | 0.556 | 0.500 | met |",
	} {
		if !strings.Contains(table, line+"\n") {
			t.Errorf("no line %q in\n%s", line, table)
		}
	}
	want := []string{ // not CuPy, which may be missing
		"the same, in `cuda.WithDevice`: not measured", "saxpy of 256, typed and checked, 1.110 times C++, at most 1.05",
		"the same, in `cuda.WithDevice`: not measured", "empty kernel on 2 streams from 2 threads, per launch over both: not measured",
		"graph of 20 empty kernels, in `cuda.WithDevice`: not measured",
	}
	if !slices.Equal(missed, want) {
		t.Errorf("missed: %q", missed)
	}
	if text := m.launchScaling(); !strings.Contains(text, "kernels per time against one: tvmffi 2.00.") {
		t.Errorf("%s", text)
	}
	if text := m.launchTable(); !strings.Contains(text, "| saxpy of 256, typed and checked | 100 | 111 (1.11x) 0a |  |") {
		t.Errorf("%s", text)
	}
}

// TestOverVerdict: a launch that is too slow, or allocates, is missed, and so is a benchmark without a result.
func TestOverVerdict(t *testing.T) {
	for _, c := range []struct {
		ns, allocs string
		times      float64
		missed     bool
		verdict    string
	}{
		{"44.50", "0", 1, false, "met"}, {"60.01", "0", 1, true, "missed"}, {"120.1", "0", 2, false, "missed"},
		{"44.50", "1", 2, true, "missed"}, {"44.50", "1", 1, true, "missed"},
	} {
		line, missed, err := overVerdict("goos: linux\nBenchmarkTyped-2   \t 21418\t "+c.ns+" ns/over\t 33 B/op\t "+c.allocs+" allocs/op\nPASS\n", c.times)
		if err != nil || missed != "" != c.missed || !strings.Contains(line, "ns over the crossing, at most 60, and "+c.allocs+" allocations, at most 0: ") ||
			!strings.Contains(line, c.verdict) {
			t.Errorf("%+v: %q, missed %q, %v", c, line, missed, err)
		}
	}
	if _, _, err := overVerdict("PASS\n", 1); err == nil || !strings.Contains(err.Error(), "printed no result") {
		t.Errorf("no result: %v", err)
	}
}
