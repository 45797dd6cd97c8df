package golibrary

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestExits calls, from Python and C++, funcs of all forms that end their goroutine: each call is an error. TestRust_forms
// does so from Rust.
func TestExits(t *testing.T) {
	dir := exported(t, "testdata/exits")
	for version, python := range nativetest.Pythons(t) {
		t.Run(version, func(t *testing.T) {
			out := run(t, nil, python, filepath.Join("testdata", "exits.py"), filepath.Join(dir, "python"))
			if !strings.HasSuffix(out, "all right\n") {
				t.Error(out)
			}
			t.Log("\n" + out)
		})
	}
	t.Run("cpp", func(t *testing.T) {
		compile, link := prepared(t)
		program, lib := filepath.Join(t.TempDir(), "exits"), filepath.Join(dir, "cpp", "lib")
		args := slices.Concat([]string{"-std=c++17"}, strict, compile, []string{
			"-I" + filepath.Join(dir, "cpp", "include"), filepath.Join("testdata", "cpp", "exits.cc"), "-o", program,
			"-L" + lib, "-lexits", "-Wl,-rpath," + lib,
		}, link)
		run(t, nil, nativetest.Compiler(t), args...)
		if out := run(t, nil, program); out != "all right\n" {
			t.Error(out)
		}
	})
}
