package bindings

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/gen"
	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
)

// gardenText is an interface of two functions, as dump writes it.
const gardenText = `{
"format": 1, "abi": {"major": 0, "minor": 1, "patch": 16},
"libraries": [{"file": "libtvm_ffi.so", "role": "core"}, {"file": "libgarden.so", "role": "bound", "sha256": "` + hash + `"}],
"functions": [
	{"name": "garden.water", "source": "global", "library": "libgarden.so",
		"signature": {"params": [{"name": "litres", "type": {"type": "float"}}], "return": {"type": "int"}}},
	{"name": "garden.weed", "source": "global", "library": "libgarden.so"}],
"types": [{"key": "ffi.Object"}]}`

// hash stands for a hash of the library.
const hash = "aa00aa00aa00aa00aa00aa00aa00aa00aa00aa00aa00aa00aa00aa00aa00aa00"

const gardenConfig = "package: garden\nout: ./garden\nfrom: garden.json\n"

// run generates by the configuration of a module.
func run(t *testing.T, dir string) (*Result, error) {
	t.Helper()
	c, err := project.ReadConfig(filepath.Join(dir, project.ConfigName))
	if err != nil {
		t.Fatal(err)
	}
	return Generate(t.Context(), &probe.Prober{Console: &console.Console{Out: io.Discard, Err: io.Discard}, Offline: true}, c)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// changed lists the files that a run would change.
func changed(t *testing.T, dir string, b *Result) string {
	t.Helper()
	var names []string
	for _, c := range b.Output.Changes {
		rel, err := filepath.Rel(dir, c.Path)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, filepath.ToSlash(rel))
	}
	return strings.Join(names, " ")
}

