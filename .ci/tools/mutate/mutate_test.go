package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const source = `package p

import "runtime"

const few = 0x10

type T struct{ n int }

func (t *T) add(by int) (int, error) {
	if by <= 0 && t.n > few || !ok {
		return 0, nil
	}
	for i := range by {
		if i == 3 {
			continue
		}
		t.n += i
	}
	t.n = by
	v, err := get(1)
	if err != nil {
		return 0, err
	}
	defer runtime.KeepAlive(t)
	clear(v)
	return -t.n, err
}

func (t *T) reset() { t.n = 0 }
`

func TestMutants(t *testing.T) {
	all := must(mutantsOf("p.go", []byte(source)))
	var got []string
	for _, m := range all {
		got = append(got, strings.TrimPrefix(m.Place, "p.go:")+strings.TrimPrefix(m.ID, "p.go"))
		if _, err := parser.ParseFile(token.NewFileSet(), "p.go", m.apply([]byte(source)), 0); err != nil {
			t.Errorf("%s: %v", m.ID, err)
		}
	}
	want := strings.Split(strings.TrimSpace(`
5 few: constant: 0x10 => 17
10 T.add: check: by <= 0 && t.n > few || !ok => false && (by <= 0 && t.n > few || !ok)
10 T.add: operator: by <= 0 && t.n > few || !ok => by <= 0 && t.n > few && !ok
10 T.add: operator: by <= 0 && t.n > few => by <= 0 || t.n > few
10 T.add: operator: by <= 0 => by < 0
10 T.add: constant: 0 => 1
10 T.add: operator: t.n > few => t.n >= few
10 T.add: sign: !ok => ok
11 T.add: constant: 0 => 1 #2
14 T.add: check: i == 3 => false && (i == 3)
14 T.add: operator: i == 3 => i != 3
14 T.add: constant: 3 => 4
17 T.add: operator: t.n += i => t.n -= i
19 T.add: assignment: t.n = by => _
20 T.add: constant: 1 => 2
21 T.add: check: err != nil => false && (err != nil)
21 T.add: operator: err != nil => err == nil
22 T.add: error: return 0, err => return nil
22 T.add: constant: 0 => 1 #3
25 T.add: call: clear(v) => nothing
26 T.add: error: return -t.n, err => return nil
26 T.add: sign: -t.n => t.n
29 T.reset: early: the body => return
29 T.reset: assignment: t.n = 0 => _
29 T.reset: constant: 0 => 1
`), "\n")
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	generated := fmt.Sprintf("// Code %s by x; DO NOT EDIT.\n\n", "generated")
	if all, err := mutantsOf("p.go", []byte(generated+source)); err != nil || all != nil {
		t.Errorf("generated code has %d mutants, %v", len(all), err)
	}
}

// write writes a module with a package p and its test, and a package q that imports p, and
// returns p as go list describes it.
func write(t *testing.T, code, test, user string) *pkg {
	t.Helper()
	t.Chdir(t.TempDir())
	cache := strings.TrimSpace(string(must(exec.Command("go", "env", "GOCACHE").Output())))
	*work = t.TempDir()
	must(0, os.Symlink(cache, filepath.Join(*work, "cache")))
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.26\n", "p/p.go": code, "p/p_test.go": test, "q/q.go": "package q\n\nimport _ \"m/p\"\n", "q/q_test.go": user} {
		must(0, os.MkdirAll(filepath.Dir(name), 0o700))
		must(0, os.WriteFile(name, []byte(text), 0o600))
	}
	return list(t.Context(), "", "./p")[0]
}

