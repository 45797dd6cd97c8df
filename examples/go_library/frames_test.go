//go:build e2e

package golibrary

import (
	"path/filepath"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestFrames gives the Python package columns of pandas, polars and Arrow.
func TestFrames(t *testing.T) {
	dir := pythonPackage(t, "testdata/columns")
	run(t, nil, nativetest.Frames(t), filepath.Join("testdata", "columns.py"), "frames", dir)
}
