package source

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// TestBases: the bases that a directive may name are the kinds that the runtime knows.
func TestBases(t *testing.T) {
	if d := cmp.Diff(slices.Sorted(maps.Keys(failure.Builtins)), bases); d != "" {
		t.Errorf("the kinds of package failure (-) and the bases (+) differ:\n%s", d)
	}
}
