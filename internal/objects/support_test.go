package objects_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

var loadOnce nativetest.Once

func load(t testing.TB) {
	t.Helper()
	loadOnce.Do(t, func() {
		if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
			t.Fatal(err)
		}
	})
	if !capi.Attached() {
		t.Fatal("the library did not load")
	}
}

// inPlace skips a test where this path does not build arrays in place.
func inPlace(t *testing.T) {
	load(t)
	if ccall.ReleaseArray() == 0 {
		t.Skip("without assembly no array is built in place")
	}
}
