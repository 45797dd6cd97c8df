package objects_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

var loadOnce nativetest.Once

func load(t testing.TB) {
	t.Helper()
	loadOnce.Do(t, func() {
		library, err := dynlib.Open(nativetest.Library(t))
		if err != nil {
			t.Fatal(err)
		}
		if missing := capi.Attach(library, func() {}); missing != nil {
			t.Fatal("the library lacks", missing)
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
