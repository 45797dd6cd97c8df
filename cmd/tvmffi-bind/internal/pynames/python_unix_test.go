//go:build unix

package pynames

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// fakes makes a PATH of a folder with these scripts.
func fakes(t *testing.T, scripts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

func TestParse_pythons(t *testing.T) {
	sources := []source{{path: "a.py", module: "a"}, {path: "b.py", module: "b"}, {path: "c.py", module: "c"}}
	short := nativetest.Patience(300 * time.Millisecond)
	for name, test := range map[string]struct {
		scripts map[string]string
		want    string // of the error
	}{
		"none":        {nil, "there is no Python here: install Python 3.9 or newer"},
		"old":         {map[string]string{"python3": "exit 9", "python": "exit 2"}, "no Python of version 3.9 or newer works here, found "},
		"the other":   {map[string]string{"python3": "exit 127", "python": "for i in 1 2 3; do echo '{}'; done"}, ""},
		"hangs early": {map[string]string{"python3": "while :; do /bin/sleep 1; done"}, fmt.Sprintf("the Python process was still reading a.py: timeout of %s: allow more time with --timeout", short)},
		"fails":       {map[string]string{"python3": "echo oops >&2; exit 3"}, "cannot read the sources: exit status 3: oops"},
		"no JSON":     {map[string]string{"python3": "echo hello"}, "cannot read the sources: it ended early"},
	} {
		t.Run(name, func(t *testing.T) {
			fakes(t, test.scripts)
			timeout := time.Minute
			if strings.Contains(test.want, "timeout") {
				timeout = short
			}
			all, err := parse(t.Context(), sources, timeout)
			if test.want == "" && (err != nil || len(all) != len(sources)) {
				t.Errorf("%v, %v", all, err)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// TestParse_crash: a source that kills Python is reported, and the next process reads the rest.
func TestParse_crash(t *testing.T) {
	fakes(t, map[string]string{"python3": "echo '{\"doc\": \"D\"}'; kill -SEGV $$"})
	all, err := parse(t.Context(), []source{{path: "a.py"}, {path: "b.py"}, {path: "c.py"}}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if all[0].Doc != "D" || !strings.Contains(all[1].Error, "Python fails on it: signal: segmentation fault") || all[2].Doc != "D" {
		t.Errorf("%+v", all)
	}
	many := make([]source, 20)
	if _, err := parse(t.Context(), many, time.Minute); err == nil || !strings.Contains(err.Error(), "cannot read the sources") {
		t.Errorf("after many crashes: %v", err)
	}
}

// TestParse_late: when the time is over, the sources that were read count, and the rest have an error.
func TestParse_late(t *testing.T) {
	fakes(t, map[string]string{"python3": "echo '{\"doc\": \"D\"}'; while :; do /bin/sleep 1; done"})
	short := nativetest.Patience(time.Second)
	all, err := parse(t.Context(), []source{{path: "a.py"}, {path: "b.py"}, {path: "c.py"}}, short)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("it was not read: timeout of %s: allow more time with --timeout", short)
	if len(all) != 3 || all[0].Doc != "D" || all[1].Error != want || all[2].Error != want {
		t.Errorf("%+v", all)
	}
}
