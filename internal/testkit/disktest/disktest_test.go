//go:build linux

package disktest_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/disktest"
)

func init() {
	if dir := os.Getenv("DISKTEST_TEST"); dir != "" {
		err := os.Mkdir(filepath.Join(dir, "below"), 0o700)
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, "below", "a"), []byte("text"), 0o600))
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, "..", "elsewhere"), []byte("text"), 0o600))
		err = errors.Join(err, exec.Command("sh", "-c", "echo text > "+filepath.Join(dir, "b")).Run())
		err = errors.Join(err, os.Rename(filepath.Join(dir, "b"), filepath.Join(dir, "c")))
		if err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// TestOutput: each change of a program and of its children has its number, and meets its fault.
func TestOutput(t *testing.T) {
	run := func(fault disktest.Fault, at int) (out string, r *disktest.Run, left []string, err error) {
		dir := filepath.Join(t.TempDir(), "dir")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "DISKTEST_TEST="+dir)
		out, r, err = disktest.Output(t, cmd, dir, fault, at)
		left, _ = filepath.Glob(filepath.Join(dir, "*"))
		for i := range left {
			left[i] = filepath.Base(left[i])
		}
		return out, r, left, err
	}
	want := []string{"make below", "create a", "write a", "create b", "write b", "rename c"}
	if out, r, left, err := run(disktest.None, -1); err != nil || r.Changes() != len(want) || r.Hit() != "" || !slices.Equal(left, []string{"below", "c"}) {
		t.Fatalf("%v, %d changes, hit %q, left %q: %s", err, r.Changes(), r.Hit(), left, out)
	}
	for at, change := range want {
		verb, name, _ := strings.Cut(change, " ")
		for _, fault := range []disktest.Fault{disktest.Kill, disktest.Full} {
			out, r, left, err := run(fault, at)
			if fault == disktest.Full && verb == "rename" {
				if err != nil || r.Hit() == "" {
					t.Errorf("a rename on a full disk: %v %s", err, out)
				}
				continue
			}
			if err == nil || !strings.HasPrefix(r.Hit(), verb+" ") || filepath.Base(r.Hit()) != name {
				t.Errorf("%v at %d: %v, hit %q, want %q: %s", fault, at, err, r.Hit(), change, out)
			}
			exit := (*exec.ExitError)(nil)
			if fault == disktest.Kill && (!errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL || slices.Contains(left, "c")) {
				t.Errorf("killed at %d: %v, left %q", at, err, left)
			}
			if fault == disktest.Full && at < 3 && !strings.Contains(out, "no space left on device") {
				t.Errorf("full at %d: %s", at, out)
			}
		}
	}
}

func TestMoments(t *testing.T) {
	t.Setenv("TVMFFI_TEST_MOMENTS", "4")
	if got := disktest.Moments(t, 10, 3, 7); len(got) != 4 {
		t.Errorf("%v", got)
	}
	os.Unsetenv("TVMFFI_TEST_MOMENTS")
	for _, x := range []struct{ changes, n, want int }{{10, 3, 3}, {3, 10, 3}, {100, 1, 2}, {0, 5, 0}} {
		got := disktest.Moments(t, x.changes, x.n, 7)
		if len(got) != x.want || !slices.IsSorted(got) || !slices.Equal(got, disktest.Moments(t, x.changes, x.n, 7)) {
			t.Errorf("%+v: %v", x, got)
		}
		if x.n > 1 && len(got) > 0 && (got[0] != 0 || got[len(got)-1] != x.changes-1) {
			t.Errorf("%+v: %v lacks the first or the last", x, got)
		}
	}
}
