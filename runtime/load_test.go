package tvmffi_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// Variables that the children read.
const (
	envOption = "TEST_OPTION"
	envDir    = "TEST_DIR"
	envFirst  = "TEST_FIRST"
	envFile   = "TEST_FILE"
	envHash   = "TEST_HASH"
)

func init() {
	// load says where libtvm_ffi came from.
	runtimetest.Children["load"] = func() error {
		var options []tvmffi.LoadOption
		if p := os.Getenv(envOption); p != "" {
			options = append(options, tvmffi.WithLibrary(p))
		}
		if p := os.Getenv(envDir); p != "" {
			options = append(options, tvmffi.WithDir(p))
		}
		if p := os.Getenv(envFirst); p != "" {
			if _, err := dynlib.Open(p); err != nil {
				return err
			}
		}
		if err := tvmffi.Load(options...); err != nil {
			return fmt.Errorf("%w\nkind %s", err, err.(*tvmffi.Error).Kind)
		}
		if _, err := tvmffi.ParseDataType("float32"); err != nil {
			return err
		}
		fmt.Println("loaded", tvmffi.LibraryPath())
		return nil
	}
	runtimetest.Children["load twice"] = func() error {
		if err := tvmffi.Load(tvmffi.WithLibrary(os.Getenv(envFirst))); err != nil {
			return err
		}
		if err := tvmffi.Load(tvmffi.WithLibrary(os.Getenv(envFirst))); err != nil {
			return fmt.Errorf("the same again: %w", err)
		}
		return tvmffi.Load(tvmffi.WithLibrary(os.Getenv(envOption)))
	}
	runtimetest.Children["load and lose"] = func() error {
		path := os.Getenv(envFirst)
		if err := tvmffi.Load(tvmffi.WithLibrary(path)); err != nil {
			return err
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		if err := tvmffi.Load(tvmffi.WithLibrary(path)); err != nil {
			return fmt.Errorf("the same again: %w", err)
		}
		return tvmffi.Load(tvmffi.WithLibrary(os.Getenv(envOption)))
	}
	runtimetest.Children["load at once"] = func() error {
		start := make(chan bool)
		failed := make(chan error, 16)
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				<-start
				var err error
				switch i % 3 {
				case 0:
					err = tvmffi.Load()
				case 1:
					_, err = tvmffi.NewArray[int64](1, 2)
				case 2:
					_, err = tvmffi.Lookup("ffi.Array")
				}
				failed <- err
			})
		}
		close(start)
		wg.Wait()
		for range 16 {
			if err := <-failed; err != nil {
				return err
			}
		}
		return nil
	}
	runtimetest.Children["bindings"] = func() error {
		l := bindrt.Library{Files: []bindrt.File{{Name: "libgarden.so", SHA256: os.Getenv(envHash), Package: "garden", Version: "1.0", PathInPackage: "garden/libgarden.so"}}}
		var options []tvmffi.LoadOption
		if p := os.Getenv(envFile); p != "" {
			options = append(options, tvmffi.WithFile(p))
		}
		if p := os.Getenv(envDir); p != "" {
			options = append(options, tvmffi.WithDir(p))
		}
		if err := bindrt.Load(&l, options...); err != nil {
			return err
		}
		var c bindrt.Call1
		c.Begin(&bindrt.Func{Library: &l, Name: "garden.alive", Sig: "() -> int"}, 0)
		if err := c.Do(); err != nil {
			return err
		}
		fmt.Println("loaded", l.Paths[0])
		return nil
	}
	runtimetest.Children["packages"] = func() error {
		file := bindrt.File{Name: "libgarden.so"}
		first := bindrt.Library{Files: []bindrt.File{file}}
		if err := bindrt.Load(&first, tvmffi.WithFile(os.Getenv(envFile))); err != nil {
			return err
		}
		second, third := bindrt.Library{Files: []bindrt.File{file}}, bindrt.Library{Files: []bindrt.File{{Name: file.Name, Dependency: true}}}
		for _, l := range []*bindrt.Library{&second, &third} {
			var c bindrt.Call1
			c.Begin(&bindrt.Func{Library: l, Name: "garden.alive", Sig: "() -> int"}, 0)
			if err := c.Do(); err != nil {
				return err
			}
			if l.Paths[0] != first.Paths[0] {
				return fmt.Errorf("loaded %s, after %s", l.Paths[0], first.Paths[0])
			}
		}
		return nil
	}
	runtimetest.Children["later"] = func() error {
		first := bindrt.Library{}
		later := bindrt.Library{Files: []bindrt.File{{Name: "libgarden.so"}}, Like: &first}
		alive := bindrt.Func{Library: &later, Name: "garden.alive", Sig: "() -> int"}
		use := func() error {
			var c bindrt.Call1
			c.Begin(&alive, 0)
			return c.Do()
		}
		if err := use(); err == nil || !strings.Contains(err.Error(), find.File{Name: "libgarden.so"}.Names()[0]+" was not found") {
			return fmt.Errorf("before Load: %w", err)
		}
		if err := bindrt.Load(&first, tvmffi.WithDir(filepath.Dir(os.Getenv(envFile)))); err != nil {
			return err
		}
		return errors.Join(bindrt.Load(&later), use())
	}
	runtimetest.Children["again"] = func() error {
		l := bindrt.Library{Files: []bindrt.File{{Name: "libgarden.so"}}}
		alive := bindrt.Func{Library: &l, Name: "garden.alive", Sig: "() -> int"}
		bad := bindrt.Load(&l, tvmffi.WithFile("nowhere/libgarden.so"))
		if !errors.Is(bad, tvmffi.ErrNotFound) || !errors.Is(bad, fs.ErrNotExist) || errors.Is(bad, fs.ErrExist) {
			return fmt.Errorf("a file that is not there: %w", bad)
		}
		var c bindrt.Call1
		c.Begin(&alive, 0)
		if err := c.Do(); !errors.Is(err, tvmffi.ErrNotFound) {
			return fmt.Errorf("a use reports the failure: %w", err)
		}
		return bindrt.Load(&l) // looks where TVMFFI_LIBRARY_PATH says
	}
	runtimetest.Children["version"] = func() error {
		l := bindrt.Library{Files: []bindrt.File{{Name: name, Package: "apache-tvm-ffi", Version: os.Getenv(envFirst), PathInPackage: find.PathOfCore(runtime.GOOS), Dependency: true}}}
		if err := bindrt.Load(&l); err != nil {
			return err
		}
		fmt.Println("loaded", tvmffi.LibraryPath())
		return nil
	}
	runtimetest.Children["matrix"] = func() error {
		if err := bindrt.Load(&runtimetest.Calls, tvmffi.WithFile(os.Getenv(envFile))); err != nil {
			return err
		}
		return smallMatrix()
	}
}

