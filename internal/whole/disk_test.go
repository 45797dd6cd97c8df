//go:build linux

package whole_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/disktest"
	"github.com/tvmffi-go/tvmffi/internal/whole"
)

// init makes this program one that writes a file, or makes a folder of two files and gives it its name.
func init() {
	dir := os.Getenv("WHOLE_TEST_DIR")
	if dir == "" {
		return
	}
	err := whole.Write(filepath.Join(dir, "file"), strings.NewReader(strings.Repeat("new ", 20_000)), 0o640)
	if err == nil && os.Getenv("WHOLE_TEST_FOLDER") != "" {
		err = folder(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func folder(dir string) error {
	return whole.Tree(filepath.Join(dir, "tree"), func(into string) (err error) {
		for _, name := range []string{"a", "b"} {
			err = errors.Join(err, os.WriteFile(filepath.Join(into, name), []byte(name), 0o600))
		}
		return err
	})
}

// TestWrite_anyMoment kills the program at each of its changes of the disk, and fills the disk at each.
func TestWrite_anyMoment(t *testing.T) {
	prepare := func() string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	run := func(dir string, fault disktest.Fault, at int) (string, *disktest.Run, error) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "WHOLE_TEST_DIR="+dir, "WHOLE_TEST_FOLDER=1")
		return disktest.Output(t, cmd, dir, fault, at)
	}
	out, r, err := run(prepare(), disktest.None, -1)
	if err != nil || r.Changes() < 12 {
		t.Fatalf("%v, %d changes: %s", err, r.Changes(), out)
	}
	for at := range r.Changes() {
		for _, fault := range []disktest.Fault{disktest.Kill, disktest.Full} {
			dir := prepare()
			file := filepath.Join(dir, "file")
			out, r, err := run(dir, fault, at)
			got, err2 := os.ReadFile(file)
			if text := string(got); err2 != nil || text != "old" && text != strings.Repeat("new ", 20_000) {
				t.Errorf("%v at %q: %d bytes, %v", fault, r.Hit(), len(got), err2)
			}
			if have := names(t, dir); slices.Contains(have, "tree") && !slices.Equal(names(t, filepath.Join(dir, "tree")), []string{"a", "b"}) {
				t.Errorf("%v at %q: half a folder", fault, r.Hit())
			}
			if fault == disktest.Full && err != nil {
				if string(got) == "old" && out != "write "+file+": no space left on device\n" {
					t.Errorf("%v at %q: %s", fault, r.Hit(), out)
				}
				if have := names(t, dir); !slices.Equal(have, []string{"file"}) {
					t.Errorf("%v at %q: it leaves %v", fault, r.Hit(), have)
				}
			}
			if err := os.RemoveAll(filepath.Join(dir, "tree")); err != nil {
				t.Fatal(err)
			}
			if out, _, err := run(dir, disktest.None, -1); err != nil {
				t.Errorf("after %v at %q: %v %s", fault, r.Hit(), err, out)
			}
			info, err := os.Stat(file)
			if have := names(t, dir); err != nil || info.Mode() != 0o640 || !slices.Equal(have, []string{"file", "tree"}) {
				t.Errorf("after %v at %q: %v, %v", fault, r.Hit(), have, err)
			}
		}
	}
}
