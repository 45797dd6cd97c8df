//go:build clients

package server

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestNPM: the npm client of OpenAI and Vercel's ai get structured output, streams, calls of tools and errors.
func TestNPM(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		nativetest.Unavailable(t, err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/npm")); err != nil {
		t.Fatal(err)
	}
	output(t, dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	_, url := program(t)
	if out := output(t, dir, "node", "client.mjs", url); !strings.HasSuffix(out, "all is right\n") {
		t.Error(out)
	}
}

// TestInstructor: Instructor gets models of pydantic, whole and in parts.
func TestInstructor(t *testing.T) {
	python := nativetest.PythonWith(t, "instructor", "testdata/instructor_requirements.txt")
	_, url := program(t)
	if out := output(t, "", python, "testdata/instructor.py", url); !strings.HasSuffix(out, "all is right\n") {
		t.Error(out)
	}
}

func output(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}
