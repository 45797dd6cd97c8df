package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSteps finds rows whose patterns name no package: such a row would test nothing, and say that it passed.
func TestSteps(t *testing.T) {
	t.Chdir("../../..")
	names := map[string]bool{}
	packages, err := listPackages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	onCalls := &changes{packages: packages}
	packages[module+"/internal/ccall"].code = true
	for path := range packages {
		machine := strings.HasPrefix(path, module+"/internal/") && !strings.HasPrefix(path, module+"/internal/testkit/")
		if machine && onCalls.dirty(path, map[string]bool{}) && !matches(calls, path) {
			t.Errorf("%s uses internal/ccall: add it to calls", path)
		}
	}
	for _, s := range steps {
		if names[s.name] || slices.Contains(groups(), s.name) || s.name == "all" {
			t.Errorf("%s: another step, a group or a word of the command has this name", s.name)
		}
		names[s.name] = true
		for _, pattern := range s.on {
			found := false
			for p := range packages {
				found = found || matches([]string{pattern}, p)
			}
			if !found {
				t.Errorf("%s: no package is called %s", s.name, pattern)
			}
		}
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct{ args, has, hasNot string }{
		{"", "demo race e2e liveness", "checkptr orcjit"},
		{"static", "vet format", "race platforms demo"},
		{"all", "race checkptr orcjit demo", ""},
		{"all modes", "race checkptr", "demo orcjit"},
		{"orcjit checkptr", "orcjit checkptr", "demo race"},
	} {
		changed := &changes{packages: map[string]*pkg{module + "/runtime": {path: module + "/runtime", code: true}}}
		chosen, left, err := choose(strings.Fields(c.args), changed)
		if err != nil {
			t.Fatal(err)
		}
		has := func(name string) bool {
			return slices.ContainsFunc(chosen, func(s step) bool { return s.name == name })
		}
		for _, name := range strings.Fields(c.has) {
			if !has(name) {
				t.Errorf("%q does not run %s", c.args, name)
			}
		}
		for _, name := range strings.Fields(c.hasNot) {
			if has(name) {
				t.Errorf("%q runs %s", c.args, name)
			}
		}
		if c.args == "" && !slices.Contains(left, "orcjit") {
			t.Errorf("orcjit is not reported: %v", left)
		}
	}
	if _, _, err := choose([]string{"rase"}, &changes{}); err == nil {
		t.Error("a step that does not exist was taken")
	}
}

func TestReach(t *testing.T) {
	packages := func() map[string]*pkg {
		list := map[string]*pkg{}
		for name, p := range map[string]*pkg{
			"/low":   {},
			"/high":  {imports: []string{module + "/low", "fmt"}},
			"/kit":   {},
			"/top":   {imports: []string{module + "/high"}, tests: []string{module + "/kit"}},
			"/top/a": {},
		} {
			p.path = module + name
			list[p.path] = p
		}
		return list
	}
	for _, c := range []struct{ file, on string }{
		{"low/x.go", "./low ./high ./top ./top/... ./..."},
		{"low/x_test.go", "./low ./..."},
		{"low/testdata/x.txt", "./low ./..."},
		{"low/data/x.txt", "./low ./high ./top ./top/... ./..."},
		{"kit/x.go", "./kit ./top ./top/... ./..."},
		{"top/x.go", "./top ./top/... ./..."},
		{"top/a/x.go", "./top/a ./top/... ./..."},
		{"top/README.md", ""},
		{"LICENSE", ""},
		{"examples/go.mod", ""},
		{"testdata/x.cc", "all"},
		{"go.mod", "all"},
		{".ci/run", "all"},
	} {
		changed := &changes{packages: packages()}
		changed.all = !changed.mark(c.file)
		if changed.all != (c.on == "all") {
			t.Errorf("%s may concern every package: %v", c.file, changed.all)
		}
		for _, pattern := range []string{"./low", "./high", "./kit", "./top", "./top/a", "./top/...", "./..."} {
			if got := changed.reach([]string{pattern}); got != (changed.all || slices.Contains(strings.Fields(c.on), pattern)) {
				t.Errorf("%s reaches %s: %v", c.file, pattern, got)
			}
		}
		if !changed.reach(nil) {
			t.Errorf("%s: a step without packages does not run", c.file)
		}
	}
}

// TestFindChanges compares with the commit where a branch began, and with another one by the variable.
func TestFindChanges(t *testing.T) {
	t.Chdir(t.TempDir())
	git := func(args ...string) string {
		t.Helper()
		args = append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"}, args...)
		out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	reaches := func(what string, want bool) {
		t.Helper()
		c, err := findChanges(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{"a", "b", "examples/e"} { // the example imports a
			if got := c.reach([]string{"./" + dir}); got != (want || dir != "b") {
				t.Errorf("%s: %s is reached: %v (%s)", what, dir, got, c.why)
			}
		}
	}
	t.Setenv("TVMFFI_CI_BASE", "")
	git("init", "-q")
	write("go.mod", "module "+module+"\n")
	write("a/a.go", "package a\n")
	write("b/b.go", "package b\n")
	write("examples/go.mod", "module "+module+"/examples\n\nrequire "+module+" v0.0.0\n\nreplace "+module+" => ..\n")
	write("examples/e/e.go", "package e\n\nimport _ \""+module+"/a\"\n")
	git("add", "-A")
	git("commit", "-qm", "one")
	first := git("rev-parse", "HEAD")
	reaches("main", true)
	git("switch", "-qc", "branch")
	write("a/new.go", "package a\n")
	reaches("a new file", false)
	git("add", "-A")
	git("commit", "-qm", "two")
	reaches("a branch", false)
	git("branch", "-qf", "main")
	reaches("main again", true)
	t.Setenv("TVMFFI_CI_BASE", first)
	reaches("main since a commit", false)
	t.Setenv("TVMFFI_CI_BASE", strings.Repeat("0", 40)) // of a new branch
	reaches("main since nothing", true)
}

// TestRun has steps that pass, fail, or are killed.
func TestRun(t *testing.T) {
	sh := func(name, script string) step {
		return step{name: name, do: func(j *job) { j.sh("sh", "-c", script) }}
	}
	t.Chdir("../../..") // of .ci/skips
	for _, c := range []struct {
		steps []step
		err   string
		has   []string
	}{
		{[]step{sh("one", "echo of one"), sh("two", "cat; echo of two >&2")}, "<nil>", []string{"of one\n==== one: passed", "of two\n==== two: passed", "all steps passed"}},
		{[]step{sh("one", "echo of one; exit 3"), sh("two", "true"), sh("three", "kill -9 $$")}, "failed: one three",
			[]string{"of one\nsh -c", ": exit status 3\n==== one: FAILED", "==== two: passed", "signal: killed\n==== three: FAILED"}},
	} {
		out := &buffer{}
		err := (&run{out: out}).all(t.Context(), c.steps)
		if got := fmt.Sprint(err); got != c.err {
			t.Errorf("got the error %s, want %s", got, c.err)
		}
		for _, want := range c.has {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is missing:\n%s", want, out)
			}
		}
	}
}

// once is a test that fails the first time.
const once = `
func TestA(t *testing.T) {
	f, err := os.OpenFile("once", os.O_CREATE|os.O_EXCL, 0o600)
	if f.Close(); err == nil {
		t.Fail()
	}
}
`

// TestGoTest runs the tests of a module: the lines of the go command arrive, skips are judged, and tests that fail run again.
func TestGoTest(t *testing.T) {
	t.Chdir("../../..")
	in := func(functions string) step {
		dir := testModule(t, functions)
		return step{name: "tests", args: words{"GOWORK=off", "-short"}, do: func(j *job) { j.dir = dir; j.goTest(".") }}
	}
	for _, c := range []struct{ functions, err, has string }{
		{"func TestA(t *testing.T) { if !testing.Short() { t.Fail() } }", "<nil>", "ok  \texample.com/m"},
		{"func TestA(t *testing.T) { t.Error(\"said\") }", "failed: tests", "said\n--- FAIL: TestA"},
		{"func TestA(t *testing.T) { t.Error() }\nfunc TestB(t *testing.T) {}", "failed: tests", "\nagain, 5 times, alone: TestA of example.com/m: 5 failures\n"},
		{once, "failed: tests", "again, 5 times, alone: TestA of example.com/m: 0 failures"},
		{once, "failed: tests", "tests: FAILED: tests failed: example.com/m TestA; "},
		{skipping, "failed: skips", "NOT ALLOWED: tests: TestHere/sub of example.com/m: the moon is full"},
		{"func TestA(t *testing.T) { undefined() }", "failed: tests", "undefined: undefined"},
	} {
		out := &buffer{}
		if err := (&run{out: out}).all(t.Context(), []step{in(c.functions)}); fmt.Sprint(err) != c.err || !strings.Contains(out.String(), c.has) {
			t.Errorf("got the error %v, want %s and the text %q:\n%s", err, c.err, c.has, out)
		}
	}
}

// TestInterrupt ends a step with the processes that it has started.
func TestInterrupt(t *testing.T) {
	t.Chdir("../../..")
	file := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if text, err := os.ReadFile(file); err == nil && strings.HasSuffix(string(text), "\n") {
				cancel()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	out := &buffer{}
	begun := time.Now()
	err := (&run{out: out}).all(ctx, []step{
		{name: "long", do: func(j *job) { j.sh("sh", "-c", "sleep 1000 & echo $! >"+file+"; wait") }},
		{name: "later", alone: true, do: func(j *job) { j.sh("true") }},
	})
	if err == nil || !strings.Contains(err.Error(), "long later") {
		t.Errorf("%v\n%s", err, out)
	}
	if d := time.Since(begun); d > time.Minute {
		t.Errorf("it took %v", d)
	}
	pid, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			break
		}
		if i == 3000 {
			t.Fatalf("the process is still there: %s", stat)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
