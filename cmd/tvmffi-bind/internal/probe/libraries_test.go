package probe

import (
	"archive/zip"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	"github.com/tvmffi-go/tvmffi/schema"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// offline is a Prober that may not download. It prints to out.
func offline(out io.Writer) *Prober {
	return &Prober{Console: &console.Console{Out: out, Err: out}, Offline: true}
}

// A library of a Python package is the newest one of the cache that fits, then an installed one. A damaged one is not
// passed over.
func TestLocateInPackage(t *testing.T) {
	data, err := os.ReadFile(nativetest.Library(t))
	if err != nil {
		t.Fatal(err)
	}
	library, text := string(data), strings.Repeat("this is not a library\n", 100)
	for _, c := range []struct {
		what       string
		cached     map[string]string // by version
		installed  string            // version 4.0, if not the library
		record     string            // of version 3.0
		mode       os.FileMode       // of version 1.0
		version    string            // that is asked for
		want, fail string
	}{
		{what: "the newest", cached: map[string]string{"9.0": library, "10.0": library}, want: "10.0"},
		{what: "a version", cached: map[string]string{"1.0": library, "2.0": library, "3.0": library}, version: "2.0", want: "2.0"},
		{what: "the newest cannot be loaded here", cached: map[string]string{"1.0": library, "2.0": library, "3.0": text}, want: "2.0"},
		{what: "installed", cached: map[string]string{"3.0": text}, want: "4.0"},
		{what: "installed, by version", cached: map[string]string{"3.0": library}, version: "4.0", want: "4.0"},
		{what: "truncated", cached: map[string]string{"2.0": library, "3.0": library[:len(library)/2]}, fail: "3.0-deadbeef, which this version of tvmffi-bind cannot get again"},
		{what: "truncated, but another version", cached: map[string]string{"2.0": library, "3.0": library[:len(library)/2]}, version: "2.0", want: "2.0"},
		{what: "damaged", cached: map[string]string{"2.0": library, "3.0": library}, record: "sample/lib.so,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n", fail: "lib.so is damaged: its sha256 is "},
		{what: "another user can change one", cached: map[string]string{"1.0": library, "3.0": library}, mode: 0o777, fail: "the cache: "},
		{what: "installed, but truncated", installed: library[:len(library)/2], fail: `check the name, and run "go tool tvmffi-bind setup sample", which gets it with pip`},
		{what: "nowhere", version: "5.0", fail: `check the name, and run "go tool tvmffi-bind setup sample==5.0", which gets it with pip`},
	} {
		t.Run(c.what, func(t *testing.T) {
			if runtime.GOOS == "windows" && c.mode != 0 {
				t.Skip("file modes do not say who may write on Windows")
			}
			top := t.TempDir()
			t.Setenv("TVMFFI_CACHE", filepath.Join(top, "cache"))
			t.Setenv("VIRTUAL_ENV", filepath.Join(top, "venv"))
			tree := func(version string) string {
				return filepath.Join(top, "cache", "wheels", "sample-"+version+"-deadbeef")
			}
			for version, text := range c.cached {
				write(t, filepath.Join(tree(version), find.Marker), "")
				write(t, filepath.Join(tree(version), "sample", "lib.so"), text)
			}
			if c.record != "" {
				write(t, filepath.Join(tree("3.0"), "sample.dist-info", "RECORD"), c.record)
			}
			if c.mode != 0 {
				if err := os.Chmod(tree("1.0"), c.mode); err != nil {
					t.Fatal(err)
				}
			}
			site := filepath.Join(top, "venv", "lib", "python3.12", "site-packages")
			write(t, filepath.Join(site, "sample", "lib.so"), cmp.Or(c.installed, library))
			write(t, filepath.Join(site, "sample-4.0.dist-info", "METADATA"), "")

			spec := project.LibrarySpec{Package: "sample", Version: c.version, Path: "sample/lib.so"}
			lib, err := offline(io.Discard).locateInPackage(t.Context(), spec, schema.RoleBound)
			if c.fail != "" {
				if err == nil || !strings.Contains(err.Error(), c.fail) || errors.Is(err, find.ErrShared) != (c.mode != 0) {
					t.Errorf("got %s, %v, want an error with %q", lib.Path, err, c.fail)
				}
				return
			}
			want := filepath.Join(tree(c.want), "sample", "lib.so")
			if c.want == "4.0" {
				want = filepath.Join(site, "sample", "lib.so")
			}
			if err != nil || lib.Path != want || lib.Identity.PackageVersion != c.want || lib.Identity.PathInPackage != spec.Path {
				t.Errorf("got %+v, %v, want %s", lib, err, want)
			}
		})
	}
}

// A file that a configuration names in the cache must be the one of its wheel, and safe. Other files are the user's.
func TestLocate_file(t *testing.T) {
	top := t.TempDir()
	t.Setenv("TVMFFI_CACHE", filepath.Join(top, "cache"))
	tree := filepath.Join(top, "cache", "wheels", "sample-1.0-deadbeef")
	cached, other := write(t, filepath.Join(tree, "sample", "lib.so"), "library"), write(t, filepath.Join(top, "lib.so"), "library")
	for _, c := range []struct {
		what, path, fail string
		change           func()
	}{
		{"a file in the cache", cached, "", func() {}},
		{"a file elsewhere", other, "", func() {}},
		{"damaged", cached, "lib.so is damaged: its sha256 is ", func() {
			write(t, filepath.Join(tree, "sample.dist-info", "RECORD"), "sample/lib.so,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n")
		}},
		{"another user can change it", cached, "the cache: " + filepath.Join(tree, "sample") + " is not safe to load code from", func() {
			if err := os.Chmod(filepath.Join(tree, "sample"), 0o777); err != nil {
				t.Fatal(err)
			}
		}},
		{"elsewhere, where another user can change it", other, "", func() {
			if err := os.Chmod(other, 0o666); err != nil {
				t.Fatal(err)
			}
		}},
		{"missing", filepath.Join(tree, "sample", "lab.so"), "there is no library at ", func() {}},
	} {
		if c.change(); runtime.GOOS == "windows" && c.what == "another user can change it" {
			continue // file modes do not say who may write
		}
		lib, err := offline(io.Discard).locate(t.Context(), project.NewConfig(".", ""), project.LibrarySpec{File: c.path}, schema.RoleBound)
		if c.fail == "" && (err != nil || lib.Path != c.path) || c.fail != "" && (err == nil || !strings.Contains(err.Error(), c.fail)) {
			t.Errorf("%s: got %+v, %v, want %q", c.what, lib, err, c.fail)
		}
	}
}

// TestFetch downloads a wheel with a package tool that copies it, and repairs it.
// TestLocateInPackage_locked has two wheels of one version in the cache: the lock decides.
func TestLocateInPackage_locked(t *testing.T) {
	data, err := os.ReadFile(nativetest.Library(t))
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	t.Setenv("TVMFFI_CACHE", cache)
	for _, digit := range []string{"a", "b"} {
		tree := filepath.Join(cache, "wheels", "sample-1.0-"+strings.Repeat(digit, 8))
		write(t, filepath.Join(tree, find.Marker), strings.Repeat(digit, 64)+"\n")
		write(t, filepath.Join(tree, "sample", "lib.so"), string(data))
	}
	for _, digit := range []string{"a", "b", "c"} {
		p := offline(io.Discard)
		p.locked = map[string]project.WheelFile{"sample==1.0": {SHA256: strings.Repeat(digit, 64)}}
		lib, err := p.locateInPackage(t.Context(), project.LibrarySpec{Package: "sample", Version: "1.0", Path: "sample/lib.so"}, schema.RoleBound)
		dir, err2 := p.anyWheel(t.Context(), "Sample==1.0")
		if digit == "c" {
			if err == nil || err2 == nil {
				t.Errorf("another wheel than the locked one: %s, %s", lib.Path, dir.Root())
			}
			continue
		}
		if err != nil || err2 != nil || !strings.HasPrefix(lib.Path, dir.Root()) || !strings.HasSuffix(dir.Root(), "-"+strings.Repeat(digit, 8)) {
			t.Errorf("%s: %s, %v; %s, %v", digit, lib.Path, err, dir.Root(), err2)
		}
	}
}

// wheelFile writes a wheel of the package sample with the given files, and a RECORD of them.
func wheelFile(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	const record = "sample.dist-info/RECORD"
	lines := record + ",,\n"
	for name, text := range files {
		hash := sha256.Sum256([]byte(text))
		lines += fmt.Sprintf("%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(hash[:]), len(text))
	}
	files[record] = lines
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for name, text := range files {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return write(t, filepath.Join(t.TempDir(), name), archive.String())
}

func TestFetch(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in tool is a shell script")
	}
	dir := t.TempDir()
	t.Setenv("TVMFFI_CACHE", filepath.Join(dir, "cache"))
	source := wheelFile(t, "source.whl", map[string]string{"sample/lib.so": strings.Repeat("x", 150_000)})
	hash, err := find.HashFile(source)
	if err != nil {
		t.Fatal(err)
	}
	spec := wheel.Spec{Package: "sample", Version: "1.0", SHA256: hash}
	var out strings.Builder
	p := offline(&out)
	if _, err := p.fetch(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "sample 1.0 is neither installed nor in the cache, and --offline forbids to download it") {
		t.Errorf("offline: %v", err)
	}
	p.Offline = false
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	tool := write(t, filepath.Join(dir, "bin", "python3"), "#!"+sh+"\nPATH="+os.Getenv("PATH")+"\nwhile [ $1 != --dest ]; do shift; done\nmkdir -p $2 && cp "+source+" $2/sample.whl\n")
	if err := os.Chmod(tool, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(tool))
	d, err := p.fetch(t.Context(), spec)
	if want := "downloading sample 1.0 with pip or uv\nunpacked sample 1.0: 0.2 MB\n"; err != nil || out.String() != want {
		t.Fatalf("got %v, printed %q, want %q", err, out.String(), want)
	}
	out.Reset()
	if again, err := p.fetch(t.Context(), spec); err != nil || again != d || out.Len() > 0 {
		t.Errorf("again: %v, %v, printed %q", again, err, out.String())
	}
	write(t, d.Path("sample/lib.so"), "damaged")
	damaged, err := p.hash(d.Path("sample/lib.so"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Repair(t.Context(), d, errors.New("it is damaged")); err != nil || !strings.HasPrefix(out.String(), "it is damaged; downloading sample 1.0 again\n") || d.Verify() != nil {
		t.Errorf("repair: %v, %v, printed %q", err, d.Verify(), out.String())
	}
	if hash, err := p.hash(d.Path("sample/lib.so")); err != nil || hash == damaged {
		t.Errorf("the hash after the repair: %s, %v", hash, err)
	}
}

// The newest pinned wheel is taken, a misspelt name is not installed, and other versions are named.
func TestPinnedWheel(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("only linux/amd64 has pinned wheels of other packages")
	}
	if s, err := pinnedWheel("xgrammar", ""); err != nil || s.Package != "xgrammar" {
		t.Errorf("got %v, %v", s, err)
	}
	if s, err := pinnedWheel("nvidia-cuda-nvrtc-cu12", "12.4.127"); err != nil || s.Version != "12.4.127" {
		t.Errorf("got %v, %v", s, err)
	}
	for _, c := range [][3]string{
		{"xgramar", "", "the Python package xgramar is neither installed nor known; did you mean xgrammar?"},
		{"nvidia-cuda-nvrtc-cu12", "1.0", `setup nvidia-cuda-nvrtc-cu12==1.0", which gets it with pip, or ask for version 12.4.127`},
	} {
		if _, err := pinnedWheel(c[0], c[1]); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s %s: %v, want %q", c[0], c[1], err, c[2])
		}
	}
	if versions := CoreVersions(); len(versions) < 2 || versions[len(versions)-1] != wheel.DefaultVersion {
		t.Errorf("got %v, want the versions of libtvm_ffi, the newest last", versions)
	}
}
