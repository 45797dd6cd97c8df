package bindings

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestMain lets the test binary be the process that reads libraries.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == probe.ChildCommand {
		if probe.Serve(context.Background(), os.Stdin, os.Args[2]) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// generated is a run that is on the disk, in a module that imports a package of its own.
type generated struct {
	dir string
	bin string // the first folder of the PATH
	p   *probe.Prober
	b   *Result
}

// generate writes bindings for a configuration, and a file of the user beside them. All is as old as it must be.
func generate(t *testing.T, config string) *generated {
	t.Helper()
	was := settled
	settled = -time.Hour
	t.Cleanup(func() { settled = was })
	t.Setenv("TVMFFI_CACHE", t.TempDir())
	t.Setenv("GOENV", filepath.Join(t.TempDir(), "env"))
	dir := consumer.New(t, "example.com/hello").Dir
	write(t, filepath.Join(dir, project.ConfigName), config)
	write(t, filepath.Join(dir, "garden", "own.go"), "package garden\n\nimport _ \"example.com/hello/own\"\n")
	write(t, filepath.Join(dir, "own", "own.go"), "package own\n")
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return &generated{dir: dir, bin: bin, p: &probe.Prober{Console: &console.Console{Out: io.Discard, Err: io.Discard}, Offline: true, Timeout: nativetest.Patience(time.Minute)}}
}

func (g *generated) config(t *testing.T) *project.Config {
	t.Helper()
	c, err := project.ReadConfig(filepath.Join(g.dir, project.ConfigName))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// run makes the run, and reports whether it was recorded.
func (g *generated) run(t *testing.T) bool {
	t.Helper()
	c := g.config(t)
	m := Remember(c)
	var err error
	if g.b, err = Generate(t.Context(), g.p, c); err != nil {
		t.Fatal(err)
	}
	if err := g.b.Output.Write(); err != nil {
		t.Fatal(err)
	}
	m.Keep(g.p, c, g.b, "summary")
	return g.unchanged(t)
}

func (g *generated) unchanged(t *testing.T) bool {
	t.Helper()
	c := g.config(t)
	fresh := *g.p // another process knows no hash
	summary, n, yes := Remember(c).Unchanged(t.Context(), &probe.Prober{Console: fresh.Console, Offline: true}, c)
	if yes && (summary != "summary" || n != len(g.b.Files)+1) {
		t.Errorf("it has printed %q and has %d files", summary, n)
	}
	return yes
}

// check makes a change, after which the run is not the last one, undoes it and records the run again.
func (g *generated) check(t *testing.T, what string, change func(t *testing.T) (undo func())) {
	t.Helper()
	t.Run(what, func(t *testing.T) {
		undo := change(t)
		if g.unchanged(t) {
			t.Error("the last run counts")
		}
		if undo != nil {
			undo()
		}
	})
	c := g.config(t)
	Remember(c).Keep(g.p, c, g.b, "summary")
	if !g.unchanged(t) {
		t.Fatalf("after %s and its opposite, the last run does not count", what)
	}
}

// set changes the content of a file, or writes a new one.
func set(file string, edit func(text string) string) func(t *testing.T) func() {
	return func(t *testing.T) func() {
		t.Helper()
		old, err := os.ReadFile(file)
		fresh := err != nil
		write(t, file, edit(string(old)))
		return func() {
			if fresh {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
				return
			}
			write(t, file, string(old))
		}
	}
}

// TestUnchanged changes each thing that a run from a saved schema reads or writes.
func TestUnchanged(t *testing.T) {
	g := generate(t, gardenConfig+"names: [my.json]\n")
	at := func(name string) string { return filepath.Join(g.dir, filepath.FromSlash(name)) }
	write(t, at("garden.json"), gardenText)
	write(t, at("my.json"), `{"format": 1, "items": {"garden.weed": {"doc": "Weed pulls out."}}}`)
	if !g.run(t) {
		t.Fatal("the run was not recorded")
	}
	more := func(text string) string { return text + "\n" }
	comment := func(text string) string { return text + "\n// more\n" }
	for _, name := range []string{"tvmffi.yaml", "garden.json", "my.json", "tvmffi.lock", "go.sum"} {
		g.check(t, "another "+name, set(at(name), more))
	}
	for _, name := range []string{"go.mod", "garden/own.go", "garden/library_gen.go", "own/own.go"} {
		g.check(t, "another "+name, set(at(name), comment))
	}
	for name, text := range map[string]string{
		"own/more.go": "package own\n", "garden/more.go": "package garden\n", "garden/bed/bed.go": "package bed\n", "garden/old_gen.go": "package garden\n",
		"garden/go.mod": "module example.com/garden\n", "go.work": "go 1.26\nuse .\n", "vendor/modules.txt": "\n", "garden/.tvmffi-bind-1.tmp": "",
	} {
		g.check(t, "a new "+name, set(at(name), func(string) string { return text }))
	}
	g.check(t, "another setting of the user", set(os.Getenv("GOENV"), func(string) string { return "GOFLAGS=-tags=x\n" }))
	for _, name := range []string{"garden/functions_gen.go", "tvmffi.lock"} {
		g.check(t, "without "+name, func(t *testing.T) func() {
			text, err := os.ReadFile(at(name))
			if err == nil {
				err = os.Remove(at(name))
			}
			if err != nil {
				t.Fatal(err)
			}
			return func() { write(t, at(name), string(text)) }
		})
	}
	for name, value := range map[string]string{"GOFLAGS": "-tags=x", "GOOS": "linux", "GOWORK": "off", "TVMFFI_LIBRARY": "x", "LD_LIBRARY_PATH": "/x", "ANY": "x"} {
		g.check(t, "another "+name, func(t *testing.T) func() { t.Setenv(name, value); return nil })
	}
	g.check(t, "another place", func(t *testing.T) func() { t.Chdir(t.TempDir()); return nil })
	for _, name := range []string{"go", "gcc"} { // in a folder that the PATH had before
		g.check(t, "another "+name, func(t *testing.T) func() {
			link := filepath.Join(g.bin, name)
			if err := os.Symlink(g.recorded(t, "/bin/go"), link); err != nil {
				t.Fatal(err)
			}
			return func() { os.Remove(link) }
		})
	}
	g.check(t, "another tool", func(*testing.T) func() {
		hashTool = func() (string, error) { return "other", nil }
		return func() { hashTool = probe.HashTool }
	})
	for _, name := range []string{"/VERSION", "/go.env", "/runtime/bindrt", "/runtime/bindrt/bindrt.go", "/own/own.go"} {
		g.recorded(t, name)
	}
}

// recorded returns a path whose state the run has recorded.
func (g *generated) recorded(t *testing.T, end string) string {
	t.Helper()
	for path := range Remember(g.config(t)).last.States {
		if strings.HasSuffix(path, end) {
			return path
		}
	}
	t.Fatalf("nothing is recorded about %s", end)
	return ""
}

// TestUnchanged_library reads a real library, by a link.
func TestUnchanged_library(t *testing.T) {
	g := generate(t, "package: garden\nout: ./garden\nlibraries: [{file: lib/libgarden.so}]\n")
	library, err := os.ReadFile(nativetest.Testing(t))
	if err != nil {
		t.Fatal(err)
	}
	core := nativetest.Library(t)
	t.Setenv("TVMFFI_LIBRARY", core)
	for _, name := range []string{"one", "two"} {
		write(t, filepath.Join(g.dir, "lib", name, "libgarden.so"), string(library))
	}
	link := filepath.Join(g.dir, "lib", "libgarden.so")
	to := func(t *testing.T, folder string) {
		t.Helper()
		_ = os.Remove(link)
		if err := os.Symlink(filepath.Join(folder, "libgarden.so"), link); err != nil {
			t.Fatal(err)
		}
	}
	to(t, "one")
	if !g.run(t) {
		t.Fatal("the run was not recorded")
	}
	g.check(t, "a link to another file", func(t *testing.T) func() { to(t, "two"); return func() { to(t, "one") } })
	g.check(t, "another build", set(filepath.Join(g.dir, "lib/one/libgarden.so"), func(text string) string { return text + "more" }))
	g.check(t, "a libtvm_ffi that the loader finds before", set(filepath.Join(g.dir, "lib/libtvm_ffi.so"), func(string) string { return "" }))
	g.check(t, "another libtvm_ffi", func(t *testing.T) func() {
		text, err := os.ReadFile(core)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "libtvm_ffi.so")
		write(t, file, string(text))
		t.Setenv("TVMFFI_LIBRARY", file)
		return nil
	})
}

// TestUnchanged_never: some runs read what nobody can list.
func TestUnchanged_never(t *testing.T) {
	g := generate(t, gardenConfig)
	write(t, filepath.Join(g.dir, "garden.json"), gardenText)
	if !g.run(t) {
		t.Fatal("the run was not recorded")
	}
	settled = time.Hour
	if c := g.config(t); Remember(c).note == "" {
		t.Error("nothing is known about the configuration")
	}
	if err := os.RemoveAll(filepath.Join(os.Getenv("TVMFFI_CACHE"), "runs")); err != nil {
		t.Fatal(err)
	}
	if g.run(t) {
		t.Error("files that have just changed were recorded")
	}
	settled = -time.Hour
	for name, value := range map[string]string{"GOFLAGS": "-modfile=go.mod", "GOPACKAGESDRIVER": "x", "PATH": "/nowhere"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if Remember(g.config(t)).note != "" {
				t.Error("a run is remembered")
			}
		})
	}
	write(t, filepath.Join(g.dir, "garden", "embeds.go"), "package garden\n\nimport _ \"embed\"\n")
	if g.run(t) {
		t.Error("a package with embedded files was recorded")
	}
}
