package probe

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

func TestFormOf(t *testing.T) {
	for arg, want := range map[string]Form{
		"garden": Word, "garden.Plant": Word, "garden.*": Word, "": Word, "a-b": Word,
		"x.json": SchemaFile, "./x.JSON": SchemaFile,
		"libx.so": LibraryFile, "libx.so.13": LibraryFile, "x.dylib": LibraryFile, "./garden": LibraryFile, "./xgrammar": LibraryFile,
		"x-1-py3-none-any.whl": WheelFile, "dir/x.WHL": WheelFile,
		"xgrammar": PackageName, "xgrammar==0.2.7": PackageName, "garden==1.2": PackageName,
	} {
		if got := FormOf(arg); got != want {
			t.Errorf("%q has the form %d, want %d", arg, got, want)
		}
	}
}

func TestNewPackage(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("xgrammar", 0o700); err != nil { // what the first init has left
		t.Fatal(err)
	}
	if runtime.GOOS == "windows" {
		write(t, "endless.whl", "")
	} else if err := os.Symlink("/dev/zero", "endless.whl"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args         []string
		pkg, name    string
		known, exact bool
		fail         string
	}{
		{[]string{"xgrammar"}, "xgrammar", "xgrammar", true, true, ""},
		{[]string{"xgrammar==0.2.7"}, "xgrammar==0.2.7", "xgrammar", true, false, ""},
		{[]string{"garden"}, "garden", "garden", false, false, ""},
		{[]string{"./libgarden.so", "b.so"}, "", "./libgarden.so", false, false, ""},
		{[]string{"garden=="}, "", "", false, false, "names no single version"},
		{[]string{"garden==1", "x.so"}, "", "", false, false, "name it alone"},
		{[]string{"endless.whl"}, "endless.whl", "endless.whl", false, false, ""}, // Open says that it is not an archive
		{[]string{"xgramar"}, "", "", false, false, "did you mean xgrammar?"},
	} {
		s, err := NewPackage(c.args, nil)
		if c.fail != "" {
			if err == nil || !strings.Contains(err.Error(), c.fail) {
				t.Errorf("%q: %v, want %q", c.args, err, c.fail)
			}
			continue
		}
		if err != nil || s.Package != c.pkg || s.Name() != c.name || (s.Known != nil) != c.known || s.Exact != c.exact {
			t.Errorf("%q: %+v, %v", c.args, s, err)
		}
	}
}

// TestFlags: a command that reads takes the configuration that binds a package, and one that writes does not.
func TestFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	known, err := project.Known("xgrammar").Config()
	if err != nil {
		t.Fatal(err)
	}
	text, err := known.Encode()
	if err != nil {
		t.Fatal(err)
	}
	write(t, project.ConfigName, string(text))
	in := Inputs{Libs: []string{"xgrammar"}}
	read, err := in.Source(t.Context(), &Prober{})
	if err != nil || read.File() == "" {
		t.Errorf("to read: %+v, %v", read, err)
	}
	written, err := in.Flags(t.Context(), &Prober{})
	if err != nil || written.File() != "" || len(written.Libraries) == 0 || len(written.Names) > 0 {
		t.Errorf("to write: %+v, %v", written, err)
	}
}

func TestAkin(t *testing.T) {
	for _, c := range []struct {
		library, pkg string
		words        int
	}{
		{"libz3.so.4.15", "z3-solver", 1}, {"libtvm_tirx_compiler.so", "apache-tvm-tirx", 2},
		{"libtvm_tirx_compiler.so", "apache-tvm-ffi", 1}, {"libz3.so.4.15", "numpy", 0}, {"libgomp.so.1", "solver", 0},
	} {
		if n := akin(c.library, c.pkg); n != c.words {
			t.Errorf("%s and %s share %d words, want %d", c.library, c.pkg, n, c.words)
		}
	}
}

// TestSpecOf: a file of the cache, and a copy of it outside of the working folder, is of its package.
func TestSpecOf(t *testing.T) {
	t.Setenv("TVMFFI_CACHE", t.TempDir())
	dir, err := wheel.Take(t.Context(), wheelFile(t, "sample-1.0-py3-none-any.whl", map[string]string{"sample/lib.so": "library"}), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	write(t, "lib.so", "library")
	of := project.LibrarySpec{Package: "sample", Version: "1.0", Path: "sample/lib.so"}
	other, same := write(t, filepath.Join(t.TempDir(), "lib.so"), "another"), write(t, filepath.Join(t.TempDir(), "lib.so"), "library")
	for file, want := range map[string]project.LibrarySpec{
		dir.Path("sample/lib.so"): of, same: of, other: {File: other}, "lib.so": {File: "lib.so"},
	} {
		if got := specOf(file); got != want {
			t.Errorf("%s: %+v, want %+v", file, got, want)
		}
	}
}