// link makes a link to target at the path and returns the path.
func link(t *testing.T, target, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err != nil { // wine 8 makes no links, and says nothing
		return copyFile(t, target, path)
	}
	return path
}

// write makes a file and returns its path.
func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// copyFile copies a file, for a second library that is not the same file.
func copyFile(t *testing.T, from, to string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	return to
}

// noLibrary is longer than the header of a library.
var noLibrary = strings.Repeat("this is not a library\n", 100)

// name is the file name of libtvm_ffi.
var name = filepath.Base(find.PathOfCore(runtime.GOOS))

// Each place of the search order finds the library, and comes before the places
// after it, which hold files that are not libraries.
func TestSearchOrder(t *testing.T) {
	library := nativetest.Library(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	broken := func(path string) string { return write(t, filepath.Join(dir, path), noLibrary) }
	cache := filepath.Join(dir, "cache")
	cached := filepath.Join(cache, "wheels", "apache-tvm-ffi-0.1.15-deadbeef")
	venv := filepath.Join(dir, "venv", "lib", "python3.12", "site-packages")
	write(t, filepath.Join(cached, find.Marker), "hash")
	bin := filepath.Join(dir, "bin")
	program := copyFile(t, exe, filepath.Join(bin, "program"))
	places := []struct {
		what, path, env string
	}{
		{"option", filepath.Join(dir, "option", "any-name.so"), envOption + "=" + filepath.Join(dir, "option", "any-name.so")},
		{"TVMFFI_LIBRARY", filepath.Join(dir, "variable", "other-name.so"), "TVMFFI_LIBRARY=" + filepath.Join(dir, "variable", "other-name.so")},
		{"WithDir", filepath.Join(dir, "folder", name), envDir + "=" + filepath.Join(dir, "folder")},
		{"TVMFFI_LIBRARY_PATH", filepath.Join(dir, "path", name), "TVMFFI_LIBRARY_PATH=relative" + string(os.PathListSeparator) + filepath.Join(dir, "empty") + string(os.PathListSeparator) + filepath.Join(dir, "path")},
		{"executable", filepath.Join(bin, name), ""},
		{"lib of the executable", filepath.Join(bin, "lib", name), ""},
		{"cache", filepath.Join(cached, filepath.FromSlash(find.PathOfCore(runtime.GOOS))), "TVMFFI_CACHE=" + cache},
		{"Python package", filepath.Join(venv, filepath.FromSlash(find.PathOfCore(runtime.GOOS))), "VIRTUAL_ENV=" + filepath.Join(dir, "venv")},
	}
	for i, p := range places {
		t.Run(p.what, func(t *testing.T) {
			link(t, library, p.path)
			defer os.Remove(p.path)
			var env []string
			for j, later := range places {
				if j == i || j > i {
					env = append(env, later.env)
				}
				if j > i {
					broken(later.path[len(dir)+1:])
					defer os.Remove(later.path)
				}
			}
			out, err := runtimetest.ChildOf(t, program, "load", slices.DeleteFunc(env, func(s string) bool { return s == "" })...)
			if err != nil || strings.TrimSpace(out) != "loaded "+p.path {
				t.Errorf("the child ended with %v, want that it loaded %s:\n%s", err, p.path, out)
			}
		})
	}
	// A broken file in one place does not hide the good one after it.
	broken("folder/" + name)
	link(t, library, filepath.Join(bin, name))
	if out, err := runtimetest.ChildOf(t, program, "load", places[2].env); err != nil || !strings.Contains(out, "loaded "+filepath.Join(bin, name)) {
		t.Errorf("the child ended with %v, want that it loaded the link:\n%s", err, out)
	}
	os.Remove(filepath.Join(bin, name))

	// Nowhere: the error lists every place and the remedies.
	out, err := runtimetest.ChildOf(t, program, "load", places[2].env, places[3].env, places[6].env, places[7].env)
	if err == nil {
		t.Skipf("apache-tvm-ffi is installed for all users of this machine, so that it is always found: %s", out)
	}
	for _, part := range []string{
		name + " was not found; tried:",
		filepath.Join(dir, "folder", name) + " (folder of WithDir): ", "invalid ELF header",
		filepath.Join(dir, "path", name) + " (TVMFFI_LIBRARY_PATH): no such file",
		filepath.Join(bin, name) + " (folder of the executable): no such file",
		filepath.Join(bin, "lib", name) + " (lib folder of the executable): no such file",
		filepath.Join(venv, filepath.FromSlash(find.PathOfCore(runtime.GOOS))) + " (Python package): no such file",
		`run "go tool tvmffi-bind setup", or pip install apache-tvm-ffi, or put it beside the executable, or set TVMFFI_LIBRARY to the file`,
		"kind LibraryNotFound",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("the error lacks %q:\n%s", part, out)
		}
	}
	if strings.Contains(out, "relative") {
		t.Errorf("a relative folder was searched:\n%s", out)
	}
}

