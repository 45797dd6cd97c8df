package nativetest

import (
	"path/filepath"
	"testing"
)

// FakeCUDA returns the path of a CUDA driver without a GPU, made of testdata/fakecuda and
// more files below testdata.
func FakeCUDA(t testing.TB, more ...string) string {
	t.Helper()
	if Packed() != "" {
		return packed(t, "fake/libfakecuda.so")
	}
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	headers, err := filepath.Glob(filepath.Join(root, "testdata", "fakecuda", "*.h"))
	if err != nil || len(headers) == 0 {
		t.Fatalf("no headers of the driver without a GPU: %v", err)
	}
	for i, h := range headers {
		headers[i] = "fakecuda/" + filepath.Base(h)
	}
	return Build(t, "fakecuda/fakecuda", Sources(append(headers, more...)...), Standalone(), Flags("-ldl"))
}

// NoopCUDA returns the path of a CUDA driver all of whose functions return at once, for measurements.
func NoopCUDA(t testing.TB) string {
	t.Helper()
	return Build(t, "fakecuda/noop", Standalone(), Flags("-O2"))
}