// A change is judged by the tests of the package, then by the tests of the packages that import it.
func TestTry(t *testing.T) {
	const code = "package p\n\nfunc Abs(x int) int {\n\tif x < 0 {\n\t\treturn -x\n\t}\n\treturn x\n}\n\nvar Name = len(\"a\" + \"b\")\n\nvar One = 1\n"
	const test = "package p\n\nimport \"testing\"\n\nfunc TestAbs(t *testing.T) {\n\tif Abs(-2) != 2 || Abs(2) != 2 {\n\t\tt.Error(\"wrong\")\n\t}\n}\n"
	const user = "package q\n\nimport (\n\t\"testing\"\n\n\t\"m/p\"\n)\n\nfunc TestOne(t *testing.T) {\n\tif p.One != 1 {\n\t\tt.Error(\"wrong\")\n\t}\n}\n"
	p := write(t, code, test, user)
	var got []string
	for _, m := range p.mutants() {
		outcome, by := p.try(t.Context(), m)
		_, change, _ := strings.Cut(m.ID, ": ")
		got = append(got, outcome+" "+change+" ["+by+"]")
	}
	want := []string{
		"caught check: x < 0 => false && (x < 0) [m/p TestAbs]", "survived operator: x < 0 => x <= 0 []", "survived constant: 0 => 1 []",
		"caught sign: -x => x [m/p TestAbs]", `does not compile operator: "a" + "b" => "a" - "b" [`, "caught constant: 1 => 2 [m/q TestOne]",
	}
	if len(got) != len(want) || !strings.HasPrefix(got[4], want[4]) || !slices.Equal(slices.Delete(got, 4, 5), slices.Delete(want, 4, 5)) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	t.Cleanup(func() { *judges, *only = "", "" })
	for _, c := range []struct{ judges, only, want string }{{"./q", "", survived}, {"./q,./p", "TestOne", survived}, {"./q,./p", "TestAbs", caught}} {
		*judges, *only, p.testers = c.judges, c.only, nil
		if outcome, by := p.try(t.Context(), p.mutants()[0]); outcome != c.want {
			t.Errorf("by %q, test %q: %s [%s]", c.judges, c.only, outcome, by)
		}
	}
}

// Tests that fail without a change do not judge.
func TestTry_failing(t *testing.T) {
	p := write(t, "package p\n\nvar One = 1\n", "package p\n\nimport \"testing\"\n\nfunc TestFail(t *testing.T) { t.Error(One) }\n", "package q\n")
	if outcome, by := p.try(t.Context(), p.mutants()[0]); outcome != survived || p.testers[0].took >= 0 {
		t.Errorf("%s by %s, it took %s", outcome, by, p.testers[0].took)
	}
}

// A test that takes too long ends, and so does what it has started.
func TestHang(t *testing.T) {
	p := write(t, "package p\n", "package p\n\nimport (\n\t\"os\"\n\t\"os/exec\"\n\t\"strconv\"\n\t\"testing\"\n)\n\n"+
		"func TestHang(t *testing.T) {\n\tcmd := exec.Command(\"sleep\", \"600\")\n\tcmd.Stdout = os.Stdout\n\tif err := cmd.Start(); err != nil {\n\t\tt.Fatal(err)\n\t}\n"+
		"\tos.WriteFile(\"pid\", []byte(strconv.Itoa(cmd.Process.Pid)), 0o600)\n\tcmd.Wait()\n}\n", "package q\n")
	var pid []byte
	for limit := 4 * time.Second; len(pid) == 0; limit *= 2 { // a busy machine may need longer to start the test
		if _, _, err := p.test(t.Context(), "", "", limit); err == nil || err.Error() != "no end after "+limit.String() {
			t.Fatalf("got %v", err)
		}
		pid, _ = os.ReadFile("p/pid")
	}
	// A killed process ends when the kernel gets to it. Without a command line it has ended, and nobody has asked how.
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		line, _ := os.ReadFile("/proc/" + string(pid) + "/cmdline")
		if len(line) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%q is still running", line)
		}
	}
}

func TestReadList(t *testing.T) {
	file := filepath.Join(t.TempDir(), "list")
	for text, want := range map[string]string{
		"# A comment.\na.go f: call: g() => nothing\n\tg is empty,\n\tand will be.\n\nb.go f: x => y\n\tso\n": "",
		"a\nb\n\tx\n": `"a" has no reason`,
		"a\n":         `"a" has no reason`,
		"\tx\n":       `the reason "x" no change`,
	} {
		must(0, os.WriteFile(file, []byte(text), 0o600))
		got, err := readList(file)
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if want == "" && (err != nil || len(got) != 2 || got["a.go f: call: g() => nothing"] != "and will be.") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// A slow compiler takes nothing of the time that tests have.
func TestTry_slowCompiler(t *testing.T) {
	p := write(t, "package p\n", "package p\n\nimport \"testing\"\n\nfunc TestNothing(*testing.T) {}\n", "package q\n")
	slow := filepath.Join(t.TempDir(), "slow")
	must(0, os.WriteFile(slow, []byte("#!/bin/sh\nsleep 1\nexec \"$@\"\n"), 0o700))
	t.Setenv("GOFLAGS", "-toolexec="+slow)
	start := time.Now()
	_, took, err := p.test(t.Context(), "", "", 10*time.Minute)
	if all := time.Since(start); err != nil || all-took < time.Second {
		t.Errorf("the tests took %s of %s, %v", took, all, err)
	}
}
