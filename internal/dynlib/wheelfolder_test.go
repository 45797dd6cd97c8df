package dynlib

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The libraries that a wheel brings are found by its RECORD, and those of other wheels in the same folder are not.
func TestWheelFolders(t *testing.T) {
	root := filepath.Join(t.TempDir(), "a b [x] äö")
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	library := write("sample/lib/sample.dll", "")
	other := write("other/other.dll", "")
	none := write("none/none.dll", "")
	want := filepath.Dir(write("sample_kit.libs/runtime.dll", ""))
	wantOther := filepath.Dir(write("other.libs/runtime.dll", ""))
	write("sample_kit-1.0.dist-info/RECORD", "sample/lib/sample.dll,sha256=x,1\nsample_kit.libs/runtime.dll,,\n")
	write("other-1.0.dist-info/RECORD", "x,,\nother/other.dll,,\n")
	for path, want := range map[string][]string{library: {want}, other: {wantOther}, none: nil, filepath.Join(root, "missing", "x.dll"): nil} {
		if got := WheelFolders(path); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}