func TestLoadErrors(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the texts of other loaders are not tested")
	}
	library := nativetest.Library(t)
	dir := t.TempDir()
	other := "arm64"
	if runtime.GOARCH == other {
		other = "amd64"
	}
	foreign, err := wheel.TVMFFI(wheel.DefaultVersion, "linux", other)
	if err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "pipe.so")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, path string
		parts      []string
	}{
		{"missing", filepath.Join(dir, "missing.so"), []string{"missing.so (named explicitly): no such file", "set TVMFFI_LIBRARY to the file"}},
		{"no ELF", write(t, filepath.Join(dir, "text.so"), noLibrary), []string{"text.so (named explicitly): ", "invalid ELF header"}},
		{"empty", write(t, filepath.Join(dir, "empty.so"), ""), []string{"empty.so (named explicitly): ", "it is empty"}},
		{"a folder", dir, []string{dir + " (named explicitly): ", "is a folder: name the file in it"}},
		{"a named pipe", pipe, []string{pipe + " (named explicitly): ", "is a named pipe: name the file of the library"}}, // it would wait forever
		{"another architecture", nativetest.Get(t, foreign).Library(), []string{"(named explicitly): ", "libtvm_ffi.so"}},
		{"another library", nativetest.BuildText(t, "another", "int another;", nativetest.Standalone()), []string{"libanother.so is not libtvm_ffi: symbol TVMFFIGetVersion not found"}},
	} {
		for _, env := range []string{"TVMFFI_LIBRARY=", envOption + "="} {
			out, err := runtimetest.Child(t, "load", env+c.path)
			if err == nil {
				t.Errorf("%s loads: %s", c.what, out)
			}
			for _, part := range c.parts {
				if !strings.Contains(out, part) {
					t.Errorf("%s: the error lacks %q:\n%s", c.what, part, out)
				}
			}
		}
	}
	// An explicit path is the only place.
	link(t, library, filepath.Join(dir, "good", name))
	if out, err := runtimetest.Child(t, "load", "TVMFFI_LIBRARY="+filepath.Join(dir, "missing.so"), "TVMFFI_LIBRARY_PATH="+filepath.Join(dir, "good")); err == nil {
		t.Errorf("another file than the one named was loaded: %s", out)
	}
}

