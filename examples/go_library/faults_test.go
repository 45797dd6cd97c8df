//go:build linux

package golibrary

import (
	"path/filepath"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestFaults has nil dereferences in Go, and faults in C, with the handlers that Python installs before and after the library.
func TestFaults(t *testing.T) {
	dir := pythonPackage(t, "golib")
	for version, python := range nativetest.Pythons(t) {
		t.Run(version, func(t *testing.T) {
			run(t, nil, python, filepath.Join("testdata", "faults.py"), dir, library(t, "words"))
		})
	}
}
