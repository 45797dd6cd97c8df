package find

import (
	"encoding/base64"
	"encoding/hex"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/libname"
)

// elsewhere describes libsample as bindings from another system do, and returns what it is called here.
func elsewhere() (f File, name string) {
	f = File{Name: "sample.dll", SHA256: strings.Repeat("0", 64), Package: "sample", Version: "1.2"}
	if runtime.GOOS == "windows" {
		f.Name = "libsample.so"
	}
	f.PathInPackage = "sample/lib/" + f.Name
	return f, f.Names()[0]
}

// recordLine is the line of RECORD for a file with a hash.
func recordLine(t *testing.T, file, hash string) string {
	t.Helper()
	sum, err := hex.DecodeString(hash)
	if err != nil {
		t.Fatal(err)
	}
	return file + ",sha256=" + base64.RawURLEncoding.EncodeToString(sum) + ",7\n"
}

// Bindings from another system look for the library under the names that it has here, in every place.
func TestOtherSystem(t *testing.T) {
	top := machine(t)
	f, name := elsewhere()
	bare := "bin/" + name + " (folder of the executable): no such file"
	lib := "bin/lib/" + name + " (lib folder of the executable)"
	write(t, filepath.Join(top, "bin", "lib", name), "library")
	inCache(t, top, "sample-1.2-deadbeef", "sample/lib/"+name)
	inCache(t, top, "sample-1.3-deadbeef", "sample/lib/"+name)
	installed(t, top, "sample-1.5", "sample/lib/"+name)
	hash, err := HashFile(filepath.Join(top, "bin", "lib", name))
	if err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(top, "cache", "wheels", "sample-1.2-deadbeef", "x.dist-info", "RECORD")
	if got := listed(top, f, &Options{})[3]; !strings.Contains(got, "another version") {
		t.Errorf("a file that its wheel does not name: %s", got)
	}
	write(t, record, recordLine(t, "sample/lib/"+name, hash))
	wantLines(t, "a library", listed(top, f, &Options{}), bare, lib,
		"cache/wheels/sample-1.3-deadbeef/sample/lib/"+name+" (cache of tvmffi-bind): another version: its sha256 is "+hash+", the bindings were made from "+f.SHA256,
		"cache/wheels/sample-1.2-deadbeef/sample/lib/"+name+" (cache of tvmffi-bind)",
		"venv/lib/python3.12/site-packages/sample/lib/"+name+" (Python package 1.5)")

	// A file of the version that is not what its wheel had is refused as on the system of the bindings.
	write(t, record, recordLine(t, "sample/lib/"+name, emptyHash))
	if got := listed(top, f, &Options{})[3]; !strings.Contains(got, ErrDamaged.Error()) {
		t.Errorf("a damaged file: %s", got)
	}

	// The options may call it as it is called here, or as the bindings do.
	for _, name := range []string{name, f.Name} {
		o := &Options{Paths: map[string]string{name: filepath.Join(top, name), "other": "other"}}
		if got := f.Named(o); got != filepath.Join(top, name) {
			t.Errorf("the file that the options call %s: got %q", name, got)
		}
	}
	both := &Options{Paths: map[string]string{name: "1", f.Name: "2"}}
	if got := f.Named(both); got != "1" {
		t.Errorf("of both names the options name %q", got)
	}
	if !f.Called(name) || !f.Called(f.Name) || f.Called("other") {
		t.Error("Called")
	}
}

// Windows has two usual names, and a file that exists under any name is found.
func TestIn(t *testing.T) {
	f, name := elsewhere()
	dir := t.TempDir()
	names := libname.On(runtime.GOOS, f.Name)
	if got := f.In(dir); got != filepath.Join(dir, name) {
		t.Errorf("an empty folder: %s", got)
	}
	for i := len(names) - 1; i >= 0; i-- { // the more usual ones later
		write(t, filepath.Join(dir, names[i]), "library")
		if got := f.In(dir); got != filepath.Join(dir, names[i]) {
			t.Errorf("after %s was written: %s", names[i], got)
		}
	}
	tree := t.TempDir()
	want := filepath.Join(tree, "sample", "lib", name)
	write(t, want, "library")
	if got := f.InTree(tree); got != want {
		t.Errorf("in a package: %s, want %s", got, want)
	}
}

// The wheels of one version for several platforms may lie in one cache. The file that was bound comes first.
func TestWheelsOfPlatforms(t *testing.T) {
	top := machine(t)
	f := File{Name: here("libsample.so"), Package: "sample", Version: "1.2", PathInPackage: here("sample/libsample.so")}
	for name, text := range map[string]string{"1.2-11111111": "one", "1.2-22222222": "two", "1.2-33333333": "three", "1.3-11111111": "new"} {
		file := inCache(t, top, "sample-"+name, f.PathInPackage)
		write(t, file, text)
		hash, err := HashFile(file)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(top, "cache", "wheels", "sample-"+name, "x.dist-info", "RECORD"), recordLine(t, f.PathInPackage, hash))
	}
	order := func() (order string) {
		for c, err := range InPackages(f, sameHash) {
			if err == nil {
				order += " " + path.Base(filepath.ToSlash(c.Site))
			}
		}
		return order
	}
	if got := order(); got != " sample-1.3-11111111 sample-1.2-11111111 sample-1.2-22222222 sample-1.2-33333333" {
		t.Errorf("without a hash:%s", got)
	}
	f.SHA256 = strings.Repeat("0", 64)
	if got := order(); got != " sample-1.2-11111111 sample-1.2-22222222 sample-1.2-33333333" {
		t.Errorf("the hash of another platform:%s", got)
	}
	hash, err := HashFile(filepath.Join(top, "cache", "wheels", "sample-1.2-22222222", "sample", here("libsample.so")))
	if err != nil {
		t.Fatal(err)
	}
	f.SHA256 = hash
	if got := order(); got != " sample-1.2-22222222 sample-1.2-11111111 sample-1.2-33333333" {
		t.Errorf("the hash of one:%s", got)
	}
}

// The error says what the library is called here, and what it was called.
func TestOtherSystemMissing(t *testing.T) {
	f, name := elsewhere()
	s := Search{File: f, Options: &Options{Paths: map[string]string{f.Name: "x", name: "y"}}}
	text := s.Message()
	want := "\nthe bindings were generated from " + f.Name + "; on " + runtime.GOOS + "/" + runtime.GOARCH + " the library is called " + strings.Join(f.Names(), " or ") + "\n"
	if !strings.HasPrefix(text, name+" was not found; nowhere to look\n") || !strings.Contains(text, want) || !strings.Contains(text, "setup sample==1.2") || strings.Contains(text, "another name") {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	s.Refused = true
	if text := s.Message(); !strings.HasPrefix(text, name+" cannot be loaded; ") || !strings.Contains(text, strings.TrimSpace(want)) {
		t.Error(text)
	}
}
