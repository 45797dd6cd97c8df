package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tvmffi-go/tvmffi/internal/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"tvmffi-bind": main})
}

// TestScripts runs the tool as a user would, in fresh folders, on real libraries.
// Downloads and the Go proxy are off: everything comes from the caches.
func TestScripts(t *testing.T) {
	native := nativeLibraries(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			return setup(env, root)
		},
		Condition: condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      cmdExits,
			"native":     func(ts *testscript.TestScript, neg bool, args []string) { cmdNative(ts, native, args) },
			"consumer":   func(ts *testscript.TestScript, neg bool, args []string) { cmdConsumer(ts, root, args) },
			"quickstart": func(ts *testscript.TestScript, neg bool, args []string) { cmdQuickstart(ts, root, args) },
			"foreign":    cmdForeign,
		},
	})
}

// setup gives a script the caches of the user who runs the tests, and nothing else.
func setup(env *testscript.Env, root string) error {
	cache, err := wheel.CacheDir()
	if err != nil {
		return err
	}
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		return err
	}
	dirs := strings.Split(strings.TrimSpace(string(out)), "\n")
	env.Setenv("TVMFFI_CACHE", cache)
	env.Setenv("GOCACHE", dirs[0])
	env.Setenv("GOMODCACHE", dirs[1])
	env.Setenv("GOPROXY", "off")
	env.Setenv("GOFLAGS", "-buildvcs=false")
	env.Setenv("CGO_ENABLED", "0")
	env.Setenv("ROOT", root)
	return nil
}

// condition knows [unprivileged]: file permissions mean something.
func condition(cond string) (bool, error) {
	if cond == "unprivileged" {
		return os.Geteuid() > 0, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

// nativeLibraries builds the C++ libraries of the scripts, by name. The wheels that
// the scripts need come into the cache here, before they are offline.
func nativeLibraries(t *testing.T) map[string]string {
	t.Helper()
	nativetest.XGrammar(t)
	libs := map[string]string{
		"tvm_ffi": nativetest.Library(t),
		"testing": nativetest.Testing(t),
		"land":    nativetest.Build(t, "land"),
		"garden":  nativetest.Build(t, "garden", nativetest.Flags("-DTVM_FFI_DLL_EXPORT_INCLUDE_METADATA=1")),
	}
	for _, name := range []string{"abort", "exit", "hang", "noise", "plain", "segfault", "throw", "twice", "unresolved"} {
		libs[name] = nativetest.Build(t, "hostile/"+name)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "garden.cc"))
	if err != nil {
		t.Fatal(err)
	}
	// The next version of the garden: one function more, one with another signature.
	changed := strings.NewReplacer(
		`.def("garden.alive", [] { return alive.load(); }`, `.def("garden.weeds", [] { return alive.load(); })
      .def("garden.alive", [](bool) { return alive.load(); }`,
	).Replace(string(text))
	if changed == string(text) {
		t.Fatal("garden.cc has changed: the edit of its next version no longer applies")
	}
	libs["garden2"] = nativetest.BuildText(t, "garden", changed, nativetest.Flags("-DTVM_FFI_DLL_EXPORT_INCLUDE_METADATA=1"))
	return libs
}

// cmdExits is "exits CODE COMMAND...": the command ends with that exit code.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// cmdNative is "native NAME FILE": puts a library into the script's folder.
func cmdNative(ts *testscript.TestScript, libs map[string]string, args []string) {
	if len(args) != 2 || libs[args[0]] == "" {
		ts.Fatalf("usage: native name file")
	}
	data, err := os.ReadFile(libs[args[0]])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o755))
}

// cmdForeign is "foreign FILE": turns an ELF library into one of another processor.
func cmdForeign(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	if !bytes.HasPrefix(data, []byte("\x7fELF")) {
		ts.Fatalf("%s is not an ELF file", args[0])
	}
	data[18] = map[string]byte{"amd64": 0xB7, "arm64": 0x3E}[runtime.GOARCH]
	ts.Check(os.WriteFile(path, data, 0o755))
}

// cmdConsumer is "consumer NAME": makes the working directory a module that has the
// tool, by go get -tool, from this repository.
func cmdConsumer(ts *testscript.TestScript, root string, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: consumer module")
	}
	ts.Check(ts.Exec("go", "mod", "init", args[0]))
	ts.Check(ts.Exec("go", "mod", "edit", "-replace", modulePath+"="+root))
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("go.sum"), sums, 0o644))
	ts.Check(ts.Exec("go", "get", "-tool", modulePath+"/cmd/tvmffi-bind@v0.0.0"))
}

// cmdQuickstart is "quickstart MODULE": copies examples/quickstart, but for what is
// generated, into the working directory, which is that module.
func cmdQuickstart(ts *testscript.TestScript, root string, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: quickstart module")
	}
	ts.Check(os.Mkdir(ts.MkAbs("native"), 0o755))
	for _, name := range []string{"generate.go", "main.go", "main_test.go", "tvmffi.yaml", "native/synth.cc"} {
		data, err := os.ReadFile(filepath.Join(root, "examples", "quickstart", filepath.FromSlash(name)))
		ts.Check(err)
		data = bytes.ReplaceAll(data, []byte(modulePath+"/examples/quickstart/"), []byte(args[0]+"/"))
		ts.Check(os.WriteFile(ts.MkAbs(name), data, 0o755))
	}
}
