package find

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/elfheader"
	"github.com/tvmffi-go/tvmffi/internal/libname"
)

// machine makes a folder with a cache, a Python environment and an executable of its own, and nothing else to find.
func machine(t *testing.T) (top string) {
	t.Helper()
	top = t.TempDir()
	defer func(f func() (string, error)) { t.Cleanup(func() { executable = f }) }(executable)
	executable = func() (string, error) { return filepath.Join(top, "bin", "program"), nil }
	for _, name := range []string{"CONDA_PREFIX", "PYTHONPATH", "PATH", "TVMFFI_LIBRARY", "TVMFFI_LIBRARY_PATH", "PYENV_ROOT"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", filepath.Join(top, "home"))
	t.Setenv("VIRTUAL_ENV", filepath.Join(top, "venv"))
	t.Setenv("TVMFFI_CACHE", filepath.Join(top, "cache"))
	return top
}

// here puts the names that libraries have on this platform into a text with those of Linux.
func here(text string) string {
	return librariesOfLinux.ReplaceAllStringFunc(text, func(name string) string { return libname.On(runtime.GOOS, name)[0] })
}

var librariesOfLinux = regexp.MustCompile(`\blib\w*\.so\b`)

// inCache puts a file of a wheel into the cache and returns its path.
func inCache(t *testing.T, top, wheel, path string) string {
	t.Helper()
	tree := filepath.Join(top, "cache", "wheels", wheel)
	write(t, filepath.Join(tree, Marker), "hash")
	file := filepath.Join(tree, filepath.FromSlash(path))
	write(t, file, "library")
	return file
}

// installed puts a file of a Python package into the environment and returns its path.
func installed(t *testing.T, top, dist, path string) string {
	t.Helper()
	site := filepath.Join(top, "venv", "lib", "python3.12", "site-packages")
	write(t, filepath.Join(site, dist+".dist-info", "METADATA"), "")
	file := filepath.Join(site, filepath.FromSlash(path))
	write(t, file, "library")
	return file
}

// listed returns the candidates of f below top, each as a line.
func listed(top string, f File, o *Options) (lines []string) {
	for c, err := range Candidates(f, o) {
		if filepath.IsAbs(c.Path) && !strings.HasPrefix(c.Path, top) {
			continue // what is installed for all users of this machine
		}
		line := strings.TrimPrefix(c.Path, top+string(filepath.Separator)) + " (" + c.Where + ")"
		if err != nil {
			line += ": " + err.Error()
		}
		lines = append(lines, filepath.ToSlash(line))
	}
	return lines
}

func wantLines(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The order of the package documentation, for a library of a Python package.
func TestOrder(t *testing.T) {
	top := machine(t)
	file, pathIn := here("libsample.so"), here("sample/lib/libsample.so")
	t.Setenv("TVMFFI_LIBRARY_PATH", strings.Join([]string{filepath.Join(top, "first"), "relative", "", filepath.Join(top, "second")}, string(filepath.ListSeparator)))
	for _, version := range []string{"1.9", "1.10", "1.2"} {
		inCache(t, top, "sample-"+version+"-deadbeef", pathIn)
	}
	incomplete := inCache(t, top, "sample-2.0-deadbeef", pathIn)
	if err := os.Remove(filepath.Join(strings.TrimSuffix(incomplete, filepath.FromSlash(pathIn)), Marker)); err != nil {
		t.Fatal(err)
	}
	installed(t, top, "sample-1.5", pathIn)
	write(t, filepath.Join(top, "second", file), "library")
	f := File{Name: file, Package: "sample", Version: "1.2", PathInPackage: pathIn}
	o := &Options{Dirs: []string{filepath.Join(top, "a"), filepath.Join(top, "b")}, Core: "elsewhere", CoreVersion: "1.9"}
	folders := []string{
		here("a/libsample.so (folder of WithDir): no such file"),
		here("b/libsample.so (folder of WithDir): no such file"),
		here("first/libsample.so (TVMFFI_LIBRARY_PATH): no such file"),
		here("second/libsample.so (TVMFFI_LIBRARY_PATH)"),
		here("bin/libsample.so (folder of the executable): no such file"),
		here("bin/lib/libsample.so (lib folder of the executable): no such file"),
	}
	wantLines(t, "a library", listed(top, f, o), append(folders,
		here("cache/wheels/sample-1.10-deadbeef/sample/lib/libsample.so (cache of tvmffi-bind)"),
		here("cache/wheels/sample-1.9-deadbeef/sample/lib/libsample.so (cache of tvmffi-bind)"),
		here("cache/wheels/sample-1.2-deadbeef/sample/lib/libsample.so (cache of tvmffi-bind)"),
		here("venv/lib/python3.12/site-packages/sample/lib/libsample.so (Python package 1.5)"))...)
	wantLines(t, "not from a package", listed(top, File{Name: file}, o), folders...)
	o.Paths = map[string]string{file: filepath.Join(top, "named.so")}
	wantLines(t, "a file that Load names", listed(top, f, o), "named.so (named explicitly): no such file")
	for c := range Candidates(f, &Options{}) { // the caller may end the search
		if c.Where == "folder of the executable" {
			break
		}
	}
	// The folders of Pythons are read after the files of the cache: mostly one of these is taken.
	for c := range Candidates(f, &Options{}) {
		if c.Cached {
			if err := os.RemoveAll(filepath.Join(top, "venv")); err != nil {
				t.Fatal(err)
			}
		} else if c.Site != "" {
			t.Errorf("%s was looked for before the cache", c.Path)
		}
	}
}

// Of libtvm_ffi, the version that bindings name comes first, from the cache and from packages.
func TestOrderOfCore(t *testing.T) {
	top := machine(t)
	core := Core()
	for _, version := range []string{"0.1.12", "0.1.9"} {
		inCache(t, top, core.Package+"-"+version+"-deadbeef", core.PathInPackage)
	}
	name, path := core.Name, core.PathInPackage
	beside := []string{
		"bin/" + name + " (folder of the executable): no such file",
		"bin/lib/" + name + " (lib folder of the executable): no such file",
	}
	newer := "cache/wheels/apache-tvm-ffi-0.1.12-deadbeef/" + path + " (cache of tvmffi-bind setup)"
	older := "cache/wheels/apache-tvm-ffi-0.1.9-deadbeef/" + path + " (cache of tvmffi-bind setup)"
	empty := "venv/lib/python3.12/site-packages/" + path + " (Python package): no such file"
	if err := os.MkdirAll(filepath.Join(top, "venv", "lib", "python3.12", "site-packages"), 0o700); err != nil {
		t.Fatal(err)
	}
	wantLines(t, "not installed", listed(top, core, &Options{}), append(beside, newer, older, empty)...)
	installed(t, top, "apache_tvm_ffi-0.1.9", core.PathInPackage)
	package9 := "venv/lib/python3.12/site-packages/" + path + " (Python package 0.1.9)"
	wantLines(t, "any version", listed(top, core, &Options{}), append(beside, newer, older, package9)...)
	wantLines(t, "version 0.1.9", listed(top, core, &Options{CoreVersion: "0.1.9"}), append(beside, older, package9, newer)...)
	wantLines(t, "a version that is not there", listed(top, core, &Options{CoreVersion: "0.1.10"}), append(beside, newer, older, package9)...)

	t.Setenv("TVMFFI_LIBRARY", filepath.Join(top, "variable.so"))
	wantLines(t, "TVMFFI_LIBRARY", listed(top, core, &Options{}), "variable.so (named explicitly): no such file")
	wantLines(t, "an option", listed(top, core, &Options{Core: filepath.Join(top, "option.so")}), "option.so (named explicitly): no such file")
	if got := listed(top, File{Name: here("libsample.so")}, &Options{}); len(got) != 2 {
		t.Errorf("TVMFFI_LIBRARY names libtvm_ffi only: %q", got)
	}
}

// A place that cannot be searched is a candidate without a file, before the others of the same kind.
func TestNoCache(t *testing.T) {
	top := machine(t)
	f := File{Name: here("libsample.so"), Package: "sample", PathInPackage: here("sample/libsample.so")}
	installed(t, top, "sample-1.5", f.PathInPackage)
	t.Setenv("TVMFFI_CACHE", "here")
	got := listed(top, f, &Options{})
	wantLines(t, "a relative cache", got[2:], ` (cache of tvmffi-bind): TVMFFI_CACHE is the relative path "here"; set it to an absolute path`,
		here("venv/lib/python3.12/site-packages/sample/libsample.so (Python package 1.5)"))
	if got := listed(top, File{Name: f.Name}, &Options{}); len(got) != 2 {
		t.Errorf("a library that is from no package: %q", got)
	}
	t.Setenv("TVMFFI_CACHE", filepath.Join(top, "cache"))
	inCache(t, top, "sample-1.0-deadbeef", "../libsample.so")
	f.PathInPackage = here("../libsample.so")
	if got := listed(top, f, &Options{}); len(got) != 2 {
		t.Errorf("a path that leads out of the package was searched: %q", got)
	}
}

// A package that is nowhere: the error lists the cache and the folders of Python's packages.
func TestNowhere(t *testing.T) {
	top := machine(t)
	installed(t, top, "other-1.0", here("other/libother.so"))
	f := File{Name: here("libsample.so"), Package: "sample", Version: "1.5", PathInPackage: here("sample/libsample.so")}
	got := listed(top, f, &Options{})
	wantLines(t, "a package that is nowhere", got[2:], here("cache/wheels/sample-1.5/sample/libsample.so (cache of tvmffi-bind): no such file"),
		here("venv/lib/python3.12/site-packages/sample/libsample.so (Python package): no such file"))
}

// The error of a candidate comes from the first check that it fails, and no later check is made.
func TestChecks(t *testing.T) {
	top := machine(t)
	f := File{Name: here("libsample.so"), SHA256: strings.Repeat("0", 64), Package: "sample", PathInPackage: here("sample/libsample.so")}
	cached := inCache(t, top, "sample-1.0-deadbeef", f.PathInPackage)
	installed(t, top, "sample-1.5", f.PathInPackage)
	hash, err := HashFile(cached)
	if err != nil {
		t.Fatal(err)
	}
	last := func() string { got := listed(top, f, &Options{}); return strings.Join(got[2:], "\n") }
	inVenv := here("\nvenv/lib/python3.12/site-packages/sample/libsample.so (Python package 1.5)")
	inCacheText := here("cache/wheels/sample-1.0-deadbeef/sample/libsample.so (cache of tvmffi-bind)")
	if got, want := last(), inCacheText+": another version: its sha256 is "+hash+", the bindings were made from "+f.SHA256+inVenv; got != want {
		t.Errorf("another version: got\n%s\nwant\n%s", got, want)
	}
	write(t, filepath.Join(top, "cache", "wheels", "sample-1.0-deadbeef", "x.dist-info", "RECORD"), f.PathInPackage+",sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n")
	if got, want := last(), inCacheText+": "+filepath.ToSlash(cached)+" is damaged: its sha256 is "+hash+", its wheel had "+emptyHash+inVenv; got != want {
		t.Errorf("damaged: got\n%s\nwant\n%s", got, want)
	}
	f.SHA256 = hash
	if got := last(); got != inCacheText+inVenv {
		t.Errorf("the right hash: %s", got)
	}

	var made []string
	check := func(name string, fails error) Check {
		return func(c Candidate, _ File) error { made = append(made, fmt.Sprint(name, c.Version)); return fails }
	}
	first := errors.New("first")
	for c, err := range InPackages(f, check("a", nil), check("b", first), check("c", errors.New("second"))) {
		if !errors.Is(err, first) {
			t.Errorf("%s: %v", c.Path, err)
		}
	}
	wantLines(t, "the checks that were made", made, "a1.0", "b1.0", "a1.5", "b1.5")

	if runtime.GOOS == "windows" {
		return // file modes do not say who may write
	}
	if err := os.Chmod(filepath.Dir(cached), 0o777); err != nil {
		t.Fatal(err)
	}
	made = nil
	for c, err := range InPackages(f, check("a", nil)) {
		if c.Cached != errors.Is(err, ErrShared) || c.Cached && c.Path != "" {
			t.Errorf("%+v: %v", c, err)
		}
	}
	wantLines(t, "the checks that were made with a shared cache", made, "a1.5")
}

// A file that exists under another name is named.
func TestPresent(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "libgarden-2.so"), "")
	for path, want := range map[string]string{
		"libgarden.so":           "no such file; did you mean libgarden-2.so?",
		"other.so":               "no such file",
		"libgarden-2.so/deep.so": "no such file",
		"libgarden-2.so":         "<nil>",
	} {
		if err := present(Candidate{Path: filepath.Join(dir, filepath.FromSlash(path))}, File{}); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

// The search ends where the next place could hide what is wrong, and the error says what to do.
func TestMiss(t *testing.T) {
	t.Setenv("TVMFFI_LIBRARY_PATH", "some/where"+string(filepath.ListSeparator))
	other := errors.New("a reason")
	for _, c := range []struct {
		what   string
		c      Candidate
		err    error
		ends   bool
		begins string
		remedy string // the end of the message
	}{
		{"another reason", Candidate{Path: "/a", Where: "here"}, other, false, here("lib.so was not found; tried:\n  /a (here): a reason\n"), "run go generate"},
		{"named", Candidate{Path: "/a", Where: "here", Explicit: true}, other, true, here("lib.so was not found; tried:\n  /a (here): a reason\n"), "run go generate"},
		{"shared", Candidate{Where: "cache"}, fmt.Errorf("x %w", ErrShared), true, here("lib.so cannot be loaded; tried:\n  cache: x is not safe to load code from\n"), "is not an absolute path; not searched"},
		{"damaged", Candidate{Path: "/a", Where: "cache"}, fmt.Errorf("x %w", ErrDamaged), true, here("lib.so cannot be loaded; tried:\n  /a (cache): x is damaged\n"), RepairCache},
		{"truncated", Candidate{Path: "/a", Where: "here"}, fmt.Errorf("x: %w", elfheader.ErrTruncated), true, here("lib.so was not found; tried:\n  /a (here): x: the file is truncated"), "run go generate"},
	} {
		s := Search{File: File{Name: here("lib.so"), Package: "sample", Version: "1.0"}, Options: &Options{Paths: map[string]string{here("./libother.so"): "./libother.so", CoreName(): "x"}}}
		if ends := s.Miss(c.c, c.err, c.err.Error()); ends != c.ends {
			t.Errorf("%s: the search ends: %v", c.what, ends)
		}
		text := s.Message()
		for _, part := range []string{"\n  ./libother.so (named explicitly): has another name", "\n  some/where (TVMFFI_LIBRARY_PATH): is not an absolute path; not searched"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %s\nlacks %q", c.what, text, part)
			}
		}
		if strings.Contains(text, "x (named explicitly)") || strings.Contains(text, "\n   (") {
			t.Errorf("%s: %s\nhas the file of libtvm_ffi, or a folder without a name", c.what, text)
		}
		if !strings.HasPrefix(text, c.begins) || !strings.HasSuffix(text, c.remedy) {
			t.Errorf("%s: got\n%s\nwant %q ... %q", c.what, text, c.begins, c.remedy)
		}
		if strings.Contains(text, "\ninstall the Python package (go tool tvmffi-bind setup sample==1.0, or pip install sample==1.0), or put it beside the executable") != (c.remedy == "run go generate") {
			t.Errorf("%s: the remedies are\n%s", c.what, text)
		}
	}
	if text := (&Search{File: Core(), Options: &Options{}}).Message(); !strings.HasPrefix(text, CoreName()+" was not found; nowhere to look\nrun \"go tool tvmffi-bind setup\", or pip install apache-tvm-ffi, or put it") {
		t.Error(text)
	}
	whole := &Options{Package: "sample==1.0", CoreVersion: "0.1.12"} // the package brings the libraries that it needs
	for f, want := range map[File]string{
		Core(): "\nrun \"go tool tvmffi-bind setup sample==1.0\", or pip install sample==1.0, or put it",
		{Name: here("libpart.so"), Package: "part", Version: "2.0", Dependency: true}: "\ninstall the Python package (go tool tvmffi-bind setup sample==1.0, or pip install sample==1.0), or",
		{Name: here("libpart.so"), Package: "part", Version: "2.0"}:                   "\ninstall the Python package (go tool tvmffi-bind setup part==2.0, or pip install part==2.0), or",
	} {
		if text := (&Search{File: f, Options: whole}).Message(); !strings.Contains(text, want) {
			t.Errorf("%s\nlacks %q", text, want)
		}
	}
}

// Without /proc a program on Linux does not know its folder, and the error says so.
func TestNoExecutable(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux needs /proc")
	}
	defer func(f func() (string, error)) { executable = f }(executable)
	executable = func() (string, error) { return "", errors.New("readlink /proc/self/exe: no such file or directory") }
	s := Search{File: Core(), Options: &Options{CoreVersion: "0.1.12"}}
	text := s.Message()
	for _, want := range []string{"folder of the executable: unknown: readlink /proc/self/exe", "\nmount /proc", "set TVMFFI_LIBRARY to the file", "setup --version 0.1.12\"", "apache-tvm-ffi==0.1.12,"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nlacks %q", text, want)
		}
	}
	if strings.Contains(text, "nowhere to look") {
		t.Error(text)
	}
}

