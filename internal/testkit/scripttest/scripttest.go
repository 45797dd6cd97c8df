// Package scripttest runs scripts of tvmffi-bind like a user, in fresh folders, with real libraries. Only tests
// import it.
//
// The scripts are in the format of [testscript]. They have these commands in addition:
//
//	native NAME FILE    puts a library into the folder of the script
//	wheeled NAME FILE   makes a wheel, FILE, of a library and of Python that calls it
//	foreign FILE        turns an ELF library into one of another processor
//	consumer MODULE     makes the working folder a module that requires this one and its tool, by go get
//	quickstart MODULE   copies examples/quickstart, without what is generated, into the working folder
//	environment FOLDER  makes a virtual environment of Python that has nothing but tvm_ffi, and activates it
//	auditwheel PATTERN  checks the tag and the metadata of the wheel that matches as package indexes do
//	exits CODE COMMAND  runs a command that ends with that exit code
//
// the variable PATIENCE, which is 2 s on an idle machine, and the condition [unprivileged]: file permissions have an effect.
package scripttest

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// limit is how long a script may take on an idle machine. The longest takes 20 s on two cores. testscript keeps a tenth
// of it to stop what still runs.
const limit = 2 * time.Minute

// Run runs the scripts in the folder testdata of the package under test, several at a time, with the tool
// built from the repository. The modules that the scripts need are brought into the module cache first; then the module
// proxy is off. Under -short they are skipped.
//
// Each script has a time limit of its own, so that a script that hangs fails under its name, before the limit of go
// test ends all others. go test gives each package a limit of its own, so scripts that take long are spread over
// several packages.
func Run(t *testing.T) {
	offline := consumer.Offline(t)
	nativetest.Pinned(t, "xgrammar")
	// In a folder of its own it is a program as users install it, not one that the go command runs from its cache.
	bin := t.TempDir()
	data, err := os.ReadFile(consumer.Tool(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "tvmffi-bind"), data, 0o700); err != nil {
		t.Fatal(err)
	}
	run(t, append(offline, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH")))
}

// RunMain runs them with the test binary as the tool; its TestMain must call testscript.Main. They run under -short, too:
// those that start compilers skip themselves there.
func RunMain(t *testing.T) {
	t.Setenv("PATH", os.Getenv("PATH")) // it is as before after the test
	if err := nativetest.SkipShims(); err != nil {
		t.Fatal(err)
	}
	run(t, consumer.NoNetwork())
}

func run(t *testing.T, vars []string) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in testdata: %v", err)
	}
	root, err := nativetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	// This looks for what every script needs, so that one message reports what is missing.
	nativetest.Library(t)
	nativetest.Build(t, "garden")
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			all, _ := t.Deadline()
			testscript.RunT(single{t}, params(t, file, root, vars, deadline(time.Now(), nativetest.Patience(limit), all)))
		})
	}
}

// params describes the run of one script.
func params(t *testing.T, file, root string, vars []string, deadline time.Time) testscript.Params {
	return testscript.Params{
		Files:               []string{file},
		RequireExplicitExec: true,
		WorkdirRoot:         consumer.Folder(t), // the go command does not compile again what it has compiled there before
		Deadline:            deadline,
		Setup:               func(env *testscript.Env) error { return setup(env, root, vars) },
		Condition:           condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"environment": func(ts *testscript.TestScript, _ bool, args []string) { environment(t, ts, args) },
			"auditwheel":  func(ts *testscript.TestScript, _ bool, args []string) { auditwheel(t, ts, args) },
			"exits":       exits,
			"foreign":     foreign,
			"cached":      func(ts *testscript.TestScript, _ bool, args []string) { cached(t, ts, args) },
			"wheeled":     func(ts *testscript.TestScript, _ bool, args []string) { wheeled(t, ts, args) },
			"native":      func(ts *testscript.TestScript, _ bool, args []string) { native(t, ts, args) },
			"consumer":    func(ts *testscript.TestScript, _ bool, args []string) { newModule(t, ts, root, args) },
			"quickstart":  func(ts *testscript.TestScript, _ bool, args []string) { quickstart(ts, root, args) },
		},
	}
}

// deadline is the time at which a script is ended. If the whole test binary ends sooner than that, it is a little before
// that end, so that the test can still name the script.
func deadline(start time.Time, limit time.Duration, all time.Time) time.Time {
	end := start.Add(limit)
	if left := all.Sub(start); !all.IsZero() && left < limit {
		return all.Add(-min(30*time.Second, left/10))
	}
	return end
}