func TestOneLibrary(t *testing.T) {
	library := nativetest.Library(t)
	dir := t.TempDir()
	second := copyFile(t, library, filepath.Join(dir, name))
	version := "0.1.12"
	if strings.Contains(library, version) { // as in the nightly step
		version = "0.1.9"
	}
	older := nativetest.Wheel(t, version).Library()
	out, err := runtimetest.Child(t, "load twice", envFirst+"="+library, envOption+"="+older)
	if err == nil {
		t.Error("two versions were loaded")
	}
	for _, part := range []string{"the process has already loaded libtvm_ffi from " + library, "cannot load another one from " + older, "name one of them everywhere"} {
		if !strings.Contains(out, part) {
			t.Errorf("the error lacks %q:\n%s", part, out)
		}
	}
	if out, err := runtimetest.Child(t, "load twice", envFirst+"="+library, envOption+"="+link(t, library, filepath.Join(dir, "link.so"))); err != nil {
		t.Errorf("a link to the same file: %v\n%s", err, out)
	}
	if out, err := runtimetest.Child(t, "load twice", envFirst+"="+library, envOption+"="+second); err != nil {
		t.Errorf("a copy of the file: %v\n%s", err, out)
	}
	if out, err := runtimetest.Child(t, "load twice", envFirst+"="+library, envOption+"="+filepath.Join(dir, "gone.so")); err == nil || !strings.Contains(out, "gone.so") {
		t.Errorf("with a second path that is not a file the child printed %s", out)
	}
	third := copyFile(t, library, filepath.Join(dir, "third.so"))
	out, err = runtimetest.Child(t, "load and lose", envFirst+"="+third, envOption+"="+second)
	if runtime.GOOS != "windows" && (err == nil || !strings.Contains(out, "already loaded libtvm_ffi from "+third+", which cannot be compared with "+second)) { // there a file that is loaded stays
		t.Errorf("after the first file has gone: %v\n%s", err, out)
	}
	// A copy that somebody else has loaded is used, also against the search order.
	if out, err := runtimetest.Child(t, "load", envFirst+"="+second, "TVMFFI_LIBRARY_PATH="+filepath.Dir(library)); err != nil || !strings.Contains(out, "loaded "+second) {
		t.Errorf("the child ended with %v, want the copy that was loaded:\n%s", err, out)
	}
	if out, err := runtimetest.Child(t, "load", envFirst+"="+second, "TVMFFI_LIBRARY="+library); err != nil || !strings.Contains(out, "loaded "+second) {
		t.Errorf("the child ended with %v, want the copy that was loaded:\n%s", err, out)
	}
	if out, err := runtimetest.Child(t, "load", envFirst+"="+second, "TVMFFI_LIBRARY="+older); err == nil || !strings.Contains(out, "already loaded libtvm_ffi from "+second) {
		t.Errorf("the child ended with %v, want an error that names the loaded copy:\n%s", err, out)
	}
	for range 3 {
		if out, err := runtimetest.Child(t, "load at once", "TVMFFI_LIBRARY="+library); err != nil {
			t.Errorf("the child ended with %v:\n%s", err, out)
		}
	}
}