// Each operating system has a name of libtvm_ffi, and every one is known everywhere.
func TestIsCore(t *testing.T) {
	for _, name := range []string{"libtvm_ffi.so", "libtvm_ffi.dylib", "tvm_ffi.dll"} {
		if !IsCore(name) {
			t.Error(name)
		}
	}
	if IsCore("libtvm_ffi_testing.so") || !IsCore(CoreName()) {
		t.Error("IsCore takes another library, or not the one for this machine")
	}
}

// The libtvm_ffi of the same site-packages folder is found, unless it is the one that is loaded.
func TestCoreBeside(t *testing.T) {
	top := t.TempDir()
	core := filepath.Join(top, filepath.FromSlash(Core().PathInPackage))
	library := filepath.Join(top, "sample", "lib", "libsample.so")
	if got := CoreBeside(library, ""); got != "" {
		t.Errorf("got %s, before there was one", got)
	}
	write(t, core, "library")
	if got := CoreBeside(library, filepath.Join(top, "absent.so")); got != core {
		t.Errorf("got %s, want %s", got, core)
	}
	if got := CoreBeside(library, core); got != "" {
		t.Errorf("got %s, which is loaded", got)
	}
}

func TestCachedTree(t *testing.T) {
	top := machine(t)
	wheels := filepath.Join(top, "cache", "wheels")
	for path, want := range map[string]string{
		filepath.Join(wheels, "a-1", "lib", "a.so"):        filepath.Join(wheels, "a-1"),
		filepath.Join(wheels, "a-1"):                       "",
		filepath.Join(top, "cache", "native", "a", "a.so"): "",
		"a.so": "",
	} {
		if got := CachedTree(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	want := File{Name: "a.so", Package: "a-b", Version: "1.0.post1", PathInPackage: "lib/a.so"}
	if got, ok := InCache(filepath.Join(wheels, "a-b-1.0.post1-deadbeef", "lib", "a.so")); !ok || got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, path := range []string{filepath.Join(wheels, "a-1", "a.so"), "a-b-1.0-deadbeef/a.so"} {
		if got, ok := InCache(path); ok {
			t.Errorf("%s: got %+v", path, got)
		}
	}
	t.Setenv("TVMFFI_CACHE", "relative")
	if got := CachedTree(filepath.Join(wheels, "a-1", "a.so")); got != "" {
		t.Errorf("without a cache: %s", got)
	}
}
