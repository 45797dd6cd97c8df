//go:build tvm

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTVMConsumers: the programs of the table of consumers build, and each gives its result.
func TestTVMConsumers(t *testing.T) {
	bench := testTree(t)
	all, err := bench.consumerFiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, peers := range all {
		for _, c := range peers {
			t.Run(consumers[i].name+"/"+c.peer, func(t *testing.T) {
				if c.dir != "" {
					c.command = []string{filepath.Join(t.TempDir(), "program")}
					if _, err := c.build(t.Context(), strings.TrimSpace(string(cache)), c.command[0]); err != nil {
						t.Fatal(err)
					}
				}
				k := new(cost)
				if err := c.start(t.Context(), k); err != nil {
					t.Fatal(err)
				}
				if k.rss[0] <= 0 || k.hwm[0] < k.rss[0] {
					t.Errorf("%g MB at rest, and %g MB at most", k.rss[0], k.hwm[0])
				}
			})
		}
	}
}