func TestLibraryOfBindings(t *testing.T) {
	library, garden := nativetest.Library(t), nativetest.Build(t, "garden")
	dir := t.TempDir()
	env := func(more ...string) []string {
		return append(more, "TVMFFI_LIBRARY="+library, "TVMFFI_CACHE="+filepath.Join(dir, "cache"))
	}
	if out, err := runtimetest.Child(t, "bindings", env(envFile+"="+garden)...); err != nil || !strings.Contains(out, "loaded "+garden) {
		t.Errorf("WithFile: %v\n%s", err, out)
	}
	folder := filepath.Dir(garden)
	if out, err := runtimetest.Child(t, "bindings", env(envDir+"="+folder)...); err != nil || !strings.Contains(out, "loaded "+garden) {
		t.Errorf("WithDir: %v\n%s", err, out)
	}
	if out, err := runtimetest.Child(t, "bindings", env("TVMFFI_LIBRARY_PATH="+folder)...); err != nil || !strings.Contains(out, "loaded "+garden) {
		t.Errorf("TVMFFI_LIBRARY_PATH: %v\n%s", err, out)
	}
	cached := filepath.Join(dir, "cache", "wheels", "garden-1.0-deadbeef")
	write(t, filepath.Join(cached, find.Marker), "hash")
	file := copyFile(t, garden, filepath.Join(cached, "garden", "libgarden.so"))
	if out, err := runtimetest.Child(t, "bindings", env()...); err != nil || !strings.Contains(out, "loaded "+file) {
		t.Errorf("cache: %v\n%s", err, out)
	}
	out, err := runtimetest.Child(t, "bindings", env(envHash+"="+strings.Repeat("0", 64), "TVMFFI_LIBRARY_PATH=some/where", envFile+"=./libother.so")...)
	if err == nil {
		t.Error("a file of the cache with another hash was loaded")
	}
	for _, part := range []string{"libgarden.so was not found; tried:", file + " (cache of tvmffi-bind): another version: its sha256 is ",
		"some/where (TVMFFI_LIBRARY_PATH): is not an absolute path", "./libother.so (named explicitly): has another name",
		"the bindings were made from 0000", "pip install garden==1.0", "TVMFFI_LIBRARY_PATH (absolute)", "tvmffi.WithFile"} {
		if !strings.Contains(out, part) {
			t.Errorf("the error lacks %q:\n%s", part, out)
		}
	}
	// A file from elsewhere is the user's choice, whatever its hash.
	if out, err := runtimetest.Child(t, "bindings", env(envHash+"="+strings.Repeat("0", 64), "TVMFFI_LIBRARY_PATH="+folder)...); err != nil {
		t.Errorf("the child ended with %v, want no error:\n%s", err, out)
	}
	venv := filepath.Join(dir, "venv")
	installed := link(t, garden, filepath.Join(venv, "lib", "python3.12", "site-packages", "garden", "libgarden.so"))
	os.RemoveAll(cached)
	if out, err := runtimetest.Child(t, "bindings", env("VIRTUAL_ENV="+venv)...); err != nil || !strings.Contains(out, "loaded "+installed) {
		t.Errorf("Python package: %v\n%s", err, out)
	}
	// One that was renamed since, in a folder that is searched and where WithFile looks.
	renamed := copyFile(t, garden, filepath.Join(dir, "renamed", "libgarden-2.so"))
	for _, how := range []string{"TVMFFI_LIBRARY_PATH=" + filepath.Dir(renamed), envFile + "=" + filepath.Join(filepath.Dir(renamed), "libgarden.so")} {
		out, err := runtimetest.Child(t, "bindings", env(how)...)
		if err == nil {
			t.Errorf("%s: a file with another name was loaded", how)
		}
		for _, part := range []string{filepath.Join(filepath.Dir(renamed), "libgarden.so") + " (", "): no such file; did you mean libgarden-2.so?",
			"if it was renamed after the bindings were generated, restore the name, or write the new name under libraries in tvmffi.yaml and run go generate"} {
			if !strings.Contains(out, part) {
				t.Errorf("%s: the error lacks %q:\n%s", how, part, out)
			}
		}
	}
	if out, err := runtimetest.Child(t, "bindings", env(envFile+"="+filepath.Join(dir, "libgarden.so"))...); err == nil || !strings.Contains(out, "(named explicitly): no such file") {
		t.Errorf("the child ended with %v, want an error that names the missing file:\n%s", err, out)
	}
	if out, err := runtimetest.Child(t, "bindings", env(envFile+"="+write(t, filepath.Join(dir, "bad", "libgarden.so"), noLibrary))...); err == nil ||
		!strings.Contains(out, "invalid ELF header") || !strings.Contains(out, "libgarden.so cannot be loaded; tried:") || strings.Contains(out, "beside the executable") {
		t.Errorf("the child ended with %v, want an error with the reason of the loader:\n%s", err, out)
	}
	if err := tvmffi.LoadLibrary(filepath.Join(dir, "gone.so")); err == nil || !errors.Is(err, tvmffi.ErrNotFound) && capi.Attached() {
		t.Error(err)
	}
}