// single runs the only script of a call of testscript.RunT as the test itself, not as a subtest.
type single struct{ *testing.T }

// Run runs the script in s itself.
func (s single) Run(_ string, f func(testscript.T)) { f(s) }

// Parallel does nothing: the caller decides what runs in parallel.
func (s single) Parallel() {}

// Verbose reports whether -test.v is set.
func (s single) Verbose() bool { return testing.Verbose() }

// setup gives a script these variables and the caches of the user who runs the tests, and no others.
func setup(env *testscript.Env, root string, vars []string) error {
	cache, err := find.CacheDir()
	if err != nil {
		return err
	}
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "CGO_ENABLED").Output()
	if err != nil {
		return err
	}
	dirs := strings.Split(strings.TrimSpace(string(out)), "\n")
	env.Vars = append(env.Vars, vars...)
	env.Setenv("TVMFFI_CACHE", cache)
	env.Setenv("ZIG_GLOBAL_CACHE_DIR", filepath.Join(cache, "zig")) // zig builds a libc for each target once
	env.Setenv("GOCACHE", dirs[0])
	env.Setenv("GOMODCACHE", dirs[1])
	env.Setenv("GOFLAGS", "-buildvcs=false")
	env.Setenv("GOGC", "400") // for compilers and linkers, and what tvmffi-bind chooses itself
	env.Setenv("PATIENCE", nativetest.Patience(2*time.Second).Round(time.Second).String())
	env.Setenv("CGO_ENABLED", dirs[2]) // another setting compiles this module and the standard library again
	env.Setenv("ROOT", root)
	// Without GOWORK=off: a script may make a workspace, and there is none above its folder.
	env.Setenv("GOWORK", "")
	return nil
}

func condition(cond string) (bool, error) {
	if cond == "unprivileged" {
		return os.Geteuid() > 0, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

// native is "native NAME FILE".
func native(t *testing.T, ts *testscript.TestScript, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: native name file")
	}
	data, err := os.ReadFile(library(t, args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o755))
}

// wheeled is "wheeled NAME FILE", then perhaps the versions of libtvm_ffi, and other packages, that it requires.
func wheeled(t *testing.T, ts *testscript.TestScript, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: wheeled name file [versions [requirement]...]")
	}
	versions := append(args[:len(args):len(args)], ">=0.1.15")[2]
	more := ""
	for _, requirement := range args[min(3, len(args)):] {
		more += "Requires-Dist: " + requirement + "\n"
	}
	data, err := os.ReadFile(library(t, args[0]))
	ts.Check(err)
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	record := args[0] + ".dist-info/RECORD,,\n"
	add := func(name, text string) {
		w, err := z.Create(name)
		ts.Check(err)
		_, err = w.Write([]byte(text))
		ts.Check(err)
		sum := sha256.Sum256([]byte(text))
		record += fmt.Sprintf("%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(text))
	}
	add(args[0]+"/lib/lib"+args[0]+".so", string(data))
	add(args[0]+"/__init__.py", "import tvm_ffi\n\n_get = tvm_ffi.get_global_func\n")
	add(args[0]+".dist-info/METADATA", "Name: "+args[0]+"\nLicense-Expression: MIT\nRequires-Dist: numpy\nRequires-Dist: apache-tvm-ffi"+versions+"\n"+more+"\n")
	add(args[0]+".dist-info/WHEEL", "Tag: py3-none-any\n")
	add(args[0]+".dist-info/licenses/LICENSE", "the licence\n")
	w, err := z.Create(args[0] + ".dist-info/RECORD")
	ts.Check(err)
	_, err = w.Write([]byte(record))
	ts.Check(err)
	ts.Check(z.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), out.Bytes(), 0o644))
}

// cached is "cached FOLDER VERSION...": FOLDER becomes a cache with copies of these versions of apache-tvm-ffi, and
// the variable LIBRARY the path of the last libtvm_ffi in it.
func cached(t *testing.T, ts *testscript.TestScript, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: cached folder version...")
	}
	for _, version := range args[1:] {
		wheel := nativetest.Wheel(t, version)
		tree := filepath.Join(ts.MkAbs(args[0]), "wheels", filepath.Base(wheel.Root()))
		ts.Check(os.MkdirAll(filepath.Dir(tree), 0o700))
		ts.Check(os.CopyFS(tree, os.DirFS(wheel.Root())))
		rel, err := filepath.Rel(wheel.Root(), wheel.Library())
		ts.Check(err)
		ts.Setenv("LIBRARY", filepath.Join(tree, rel))
	}
}

