package golibrary

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// endings are the functions of testdata/ending.py, and what they print.
var endings = map[string]string{
	"typed": "", "raw": "", "any_value": "", "each": "", "par": "", "kept": "", "later": "", "in_flight": "done\ndone\n",
	"endless": "", "daemon": "", "workers": "", "stopped": "", "stopped_late": "", "late_call": "2\n", "exits": "",
	"os_exit": "", "forked": "", "thread_loads": "", "memory": "", "lent": "",
}

// TestEnding runs Python processes that end while a Go library has work to do: each exits
// with 0 and says nothing. With TVMFFI_TEST_PYTHONS=n, each case runs n times, with every
// Python that is there.
func TestEnding(t *testing.T) {
	library := consumer.Shared(t, "examples/go_library/testdata/ending/libending")
	pythons, n := endingPythons(t)
	for version, python := range pythons {
		for name, want := range endings {
			t.Run(version+"/"+name, func(t *testing.T) {
				t.Parallel()
				for range n {
					end(t, want, python, filepath.Join("testdata", "ending.py"), name, library)
				}
			})
		}
	}
}

// endingPythons returns the Pythons of a test, and how often each runs a case.
func endingPythons(t *testing.T) (pythons map[string]string, n int) {
	t.Helper()
	s := os.Getenv("TVMFFI_TEST_PYTHONS")
	if s == "" {
		return nativetest.Pythons(t), 1
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("TVMFFI_TEST_PYTHONS is %q, which is not a number of processes", s)
	}
	return nativetest.Pythons(t), n
}

// end runs a program that prints want and nothing else.
func end(t *testing.T, want, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.WaitDelay = time.Minute
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil || stderr.Len() > 0 || stdout.String() != want {
		t.Fatalf("%v; it printed %q, want %q, and on standard error:\n%s", err, &stdout, want, &stderr)
	}
}

// TestEndingGenerated checks that the generated files of the libraries match their directives.
func TestEndingGenerated(t *testing.T) {
	for _, name := range []string{"ending", "waits"} {
		upToDate(t, "./testdata/"+name)
	}
}
