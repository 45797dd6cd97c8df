package define_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
)

// TestReferencesOfNewObject: an object has one strong reference and the weak one that all
// strong ones share; without that its memory is never freed.
func TestReferencesOfNewObject(t *testing.T) {
	x := runtimetest.NewPoint(t, runtimetest.Point{X: 1})
	defer x.Release()
	const one = 1<<32 | 1
	handle, err := fields.Create(capi.InfoOf(objects.StateOf(x).TypeIndex()))
	if err != nil || handle == 0 {
		t.Fatal(handle, err)
	}
	defer objects.DecRef(handle)
	for what, at := range map[string]uintptr{"New": objects.StateOf(x).Handle(), "the creator": handle} {
		if n := *capi.PointerTo[uint64](at); n != one {
			t.Errorf("%s: the references are %#x, want %#x", what, n, uint64(one))
		}
	}
}