// The packages of one library load the file that one of them was given, also where the
// search would find another copy, which would end the process.
func TestLibraryOfSeveralPackages(t *testing.T) {
	library, garden := nativetest.Library(t), nativetest.Build(t, "garden")
	for _, env := range [][]string{nil, {"TVMFFI_LIBRARY_PATH=" + filepath.Dir(copyFile(t, garden, filepath.Join(t.TempDir(), "libgarden.so")))}} {
		if out, err := runtimetest.Child(t, "packages", append(env, "TVMFFI_LIBRARY="+library, envFile+"="+garden)...); err != nil {
			t.Errorf("with %v the child ended with %v:\n%s", env, err, out)
		}
	}
}

// The files of a package that are loaded later are found by the options of its Load, also
// after a failure.
func TestLoadLater(t *testing.T) {
	library, garden := nativetest.Library(t), nativetest.Build(t, "garden")
	if out, err := runtimetest.Child(t, "later", "TVMFFI_LIBRARY="+library, envFile+"="+garden); err != nil {
		t.Errorf("the child ended with %v:\n%s", err, out)
	}
	// A Load without options does not look at the file that an earlier one was given in vain.
	if out, err := runtimetest.Child(t, "again", "TVMFFI_LIBRARY="+library, "TVMFFI_LIBRARY_PATH="+filepath.Dir(garden)); err != nil {
		t.Errorf("the child ended with %v:\n%s", err, out)
	}
}

// Bindings that name the version of libtvm_ffi get it, wherever it is; without it they get
// what there is.
func TestVersionOfBindings(t *testing.T) {
	dir := t.TempDir()
	newest := link(t, nativetest.Library(t), filepath.Join(dir, "wheels", "apache-tvm-ffi-0.1.15-deadbeef", filepath.FromSlash(find.PathOfCore(runtime.GOOS))))
	older := link(t, nativetest.Wheel(t, "0.1.12").Library(), filepath.Join(dir, "wheels", "apache-tvm-ffi-0.1.12-deadbeef", filepath.FromSlash(find.PathOfCore(runtime.GOOS))))
	for _, file := range []string{newest, older} {
		write(t, filepath.Join(strings.TrimSuffix(file, filepath.FromSlash(find.PathOfCore(runtime.GOOS))), find.Marker), "hash")
	}
	for version, want := range map[string]string{"0.1.12": older, "0.1.15": newest, "0.1.13": newest, "": newest} {
		if out, err := runtimetest.Child(t, "version", "TVMFFI_CACHE="+dir, envFirst+"="+version); err != nil || strings.TrimSpace(out) != "loaded "+want {
			t.Errorf("for version %q the child ended with %v, want that it loaded %s:\n%s", version, err, want, out)
		}
	}
}

