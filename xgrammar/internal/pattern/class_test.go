package pattern

import (
	"testing"
	"unicode"
)

// TestCategories compares the table with that of Go's release, in the runes that both have.
func TestCategories(t *testing.T) {
	of := make([]string, unicode.MaxRune+1)
	for _, name := range names {
		for _, in := range Category(name) {
			for r := in.Low; r <= in.High; r++ {
				of[r] += name
			}
		}
	}
	differ := 0
	for r, name := range of {
		if len(name) != 2 {
			t.Fatalf("U+%04X has the categories %q, want one", r, name)
		}
		if table := unicode.Categories[name]; name != "Cn" && !unicode.Is(table, rune(r)) && unicode.In(rune(r), unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Co) {
			t.Logf("U+%04X has the category %s, and another one in Go's tables of Unicode %s", r, name, unicode.Version)
			differ++
		}
	}
	if differ > 10 { // U+1171E has another one since Unicode 16
		t.Errorf("%d runes have other categories than in Go's tables", differ)
	}
	// Letters that Unicode 16 added, and one of Unicode 17.
	letters := NewClass(Category("L"), false)
	for r, want := range map[rune]bool{0x1c89: true, 0xa7da: true, 0x105c0: true, 0x2ebf0: true, 0xa7ce: false} {
		if letters.Has(r) != want {
			t.Errorf("U+%04X is a letter: %t", r, !want)
		}
	}
}
