package main

import (
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/schema"
)

// TestGrowth judges curves, and reads the interface that is generated.
func TestGrowth(t *testing.T) {
	curve := func(of func(n float64) float64) (all []usage) {
		for _, n := range grown {
			all = append(all, usage{0.3 + of(float64(n)), 40 + of(float64(n))})
		}
		return all
	}
	if err := steep(grown, curve(func(n float64) float64 { return n / 1000 })); err != nil {
		t.Error("a line:", err)
	}
	err := steep(grown, curve(func(n float64) float64 { return n * n / 1e6 }))
	if err == nil || strings.Count(err.Error(), "times that of") != 4 {
		t.Error("a square:", err)
	}
	text, err := schema.Encode(library(1001))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := schema.Decode(text); err != nil || len(s.Functions) != 1001 || s.Functions[1000].Name != "grown.s1.f001000" {
		t.Error(len(s.Functions), err)
	}
}
