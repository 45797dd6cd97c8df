package compiler_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/compiler"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

func TestFind(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("CXX", program)
	if got, err := compiler.Find(); err != nil || got != program {
		t.Errorf("CXX=%s: %q, %v", program, got, err)
	}
	t.Setenv("CXX", filepath.Join(t.TempDir(), "missing"))
	if got, err := compiler.Find(); err == nil || !strings.Contains(err.Error(), "missing") || !strings.Contains(err.Error(), "install g++") {
		t.Errorf("a compiler that does not exist: %q, %v; want an error that names it and what to install", got, err)
	}
	t.Setenv("CXX", "")
	t.Setenv("PATH", t.TempDir())
	if got, err := compiler.Find(); err == nil || !strings.Contains(err.Error(), "clang++") {
		t.Errorf("an empty PATH: %q, %v; want an error that lists the names", got, err)
	}
}

// The real compiler makes a library with the flags of this package.
func TestCompile(t *testing.T) {
	nativetest.StartsCompiler(t)
	cxx := nativetest.Compiler(t)
	id, err := compiler.Identify(t.Context(), cxx)
	if err != nil || id.Version == "" || id.Machine == "" {
		t.Errorf("%s: %+v, %v; want a version and a target", cxx, id, err)
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "answer.cc")
	if err := os.WriteFile(source, []byte("extern \"C\" int answer() { return 42; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := compiler.Library(runtime.GOOS, "answer")
	args := append(compiler.Flags(), compiler.Link(runtime.GOOS, file)...)
	cmd := exec.CommandContext(t.Context(), cxx, append(args, "-o", filepath.Join(dir, file), source)...)
	if out, err := compiler.Run(cmd); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(source, []byte("int answer() { return nothing; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := compiler.Run(exec.CommandContext(t.Context(), cxx, "-c", "-o", os.DevNull, source))
	if err == nil || !strings.Contains(out, "nothing") {
		t.Errorf("source with an error: %v, output %q; want an error, and output that names the undeclared identifier", err, out)
	}
	if _, err := compiler.Identify(t.Context(), filepath.Join(dir, "missing")); err == nil {
		t.Error("Identify of a compiler that does not exist returned no error")
	}
}

func TestFirstLines(t *testing.T) {
	long := strings.Repeat("error\n", 100)
	for _, c := range []struct {
		name, output string
		lines        int
		want         string
	}{
		{"short", "a\nb", 2, "a\nb"},
		{"long", long, 31, "error\n..."},
		{"a full disk", "cannot write: No space left on device", 2, "TVMFFI_CACHE"},
		{"a full disk after many lines", long + "disk quota exceeded", 32, "free some space"},
	} {
		got := compiler.FirstLines(c.output)
		if n := strings.Count(got, "\n") + 1; n != c.lines || !strings.Contains(got, c.want) {
			t.Errorf("%s: %d lines, want %d with %q:\n%s", c.name, n, c.lines, c.want, got)
		}
	}
}

// Of many that want the same files one makes them; the others find them.
func TestOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	file := filepath.Join(dir, "made")
	cached := func() bool {
		_, err := os.Stat(file)
		return err == nil
	}
	var builds atomic.Int32
	build := func(temp string) ([]string, error) {
		builds.Add(1)
		return []string{"made"}, os.WriteFile(filepath.Join(temp, "made"), []byte("content"), 0o600)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := compiler.Once(t.Context(), dir, cached, build); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if text, err := os.ReadFile(file); err != nil || string(text) != "content" || builds.Load() != 1 {
		t.Errorf("content %q, %v, after %d builds; want 1", text, err, builds.Load())
	}

	failure := errors.New("the compiler failed")
	never := func() bool { return false }
	err := compiler.Once(t.Context(), dir, never, func(temp string) ([]string, error) { return nil, failure })
	if !errors.Is(err, failure) {
		t.Errorf("a build that fails: %v, want %v", err, failure)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("the folder has %v, %v; want the file and the lock", left, err)
	}

	// A file in a folder in which others can write may be theirs.
	if runtime.GOOS != "windows" {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		err := compiler.Once(t.Context(), dir, cached, build)
		if err == nil || !strings.Contains(err.Error(), "run chmod go-w "+dir) {
			t.Errorf("a folder in which others can write: %v", err)
		}
	}
}
