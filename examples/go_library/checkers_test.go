//go:build checkers

package golibrary

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestStubs reads a right program and a wrong one with mypy and pyright, and compares the
// stubs with the package itself.
func TestStubs(t *testing.T) {
	python, dir := nativetest.Checkers(t), pythonPackage(t, "./golib")
	cache, env := t.TempDir(), append(os.Environ(), "MYPYPATH="+dir, "PYTHONPATH="+dir)
	check := func(t *testing.T, program string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir, cmd.Env = cache, env
		out, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			t.Fatalf("%s: %v\n%s", program, err, out)
		}
		return string(out)
	}
	config := filepath.Join(t.TempDir(), "pyright.json")
	for _, file := range []string{"right.py", "wrong.py"} {
		path, err := filepath.Abs(filepath.Join("testdata", "stubs", file))
		if err != nil {
			t.Fatal(err)
		}
		text := `{"include": ["` + path + `"], "extraPaths": ["` + dir + `"], "typeCheckingMode": "strict", "pythonVersion": "3.11"}`
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		want := marked(t, path)
		t.Run("mypy "+file, func(t *testing.T) {
			compare(t, want, check(t, python, "-m", "mypy", "--strict", path))
		})
		t.Run("pyright "+file, func(t *testing.T) {
			compare(t, want, check(t, python, "-m", "basedpyright", "-p", config, "--pythonpath", python))
		})
	}
	env = append(env, "PYTHONPATH="+dir+string(filepath.ListSeparator)+pythonPackage(t, "./testdata/paint"))
	t.Run("stubtest", func(t *testing.T) {
		allowed, err := filepath.Abs(filepath.Join("testdata", "stubs", "allowed.txt"))
		if err != nil {
			t.Fatal(err)
		}
		if out := check(t, python, "-m", "mypy.stubtest", "golib", "paint", "--allowlist", allowed, "--ignore-unused-allowlist"); !strings.Contains(out, "no issues found") {
			t.Error(out)
		}
	})
}

// marked returns the lines of a file with the comment "# wrong".
func marked(t *testing.T, file string) []string {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasSuffix(line, "# wrong") {
			lines = append(lines, strconv.Itoa(i+1))
		}
	}
	return lines
}

var reported = regexp.MustCompile(`(?m)\.py:(\d+)(?::\d+)?(?: -|:) error:`)

// compare checks that the marked lines have errors, and no others.
func compare(t *testing.T, want []string, out string) {
	var got []string
	for _, m := range reported.FindAllStringSubmatch(out, -1) {
		if !slices.Contains(got, m[1]) {
			got = append(got, m[1])
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("errors in lines %v, want %v\n%s", got, want, out)
	}
}
