package wheel

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestTake unpacks a wheel that a user has, and finds it again without the file.
func TestTake(t *testing.T) {
	t.Setenv("TVMFFI_CACHE", filepath.Join(t.TempDir(), "[x]"))
	const tag = "cp312-cp312-manylinux_2_28_x86_64"
	b := wheelBytes(t, entry{name: "sample_kit/lib.so", body: "library"}, entry{name: "sample-1.0.dist-info/WHEEL", body: "Wheel-Version: 1.0\nTag: " + tag + "\n"})
	file := filepath.Join(t.TempDir(), "Sample_Kit-1.0-"+tag+".whl")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	fits := true
	have := func(name string) (Dir, bool) { return Have(name, "1.0", func(Dir) bool { return fits }) }
	if _, ok := have("sample-kit"); ok {
		t.Fatal("an empty cache has it")
	}
	d, err := Take(t.Context(), file, 0)
	if err != nil || d.Spec().Package != "sample-kit" || d.Spec().Version != "1.0" || d.Spec().SHA256 != specFor(b).SHA256 {
		t.Fatalf("%+v, %v", d, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if again, ok := have("sample.kit"); !ok || again.Root() != d.Root() {
		t.Errorf("got %+v, %v", again, ok)
	}
	early := filepath.Join(t.TempDir(), "Sample_Kit-1.0rc1-"+tag+".whl")
	if err := os.WriteFile(early, b, 0o600); err != nil {
		t.Fatal(err)
	}
	only := func(d Dir) bool { return d.Spec().Version != "1.0" }
	if d, err := Take(t.Context(), early, 0); err != nil || d.Spec().Version != "1.0rc1" {
		t.Fatalf("%+v, %v", d.Spec(), err)
	}
	if newest, ok := Have("sample-kit", "", func(Dir) bool { return true }); !ok || newest.Spec().Version != "1.0" {
		t.Errorf("without a version: %+v, %v, want the release", newest.Spec(), ok)
	}
	if newest, ok := Have("sample-kit", "", only); !ok || newest.Spec().Version != "1.0rc1" {
		t.Errorf("without a release that fits: %+v, %v, want the pre-release", newest.Spec(), ok)
	}
	fits = false
	if d, ok := have("sample-kit"); ok {
		t.Errorf("%+v does not fit", d)
	}
	if got := Tag(d.Root()); got != tag {
		t.Errorf("the tag is %q", got)
	}
	var claims bytes.Buffer
	z := zip.NewWriter(&claims)
	if _, err := z.CreateRaw(&zip.FileHeader{Name: "sample_kit/zeros", Method: zip.Deflate, UncompressedSize64: 700 << 20}); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	bomb := filepath.Join(t.TempDir(), "bomb-1.0-"+tag+".whl")
	if err := os.WriteFile(bomb, claims.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, most := range []int64{-1, 0, 699 << 20, 700 << 20} {
		_, err := Take(t.Context(), bomb, most)
		left, _ := filepath.Glob(filepath.Join(filepath.Dir(d.Root()), "bomb-1.0-????????"))
		if err == nil || errors.Is(err, ErrTooLarge) != (most < 700<<20) || len(left) > 0 {
			t.Errorf("at most %d: %v, and %q is left", most, err, left)
		}
	}
	renamed := filepath.Join(t.TempDir(), "sample.whl")
	if _, err := Take(t.Context(), renamed, 0); err == nil || !strings.Contains(err.Error(), "sample.whl is not named like a wheel") {
		t.Error(err)
	}
}

func TestTagged(t *testing.T) {
	for tag, want := range map[string][2]string{
		"cp312-cp312-manylinux_2_28_x86_64":                   {"3.12", "manylinux_2_28_x86_64"},
		"py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64": {"", "manylinux_2_17_x86_64"},
		"py2.py3-none-any":                                    {"", "any"},
		"":                                                    {"", ""},
	} {
		s := Tagged("sample", "1.0", tag, strings.Repeat("0", 64))
		if s.Python != want[0] || s.Platform != want[1] || s.GOOS != runtime.GOOS {
			t.Errorf("%s: %+v", tag, s)
		}
	}
}

func TestFind_refuses(t *testing.T) {
	t.Setenv("TVMFFI_CACHE", t.TempDir())
	toolDir(t, map[string]string{"python3": "echo asked; exit 1"})
	for _, what := range []string{"", "--index-url=x", "a b", "a==1;x", "a @ file:///x", "a==1,,b"} {
		if _, err := Find(t.Context(), what, 0); err == nil || !strings.Contains(err.Error(), "is not the name of a Python package") {
			t.Errorf("%q: %v", what, err)
		}
	}
	for _, what := range []string{"a", "a_b-c.d", "a==1.2.post3", "a>=1,<2", "a~=1.2"} {
		if _, err := Find(t.Context(), what, 0); err == nil || !strings.Contains(err.Error(), "asked") {
			t.Errorf("%q: %v", what, err)
		}
	}
}

// TestFind_otherPython: a wheel for another Python is taken, because its libraries may not care. If there is none, the error
// names what there is.
func TestFind_otherPython(t *testing.T) {
	const none = `echo "requirement $last (from versions: none)"; echo "ERROR: No matching distribution found"; exit 1`
	for _, c := range []struct{ what, download, index, want string }{
		{"for another Python", `case "$*" in *"--python-version 3.14"*) echo taken; exit 3;; *) ` + none + `;; esac`, "exit 1", "taken"},
		{"sources only", none, `echo "sample (0.2)"; echo "Available versions: 0.4, 0.3, 0.2, 0.1"`, `only sources or wheels for others (0.4, 0.3, 0.2): name another version, or make a wheel with "pip wheel --no-deps sample"`},
		{"nothing", none, "exit 1", "check the name and the version"},
		{"pre-releases", `case "$*" in *--python-version*) exit 9;; esac; echo "requirement sample (from versions: 1.0rc1)"; echo "ERROR: No matching distribution found"; exit 1`, "exit 9", "sample==1.0rc1"},
	} {
		t.Setenv("TVMFFI_CACHE", t.TempDir())
		toolDir(t, map[string]string{"python3": `case "$*" in *" index versions "*) ` + c.index + "; exit;; esac\n" + c.download})
		if _, err := Find(t.Context(), "sample", 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}
