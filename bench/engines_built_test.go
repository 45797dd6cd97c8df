//go:build tvm

package main

import (
	"slices"
	"testing"
)

// TestTVMEngines: the peers of the engines start with the pinned libraries, and have the rows that the table compares.
func TestTVMEngines(t *testing.T) {
	tree := testTree(t)
	f, err := tree.engineFiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := tree.engineTeam(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	defer all.stop() // before the context of the test ends, which kills them
	for _, r := range engineRows {
		if !slices.Contains(all.peer("ours").items, r.name) {
			t.Errorf("ours lacks the row %s", r.name)
		}
	}
	for _, g := range all.goals {
		if !slices.Contains(all.peer(g.peer).items, g.peerItem) {
			t.Errorf("%s lacks %s, which the target of %s compares with", g.peer, g.peerItem, g.item)
		}
	}
}