// The loader's reason comes with a remedy, where there is one.
func TestLoadRemedies(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the texts of other loaders are not tested")
	}
	runtimetest.Load(t)
	dir := t.TempDir()
	future := nativetest.Build(t, "hostile/future")
	// The beginning of what tilelang 0.1.15 needs, which libtvm_ffi lacks since 0.1.13.
	older := nativetest.BuildText(t, "older", "extern \"C\" int gone() __asm__(\"_ZN3tvm3ffi4json9StringifyERKNS0_3AnyENS0_8OptionalIivE_test\");\nint early = gone();\n", nativetest.Standalone())
	beside := copyFile(t, tvmffi.LibraryPath(), filepath.Join(dir, "site-packages", filepath.FromSlash(find.PathOfCore(runtime.GOOS))))
	installed := copyFile(t, future, filepath.Join(dir, "site-packages", "future", "lib", "libfuture.so"))
	needs := func(soname string) string {
		base := nativetest.BuildText(t, "base", "extern \"C\" int base() { return 1; }\n", nativetest.Standalone(), nativetest.Flags("-Wl,-soname,"+soname))
		return nativetest.BuildText(t, "needs", "extern \"C\" int base();\nextern \"C\" int needs() { return base(); }\n", nativetest.Standalone(), nativetest.Flags(base))
	}
	version, err := tvmffi.Version()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, path, remedy string }{
		{"another libtvm_ffi", future, "FromTheFutureEv; it was built for another version of libtvm_ffi than " + tvmffi.LibraryPath() + " (" + version + "); set TVMFFI_LIBRARY to the right one"},
		{"an older libtvm_ffi", older, "(" + version + "); the symbol is in apache-tvm-ffi 0.1.12 and older: run \"go tool tvmffi-bind setup --version 0.1.12\"; set TVMFFI_LIBRARY to the right one"},
		{"another libtvm_ffi, installed", installed, "(" + version + "); use the one that is installed beside it: TVMFFI_LIBRARY=" + beside},
		{"another symbol", nativetest.Build(t, "hostile/unresolved"), "hostile_symbol_that_nobody_defines; no loaded library defines the symbol: link this one with what defines it, or load that library first"},
		{"another library", needs("libbase.so.7"), "No such file or directory; it needs libbase.so.7; install it where the system finds it, or load the file first (--dep"},
		{"the C++ runtime", needs("libstdc++.so.999"), "it needs libstdc++.so.999 of the C++ runtime; install the packages libstdc++6 and libgcc-s1"},
		{"the driver", needs("libcuda.so.999"), "libcuda.so.999 comes with the driver of NVIDIA GPUs"},
	} {
		if err := tvmffi.LoadLibrary(c.path); err == nil || !strings.Contains(err.Error(), c.remedy) {
			t.Errorf("%s: %v\nlacks %q", c.what, err, c.remedy)
		}
	}
}

