package main

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestSlope(t *testing.T) {
	// 40 instructions for an operation, 90 around them, and 5000 once.
	if got := slope([]int{250, 330, 410, 5490, 5570, 5650, 5730}, 2); got != 40 {
		t.Errorf("%d, want 40", got)
	}
}

// instructions is how many instructions of this module and of the runtime of Go an operation takes, by linux/amd64 and Go 1.26.
// A change that needs more says why in its commit. Other releases of Go may need a tenth more.
var instructions = map[string]map[string]int{
	"ours": {
		"int": 397, "objects3": 544, "string32": 893, "field_int": 32, "field_getter": 477, "field_object": 539, "wrap": 1028,
		"create": 1096, "callback": 596, "callback_make": 1196,
	},
	"light": {"int": 174, "field_getter": 252, "objects3": 321, "string32": 670},
}

// refill is how many more an operation may need: an allocation takes 23 more at some places of a span.
const refill = 25

// recounts is how often a row above its number is counted again: two refills may fall into one count, and what a row needs stands
// in every count.
const recounts = 5

// TestCounts: no row needs more instructions than recorded. The libraries in C do not count, as every system has others.
func TestCounts(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out what starts a compiler")
	}
	if !canStep {
		t.Skip("instructions are counted on linux/amd64 only")
	}
	tree := testTree(t)
	library, err := tree.library(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tree.cache = t.TempDir()
	if err := os.Mkdir(filepath.Join(tree.cache, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, all := range instructions {
		command, err := tree.build(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		p := &peer{name: name, args: append(command, tree.wheel.Library(), library), env: []string{"GOGC=off"}}
		if err := p.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer p.stop()
		for _, item := range slices.Sorted(maps.Keys(all)) { // after a callback, an object takes more
			most := all[item]
			if !strings.HasPrefix(runtime.Version(), "go1.26") {
				most += most / 10
			}
			f, err := p.count(t.Context(), item)
			for again := 0; err == nil && f.own > most+refill && again < recounts; again++ {
				t.Logf("%s, %s: %d instructions, counted again", name, item, f.own)
				f, err = p.count(t.Context(), item)
			}
			if err != nil && strings.Contains(err.Error(), refused) {
				t.Skip(refused)
			}
			if err != nil {
				t.Fatal(err)
			}
			if f.own > most+refill {
				t.Errorf("%s, %s: %d instructions, %d are recorded", name, item, f.own, most)
			} else {
				t.Logf("%s, %s: %d instructions, %d are recorded", name, item, f.own, most)
			}
		}
	}
}
