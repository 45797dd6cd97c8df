//go:build windows

package dynlib_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// open loads a library until the end of the test: a file that is loaded cannot be removed.
func open(t *testing.T, path string) error {
	t.Helper()
	h, err := dynlib.Open(path)
	if err == nil {
		t.Cleanup(func() {
			if err := windows.FreeLibrary(windows.Handle(h)); err != nil {
				t.Error(err)
			}
		})
	}
	return err
}

// A wheel may bring libraries in a folder NAME.libs. They are found there, and one that is nowhere is in the error. The folders
// have names with spaces, with letters beyond ASCII and with a bracket.
func TestWheelLibraries(t *testing.T) {
	base := nativetest.BuildText(t, "brought", "extern \"C\" __declspec(dllexport) int brought() { return 7; }\n", nativetest.Standalone())
	needs := nativetest.BuildText(t, "bringer", "extern \"C\" int brought();\nextern \"C\" __declspec(dllexport) int bringer() { return brought(); }\n",
		nativetest.Standalone(), nativetest.Flags(base))
	top, err := os.MkdirTemp("", "wheel")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) }) // wine keeps a library open that it could not load
	root := filepath.Join(top, "a b [x] äö")
	put := func(name, from string) string {
		t.Helper()
		text := []byte(from)
		if filepath.IsAbs(from) {
			var err error
			if text, err = os.ReadFile(from); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	library := put("sample/lib/bringer.dll", needs)
	err = open(t, library)
	if !errors.Is(err, windows.ERROR_MOD_NOT_FOUND) || !strings.Contains(err.Error(), "; it needs "+filepath.Base(base)+", which Windows does not find") || !strings.Contains(err.Error(), "put it beside bringer.dll") || strings.Contains(err.Error(), ".;") {
		t.Fatalf("without the library: %v", err)
	}
	put("sample.libs/"+filepath.Base(base), base)
	if err := open(t, library); err == nil {
		t.Fatal("a folder that no RECORD explains was searched")
	}
	put("sample-1.0.dist-info/RECORD", "sample/lib/bringer.dll,,\n")
	if err := open(t, library); err != nil {
		t.Fatal(err)
	}
}

// A path of more than 260 characters, and one with a slash, lead to the library.
func TestPaths(t *testing.T) {
	built := nativetest.BuildText(t, "farther", "extern \"C\" __declspec(dllexport) int farther() { return 1; }\n", nativetest.Standalone())
	text, err := os.ReadFile(built)
	if err != nil {
		t.Fatal(err)
	}
	top := t.TempDir()
	for i, path := range []string{
		filepath.Join(top, strings.Repeat(strings.Repeat("x", 60)+`\`, 5), "long0.dll"),
		filepath.ToSlash(filepath.Join(top, "slash1.dll")),
		filepath.Join(top, "UPPER", "Case2.DLL"),
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600)); err != nil {
			t.Fatal(err)
		}
		if err := open(t, path); err != nil {
			t.Errorf("%d: a path of %d characters: %v", i, len(path), err)
		}
	}
}

// A name without a folder leads to a library of the system, whether or not it is loaded.
func TestSystemLibrary(t *testing.T) {
	for range 2 {
		if err := open(t, "lz32.dll"); err != nil {
			t.Error(err)
		}
	}
	if err := open(t, "nowhere-to-be-found.dll"); !errors.Is(err, windows.ERROR_MOD_NOT_FOUND) {
		t.Errorf("a library that does not exist: %v", err)
	}
}

// A library that is loaded cannot be replaced, and may be renamed.
func TestLoadedStays(t *testing.T) {
	built := nativetest.BuildText(t, "stays", "extern \"C\" __declspec(dllexport) int stays() { return 1; }\n", nativetest.Standalone())
	text, err := os.ReadFile(built)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "stays.dll")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := open(t, path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err == nil {
		t.Error("a loaded library was written")
	}
	if err := os.Remove(path); err == nil {
		t.Error("a loaded library was removed")
	}
	if err := os.Rename(path, path+".old"); err != nil {
		t.Errorf("a loaded library could not be renamed: %v", err)
	}
}
