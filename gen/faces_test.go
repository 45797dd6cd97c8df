package gen

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/gen/internal/cppface"
	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/gen/internal/pyface"
	"github.com/tvmffi-go/tvmffi/gen/internal/rustface"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// TestFaces_kinds checks that the table of each language has a row for each kind, and that a kind without one is an
// error with its name.
func TestFaces_kinds(t *testing.T) {
	for k := range crossing.Exported {
		for language, has := range map[string]bool{"Python": pyface.Kinds.Has(k), "C++": cppface.Kinds.Has(k), "Rust": rustface.Kinds.Has(k)} {
			if !has {
				t.Errorf("%s has no row for the kind %v", language, k)
			}
		}
	}
	defer func() {
		if text, want := recover(), "face.Table[int] has no row for the kind Iterator"; text != want {
			t.Errorf("a missing row: %v, want %q", text, want)
		}
	}()
	face.Table[int]{}.Row(crossing.Exported - 1)
}
