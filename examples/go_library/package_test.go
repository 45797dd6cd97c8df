package golibrary

import (
	"path/filepath"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// pythonPackage returns the folder that holds the Python package of a Go package.
func pythonPackage(t testing.TB, name string) string {
	t.Helper()
	return filepath.Join(exported(t, name), "python")
}

// TestPackage uses the Python package.
func TestPackage(t *testing.T) {
	dir := pythonPackage(t, "golib")
	python := nativetest.Python(t)
	for _, tests := range []string{
		"functions,docs,results,forms,iterators,arguments,scalars,containers,nested,records,shapes,tensors,classes,gauges,errors,declared,derived,opaque,unmade,asynchronous,again",
		"untyped", "portable,untyped",
		"quick", "loading", "clash", "early", // these are about a process in which nothing has happened
	} {
		t.Run(tests, func(t *testing.T) {
			run(t, nil, python, filepath.Join("testdata", "package.py"), tests, dir)
		})
	}
	// What type checkers accept works.
	run(t, []string{"PYTHONPATH=" + dir}, python, filepath.Join("testdata", "stubs", "right.py"))
	// The code in C has to know the form of values of each Python.
	for version, python := range nativetest.Pythons(t) {
		t.Run("plain "+version, func(t *testing.T) {
			run(t, nil, python, filepath.Join("testdata", "package.py"), "plain,records,shapes,arrays,buffers,callbacks,constructors,weak,native,unsigned,untyped", dir)
		})
	}
}

// TestPaint uses the Python package of a library with enums, comparisons and reserved names.
func TestPaint(t *testing.T) {
	dir := pythonPackage(t, "testdata/paint")
	run(t, nil, nativetest.Python(t), filepath.Join("testdata", "paint.py"), dir)
}

// TestSame gets back the object that Python has for a value of Go, on all ways.
func TestSame(t *testing.T) {
	dir := pythonPackage(t, "testdata/classes")
	for version, python := range nativetest.Pythons(t) {
		t.Run(version, func(t *testing.T) {
			run(t, []string{"PYTHONMALLOC=debug"}, python, "-X", "dev", filepath.Join("testdata", "same.py"), dir)
		})
	}
}

// TestColumns gives the Python package arrays of NumPy, and buffers that lie about their sizes.
func TestColumns(t *testing.T) {
	dir := pythonPackage(t, "testdata/columns")
	run(t, nil, nativetest.Python(t), filepath.Join("testdata", "columns.py"), "durations,numbers,exact,formats,fields,texts,deep,liars,large", dir)
}

// BenchmarkPackage compares calls through the Python package with calls of the same functions
// without it, in turn and in one process.
func BenchmarkPackage(b *testing.B) {
	dir := pythonPackage(b, "golib")
	for version, python := range nativetest.Pythons(b) {
		b.Run(version, func(b *testing.B) {
			for b.Loop() {
				b.Log("\n" + run(b, nil, python, filepath.Join("testdata", "package_bench.py"), dir))
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