// TestGenerate goes from a schema to files: a first run, a run with nothing to do, one after a
// change of the library, and those that are refused before anything is written.
func TestGenerate(t *testing.T) {
	dir := consumer.New(t, "example.com/hello").Dir
	config, library := filepath.Join(dir, project.ConfigName), filepath.Join(dir, "garden.json")
	write(t, config, gardenConfig)
	write(t, library, gardenText)

	b, err := run(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := changed(t, dir, b); got != "garden/functions_gen.go garden/library_gen.go tvmffi.lock" {
		t.Errorf("the first run changes %s", got)
	}
	if b.ImportPath != "example.com/hello/garden" || b.Count()[gen.KindFunction] != 2 || b.Changes() != nil {
		t.Errorf("package %s has %d functions; changes %q", b.ImportPath, b.Count()[gen.KindFunction], b.Changes())
	}
	var stages []string
	for _, x := range b.Timings {
		stages = append(stages, x.Stage)
	}
	if want := []string{"prepare", "read", "names", "generate", "typecheck", "compare"}; !slices.Equal(stages, want) {
		t.Errorf("the stages are %q, want %q", stages, want)
	}
	c, err := project.ReadConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for want, program := range map[bool]string{true: "garden.Load()", false: "garden.Lode()"} {
		text := fmt.Sprintf("package main\n\nimport \"example.com/hello/garden\"\n\nfunc main() { _ = %s }\n", program)
		if err := b.Compiles(c, map[string][]byte{"main.go": []byte(text), "names.json": nil}); (err == nil) != want {
			t.Errorf("%s compiles: %v", program, err)
		}
	}
	if err := b.Output.Write(); err != nil {
		t.Fatal(err)
	}

	lock, err := os.ReadFile(filepath.Join(dir, project.LockName))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := strings.Replace(string(lock), `"`+project.Platform()+`": "`+hash+`"`, `"`+project.Platform()+`": "`+hash+`",`+"\n        "+`"plan9/mips": "bb"`, 1)
	if elsewhere == string(lock) {
		t.Fatalf("the lock has no hash of this platform:\n%s", lock)
	}
	write(t, filepath.Join(dir, project.LockName), elsewhere)
	if b, err = run(t, dir); err != nil {
		t.Fatal(err)
	}
	for _, c := range b.Output.Changes { // only the order of the platforms may differ
		if filepath.Base(c.Path) != project.LockName || !strings.Contains(string(c.New), `"plan9/mips": "bb"`) {
			t.Errorf("a run with nothing to do changes %s:\n%s", c.Path, c.New)
		}
	}

	write(t, library, strings.ReplaceAll(gardenText, "garden.weed", "garden.mow"))
	if b, err = run(t, dir); err != nil {
		t.Fatal(err)
	}
	if got := changed(t, dir, b); got != "garden/functions_gen.go garden/library_gen.go tvmffi.lock" {
		t.Errorf("a function with another name changes %s", got)
	}
	if want := []string{"libgarden.so changed its interface since the bindings were generated"}; !slices.Equal(b.Changes(), want) {
		t.Errorf("the changes are %q, want %q", b.Changes(), want)
	}
	if want := []string{"Weed is gone", "Mow is new"}; !slices.Equal(b.GoChanges(), want) {
		t.Errorf("for callers the changes are %q, want %q", b.GoChanges(), want)
	}
	write(t, library, strings.ReplaceAll(strings.ReplaceAll(gardenText, `{"type": "float"}`, `{"type": "int"}`), `"litres"`, `"water"`))
	if b, err = run(t, dir); err != nil {
		t.Fatal(err)
	}
	if want := []string{"Water: func(int64) (int64, error), was func(float64) (int64, error)"}; !slices.Equal(b.GoChanges(), want) {
		t.Errorf("for callers the changes are %q, want %q", b.GoChanges(), want)
	}
	write(t, library, gardenText)

	for name, c := range map[string]struct {
		config, file, text, want string
		refused                  bool
	}{
		"a rename that matches nothing": {gardenConfig + "rename: {garden.watr: Sprinkle}\n", "", "", "tvmffi.yaml:4:23: rename: \"garden.watr\": it matches no bound item", true},
		"a default of another type":     {gardenConfig + "functions:\n  garden.water:\n    default: {litres: many}\n", "", "", "tvmffi.yaml:6:23: functions: \"garden.water\": default: litres: \"many\" cannot be the default of a parameter of type float", true},
		"a default in a names file": {gardenConfig + "names: [my.json]\n", "my.json",
			"{\"format\": 1, \"items\": {\n\t\"garden.weed\": {\"doc\": \"x\"},\n\t\"garden.water\": {\"params\": [\"litres\"],\n\t\t\"default\": {\"litres\": \"many\"}}}}",
			"my.json:4:15: garden.water: default: litres: \"many\" cannot be the default of a parameter of type float: correct it or remove it", true},
		"an enum with double values": {gardenConfig + "enums:\n  Mode:\n    values: {SLOW: 0, FAST: 0}\n", "", "", "tvmffi.yaml:6:20: enums: \"Mode\": values: SLOW: FAST and SLOW are both 0: remove one", true},
		"a file of the user that does not compile": {gardenConfig, "garden/own.go", "package garden\n\nvar broken int = \"text\"\n",
			"the bindings would not compile, so nothing was written", true},
		"a file that somebody wrote": {strings.Replace(gardenConfig, "./garden", "./other", 1), "other/functions_gen.go", "package garden // by hand\n",
			"other/functions_gen.go is in the way and was not written by tvmffi-bind", true},
		"a lock of another version": {gardenConfig, project.LockName, "{}", "is not a lock file of this version", true},
		"names that are missing":    {gardenConfig + "names: [gone.json]\n", "", "", "gone.json", true},
		"a folder outside a module": {strings.Replace(gardenConfig, "./garden", filepath.Join(filepath.Dir(t.TempDir()), "x"), 1), "", "", "is not in a Go module", false},
	} {
		write(t, config, c.config)
		if c.file != "" {
			write(t, filepath.Join(dir, c.file), c.text)
		}
		_, err := run(t, dir)
		var r *console.Refusal
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &r) != c.refused {
			t.Errorf("%s: error %v, refused %v, want %q", name, err, errors.As(err, &r), c.want)
		}
		if c.file == project.LockName {
			write(t, filepath.Join(dir, c.file), string(lock))
		} else if c.file != "" {
			if err := os.Remove(filepath.Join(dir, c.file)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestGenerate_otherSystem: another system calls the library by another name, and git may have written all files with the line ends
// of Windows. There is nothing to do, and after a change of the library the bindings keep the name.
func TestGenerate_otherSystem(t *testing.T) {
	dir := consumer.New(t, "example.com/hello").Dir
	library, names := filepath.Join(dir, "garden.json"), `{"format": 1, "items": {
	"garden.weed": {"doc": "Weed pulls out.\n\nAll of them.", "params": ["bed"]}}}
`
	write(t, filepath.Join(dir, project.ConfigName), gardenConfig+"names: [my.json]\nfunctions:\n  garden.water:\n    doc: |\n      Water pours.\n\n      Much.\n")
	write(t, filepath.Join(dir, "my.json"), names)
	write(t, library, gardenText)
	b, err := run(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Output.Write(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{project.ConfigName, project.LockName, "my.json", "garden/functions_gen.go", "garden/library_gen.go"} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		write(t, file, strings.ReplaceAll(string(text), "\n", "\r\n"))
	}
	there := strings.ReplaceAll(gardenText, "libgarden.so", "garden.dll")
	write(t, library, there)
	if b, err = run(t, dir); err != nil {
		t.Fatal(err)
	}
	if !b.Output.UpToDate() || b.Output.Same != 3 || len(b.Changes()) != 0 {
		t.Errorf("a run elsewhere changes %s: %s\n%s", changed(t, dir, b), b.Changes(), b.Output.Diff())
	}
	write(t, library, strings.ReplaceAll(there, "garden.weed", "garden.mow"))
	write(t, filepath.Join(dir, "my.json"), strings.ReplaceAll(names, "garden.weed", "garden.mow"))
	if b, err = run(t, dir); err != nil {
		t.Fatal(err)
	}
	if err := b.Output.Write(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "garden", "library_gen.go"))
	if err != nil || strings.Contains(string(text), "garden.dll") || !strings.Contains(string(text), `{Name: "libgarden.so"}`) || strings.Contains(string(text), "\r") {
		t.Errorf("%v: the bindings are\n%s", err, text)
	}
}

// TestKernels_problems: all mistakes in the files of kernels are reported together, each
// with its place in the configuration.
func TestKernels_problems(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"out/a.cu", "out/b.cu", "out/k.ptx", "outside.ptx"} {
		write(t, filepath.Join(dir, name), ".version 8.0\n")
	}
	config := filepath.Join(dir, project.ConfigName)
	write(t, config, `package: kernels
out: ./out
kernels:
  - spec: "a(x: int32)"
    image: [out/k.ptx, out/missing.ptx]
  - spec: "b(x: int32)"
    source: out/*.cu
  - spec: "c(x: int32)"
    image: outside.ptx
  - spec: "d(x: int32)"
    image: k.ptx
  - spec: "e(x: int32)"
    image: "out/[.ptx"
`)
	c, err := project.ReadConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	b := &Result{Root: filepath.Join(dir, "out")}
	err = b.kernels(c)
	for _, want := range []string{
		"tvmffi.yaml:5:24: there is no file " + filepath.Join(dir, "out", "missing.ptx") + ": build it, or correct the name",
		"tvmffi.yaml:7:13: out/*.cu names 2 files: a kernel has one source file",
		"tvmffi.yaml:9:12: go:embed cannot reach " + filepath.Join(dir, "outside.ptx"),
		"tvmffi.yaml:11:12: there is no file " + filepath.Join(dir, "k.ptx") + ", but there is " + filepath.Join(dir, "out", "k.ptx") + ": name it from the folder of the configuration",
		`tvmffi.yaml:13:12: "out/[.ptx" is not a valid file name pattern`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v\nlacks %s", err, want)
		}
	}
	if lines := strings.Count(err.Error(), "\n") + 1; lines != 5 || len(b.Files) != 0 {
		t.Errorf("%d problems and the files %v, want 5 problems and no files", lines, slices.Sorted(maps.Keys(b.Files)))
	} // One mistake is enough.
	write(t, config, "package: kernels\nout: ./out\nkernels:\n  - spec: \"a(x: int32)\"\n    image: out/missing.ptx\n")
	if c, err = project.ReadConfig(config); err != nil {
		t.Fatal(err)
	}
	if err := b.kernels(c); err == nil || !strings.Contains(err.Error(), "tvmffi.yaml:5:12: there is no file") {
		t.Error(err)
	}
}
