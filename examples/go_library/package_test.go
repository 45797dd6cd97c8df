package golibrary

import (
	"path/filepath"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// pythonPackage returns the folder that holds the Python package of a Go package in a folder,
// made as docs/EXPORT.md says.
func pythonPackage(t testing.TB, folder string) string {
	t.Helper()
	library(t, "golib") // it says what is missing for building libraries
	dir := t.TempDir()
	upToDate(t, folder)
	run(t, nil, consumer.Tool(t), "export", folder, "--python", dir)
	return dir
}

// TestPackage uses the Python package.
func TestPackage(t *testing.T) {
	dir := pythonPackage(t, "./golib")
	python := nativetest.Python(t)
	for _, test := range []string{
		"functions", "docs", "results", "forms", "iterators", "arguments", "containers", "nested", "tensors", "classes", "errors", "declared",
		"derived", "opaque", "unmade", "asynchronous", "again", "quick", "loading", "clash",
	} {
		t.Run(test, func(t *testing.T) {
			run(t, nil, python, filepath.Join("testdata", "package.py"), test, dir)
		})
	}
	// The code in C has to know the form of values of each Python.
	for version, python := range nativetest.Pythons(t) {
		for _, test := range []string{"plain", "arrays", "callbacks", "constructors"} {
			t.Run("plain "+version+" "+test, func(t *testing.T) {
				run(t, nil, python, filepath.Join("testdata", "package.py"), test, dir)
			})
		}
	}
}

// TestPaint uses the Python package of a library with enums, comparisons and reserved names.
func TestPaint(t *testing.T) {
	dir := pythonPackage(t, "./testdata/paint")
	run(t, nil, nativetest.Python(t), filepath.Join("testdata", "paint.py"), dir)
}

// BenchmarkPackage compares calls through the Python package with calls of the same functions
// without it, in turn and in one process.
func BenchmarkPackage(b *testing.B) {
	dir := pythonPackage(b, "./golib")
	for version, python := range nativetest.Pythons(b) {
		b.Run(version, func(b *testing.B) {
			for b.Loop() {
				b.Log("\n" + run(b, nil, python, filepath.Join("testdata", "package_bench.py"), dir))
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
