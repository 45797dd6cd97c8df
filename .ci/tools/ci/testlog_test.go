package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// testModule makes a module with the given test functions.
func testModule(t *testing.T, functions string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module example.com/m\n\ngo 1.26\n",
		"m_test.go": "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Args\n\n" + functions,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// events are the events of the go command for a module with the given test functions.
func events(t *testing.T, functions string) []byte {
	t.Helper()
	cmd := exec.Command("go", "test", "-json", ".")
	cmd.Dir, cmd.Env = testModule(t, functions), append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, _ := cmd.CombinedOutput() // what fails there is read
	return out
}

const skipping = `
func TestHere(t *testing.T) {
	t.Log("before")
	t.Run("sub", func(t *testing.T) { t.Parallel(); t.Skip("the moon is full") })
	t.Run("other", func(t *testing.T) { t.Parallel(); t.Log("of another test") })
}
`

func TestSkips(t *testing.T) {
	var out bytes.Buffer
	seen, err := readLog(bytes.NewReader(events(t, skipping)), &out, "race")
	if err != nil || len(seen) != 1 || seen[0] != (skip{"race", "example.com/m", "TestHere/sub", "the moon is full"}) {
		t.Fatalf("%v, %+v\n%s", err, seen, &out)
	}
	if !strings.Contains(out.String(), "ok") || strings.Contains(out.String(), "before") {
		t.Errorf("printed %q", &out)
	}
	for _, c := range []struct {
		rules string
		ok    bool
	}{
		{"race TestHere/sub ^the moon is", true},
		{"# a comment\n\nrace   TestHere/sub   moon is full$\nrace TestOther x", true},
		{"nocgo|race TestHere/.* moon", true},
		{"rac TestHere/sub moon", false}, // not the whole step
		{"race TestHere/su moon", false}, // nor the whole test
		{"", false},
		{"nocgo TestHere/sub ^the moon is", false},         // another step
		{"race TestHere ^the moon is", false},              // another test
		{"race TestHere/sub ^there is no compiler", false}, // another reason
	} {
		rules, err := parse(c.rules)
		if err != nil {
			t.Fatal(err)
		}
		if err := judge(&out, rules, seen); (err == nil) != c.ok {
			t.Errorf("by the rules %q: %v", c.rules, err)
		}
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct{ functions, want string }{
		{"func TestA(t *testing.T) { t.Error(\"said\") }", "said"},
		{"func TestA(t *testing.T) { println(\"last words\"); panic(\"out\") }", "last words"},
		{"func TestA(t *testing.T) { undefined() }", "undefined: undefined"},
	} {
		var out bytes.Buffer
		if _, err := readLog(bytes.NewReader(events(t, c.functions)), &out, "s"); err == nil || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: %v\n%s", c.functions, err, &out)
		}
	}
	if _, err := readLog(strings.NewReader("go: no such package\n"), &bytes.Buffer{}, "s"); err == nil {
		t.Error("a run without tests passes")
	}
}

func TestParse_refuses(t *testing.T) {
	for _, text := range []string{"race TestA", "race", "race TestA (", "race ( x", "( TestA x"} {
		if _, err := parse(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}