// library returns the path of the library with that name.
func library(t *testing.T, name string) string {
	t.Helper()
	switch name {
	case "tvm_ffi":
		return nativetest.Library(t)
	case "testing":
		return nativetest.Testing(t)
	case "land", "garden", "overloads":
		return nativetest.Build(t, name)
	case "overloads2": // the next version
		return nativetest.Build(t, "overloads", nativetest.Flags("-DNEXT"))
	case "tvm_ffi_old":
		return nativetest.Wheel(t, oldRelease).Library()
	case "keys_old": // does not fit a newer libtvm_ffi
		return nativetest.Build(t, "keys", nativetest.AgainstVersion(oldRelease), nativetest.Flags("-DHOOKS", "-DTYPED"))
	case "driver", "driverless": // both need a library that no machine has; only the first is of TVM-FFI
		device := needed(t, "cudnn_of_a_test", "libcudnn_of_a_test.so.9", `extern "C" int cudnnTestDevices() { return 1; }`)
		if name == "driver" {
			return nativetest.Build(t, "hostile/driver", nativetest.Flags(device))
		}
		return nativetest.BuildText(t, "driverless", `extern "C" int cudnnTestDevices(); int devices() { return cudnnTestDevices(); }`,
			nativetest.Standalone(), nativetest.Flags(device))
	case "part", "whole": // the second is of TVM-FFI and needs the first
		part := needed(t, "part", "libpart.so", `extern "C" int part_of_a_test() { return 7; }`)
		if name == "part" {
			return part
		}
		return nativetest.BuildText(t, "whole", `#include <tvm/ffi/function.h>
extern "C" int part_of_a_test();
static int64_t number() { return part_of_a_test(); }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(whole_number, number);`, nativetest.Flags(part))
	case "garden2":
		return nextGarden(t)
	}
	return nativetest.Build(t, "hostile/"+name)
}

// needed builds a library without TVM-FFI that another one is linked with.
func needed(t *testing.T, name, soname, text string) string {
	t.Helper()
	return nativetest.BuildText(t, name, text, nativetest.Standalone(), nativetest.Flags("-Wl,-soname,"+soname))
}

// oldRelease is the last release of apache-tvm-ffi before one that calls hooks of keys in another way.
const oldRelease = "0.1.14.post1"

// nextGarden is the next version of the garden: one function more, one with another signature.
func nextGarden(t *testing.T) string {
	t.Helper()
	root, err := nativetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "testdata", "garden.cc"))
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer(
		`.def("garden.alive", [] { return alive.load(); }`, `.def("garden.weeds", [] { return alive.load(); })
      .def("garden.alive", [](bool) { return alive.load(); }`,
	).Replace(string(text))
	if changed == string(text) {
		t.Fatal("garden.cc has changed: the edit of its next version no longer applies")
	}
	return nativetest.BuildText(t, "garden", changed)
}

// exits is "exits CODE COMMAND...".
func exits(ts *testscript.TestScript, neg bool, args []string) {
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

// foreign is "foreign FILE".
func foreign(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: foreign file")
	}
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	if !bytes.HasPrefix(data, []byte("\x7fELF")) {
		ts.Fatalf("%s is not an ELF file", args[0])
	}
	data[18] = map[string]byte{"amd64": 0xB7, "arm64": 0x3E}[runtime.GOARCH]
	ts.Check(os.WriteFile(path, data, 0o755))
}

// newModule is "consumer MODULE". It does what a user does, not what package consumer does for other tests.
func newModule(t *testing.T, ts *testscript.TestScript, root string, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: consumer module")
	}
	consumer.Offline(t)
	ts.Check(ts.Exec("go", "mod", "init", args[0]))
	ts.Check(ts.Exec("go", "mod", "edit", "-replace", consumer.Self+"="+root))
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("go.sum"), sums, 0o644))
	ts.Check(ts.Exec("go", "get", "-tool", consumer.Self+"/cmd/tvmffi-bind@v0.0.0"))
}

// quickstart is "quickstart MODULE".
func quickstart(ts *testscript.TestScript, root string, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: quickstart module")
	}
	ts.Check(os.Mkdir(ts.MkAbs("native"), 0o755))
	for _, name := range []string{"generate.go", "main.go", "main_test.go", "tvmffi.yaml", "native/synth.cc"} {
		data, err := os.ReadFile(filepath.Join(root, "examples", "quickstart", filepath.FromSlash(name)))
		ts.Check(err)
		data = bytes.ReplaceAll(data, []byte(consumer.Self+"/examples/quickstart/"), []byte(args[0]+"/"))
		ts.Check(os.WriteFile(ts.MkAbs(name), data, 0o755))
	}
}
