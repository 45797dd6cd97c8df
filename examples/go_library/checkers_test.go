//go:build checkers

package golibrary

import (
	"errors"
	"fmt"
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
	python, dir := nativetest.Checkers(t), pythonPackage(t, "golib")
	env := append(os.Environ(), "MYPYPATH="+dir, "PYTHONPATH="+dir)
	check := func(t *testing.T, args ...string) string {
		cmd := exec.CommandContext(t.Context(), python, append([]string{"-m"}, args...)...)
		cmd.Dir, cmd.Env = cacheDir(t, "mypy"), env // mypy keeps what it has read of the packages of others in its working folder
		out, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			t.Fatalf("%s: %v\n%s", args[0], err, out)
		}
		return string(out)
	}
	programs, err := filepath.Abs(filepath.Join("testdata", "stubs"))
	if err != nil {
		t.Fatal(err)
	}
	right, wrong := filepath.Join(programs, "right.py"), filepath.Join(programs, "wrong.py")
	config := filepath.Join(t.TempDir(), "pyright.json")
	text := fmt.Sprintf(`{"include": [%q, %q], "extraPaths": [%q], "typeCheckingMode": "strict", "pythonVersion": "3.11"}`, right, wrong, dir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"mypy":    {"mypy", "--strict", right, wrong},
		"pyright": {"basedpyright", "-p", config, "--pythonpath", python},
	} {
		t.Run(name, func(t *testing.T) {
			out := check(t, args...)
			for _, file := range []string{right, wrong} {
				compare(t, file, out)
			}
		})
	}
	pythonPackage(t, "testdata/paint") // in the same folder
	t.Run("stubtest", func(t *testing.T) {
		allowed := filepath.Join(programs, "allowed.txt")
		if out := check(t, "mypy.stubtest", "golib", "paint", "--allowlist", allowed, "--ignore-unused-allowlist"); !strings.Contains(out, "no issues found") {
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

var reported = regexp.MustCompile(`(\w+\.py):(\d+)(?::\d+)?(?: -|:) error:`)

// compare checks that the marked lines of a file have errors, and no others.
func compare(t *testing.T, file, out string) {
	t.Helper()
	var got []string
	for _, m := range reported.FindAllStringSubmatch(out, -1) {
		if m[1] == filepath.Base(file) && !slices.Contains(got, m[2]) {
			got = append(got, m[2])
		}
	}
	if want := marked(t, file); !slices.Equal(got, want) {
		t.Errorf("errors in lines %v of %s, want %v\n%s", got, file, want, out)
	}
}