// smallMatrix makes calls of every kind, as far as the loaded version has them.
func smallMatrix() error {
	version, err := tvmffi.Version()
	if err != nil {
		return err
	}
	fmt.Println("version", version)
	for _, x := range []any{nil, true, int64(-7), 0.5, "short", "a text of more than seven bytes", "\x00", []byte{1, 2, 3, 4, 5, 6, 7, 8, 9}} {
		v, err := runtimetest.Call("calls.echo", x)
		if err != nil || fmt.Sprint(v.Value()) != fmt.Sprint(x) {
			return fmt.Errorf("echo of %v: %v, %v", x, v, err)
		}
	}
	own := errors.New("own")
	f, err := tvmffi.FuncOf(func(x int64) (int64, error) {
		if x == 3 {
			return 0, own
		}
		return x, nil
	})
	if err != nil {
		return err
	}
	for _, where := range []string{"calls.repeat", "calls.repeat_on_thread"} {
		if v, err := runtimetest.Call(where, f, 3); err != nil || v.Value() != int64(3) {
			return fmt.Errorf("%s: %v, %v", where, v, err)
		}
		if _, err := runtimetest.Call(where, f, 4); !errors.Is(err, own) {
			return fmt.Errorf("%s: %w", where, err)
		}
	}
	if _, err := runtimetest.Call("calls.fail", "KeyError", "message"); !errors.Is(err, tvmffi.ErrKey) || err.Error() != "KeyError: message" {
		return fmt.Errorf("fail: %w", err)
	}
	x, err := tvmffi.FromSlice([]float32{1, 2, 3})
	if err != nil {
		return err
	}
	if v, err := runtimetest.Call("calls.sum_tensor", x); err != nil || v.Value() != 6.0 {
		return fmt.Errorf("sum_tensor: %v, %w", v, err)
	}
	if v, err := runtimetest.Call("calls.echo_strings", []string{"a", "b"}); err != nil {
		return err
	} else if s, err := tvmffi.As[[]string](v); err != nil || !slices.Equal(s, []string{"a", "b"}) {
		return fmt.Errorf("echo_strings: %v, %w", s, err)
	}
	if v, err := runtimetest.Call("calls.table", 3); err != nil {
		return err
	} else if m, err := tvmffi.As[map[string]int64](v); err != nil || len(m) != 3 || m["key 2"] != 2 {
		return fmt.Errorf("table: %v, %w", m, err)
	}
	b, err := runtimetest.Call("calls.box", 5)
	if err != nil {
		return err
	}
	o, err := tvmffi.As[*runtimetest.Box](b)
	if err != nil || o.I64() != 5 || !strings.Contains(o.String(), "calls.Box") {
		return fmt.Errorf("box: %v, %w", o, err)
	}
	if err := o.SetI64(6); err != nil || o.I64() != 6 {
		return fmt.Errorf("box: %d, %w", o.I64(), err)
	}
	big30, _ := new(big.Int).SetString("1000000000000000000000000000000", 10)
	v, err := runtimetest.Call("calls.echo", big30)
	if capi.API.BigIntFromByteArray == 0 {
		if !errors.Is(err, tvmffi.ErrOverflow) {
			return fmt.Errorf("10^30: %v, %w", v, err)
		}
	} else if back, err := tvmffi.As[*big.Int](v); err != nil || back.Cmp(big30) != 0 {
		return fmt.Errorf("10^30: %v, %w", back, err)
	}
	l, err := tvmffi.NewList[int64](1)
	if err != nil {
		return err
	}
	if err := l.Append(2); err != nil || l.Len() != 2 {
		return fmt.Errorf("list: %w", err)
	}
	d, err := tvmffi.NewDict(tvmffi.MapOf(map[string]int64{"a": 1}))
	if err != nil {
		return err
	}
	if v, ok := d.Get("a"); !ok || v != 1 {
		return fmt.Errorf("dict: %v", v)
	}
	return nil
}

// Every supported version of the library makes the same calls.
func TestVersions(t *testing.T) {
	for _, version := range []string{"0.1.9", "0.1.12", "0.1.14.post1", wheel.DefaultVersion} {
		t.Run(version, func(t *testing.T) {
			library := nativetest.Wheel(t, version).Library()
			source := "calls" // which other tests have built
			if version != nativetest.Version() {
				source = "versions/calls" // which compiles in a fifth of the time
			}
			file := nativetest.Build(t, source, nativetest.AgainstVersion(version))
			out, err := runtimetest.Child(t, "matrix", "TVMFFI_LIBRARY="+library, envFile+"="+file)
			var exit *exec.ExitError
			if errors.As(err, &exit) || err != nil {
				t.Errorf("the child ended with %v:\n%s", err, out)
			}
			t.Log(strings.TrimSpace(out))
		})
	}
}
