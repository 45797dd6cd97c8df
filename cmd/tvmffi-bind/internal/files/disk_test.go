//go:build linux

package files

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/disktest"
)

// stormFiles are what the program below writes, over what storm prepares.
var stormFiles = map[string][]byte{
	"a.go":         []byte(generated + strings.Repeat("// new", 3000) + "\n"),
	"same.go":      []byte(generated),
	"fresh/c.go":   []byte(generated),
	"fresh/d/d.go": []byte(generated),
	"z.go":         []byte(generated + "// new\n"),
}

func init() {
	if dir := os.Getenv("FILES_TEST_DIR"); dir != "" {
		o, err := GoPackage(dir, stormFiles, []string{"gone/sub.go"}, isOurs)
		if err == nil {
			err = o.Write()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// TestWrite_anyMoment kills a run at changes of the disk, and fills the disk at them. Each file is the old or the new one,
// after an error all are the old ones, and the next run writes all and leaves nothing else.
func TestWrite_anyMoment(t *testing.T) {
	prepare := func() (dir string, before map[string]string) {
		dir = t.TempDir()
		for _, name := range []string{"a.go", "same.go", "z.go", "left.go", "gone/sub.go"} {
			writeFile(t, filepath.Join(dir, name), generated)
		}
		writeFile(t, filepath.Join(dir, "user.go"), "package x\n")
		return dir, tree(t, dir)
	}
	run := func(dir string, fault disktest.Fault, at int) (string, *disktest.Run, error) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "FILES_TEST_DIR="+dir)
		return disktest.Output(t, cmd, dir, fault, at)
	}
	dir, before := prepare()
	out, r, err := run(dir, disktest.None, -1)
	after := tree(t, dir)
	if err != nil || r.Changes() < 20 || len(after) != 8 {
		t.Fatalf("%v, %d changes, %.200q: %s", err, r.Changes(), after, out)
	}
	for _, at := range disktest.Moments(t, r.Changes(), 12, 1) {
		for _, fault := range []disktest.Fault{disktest.Kill, disktest.Full} {
			dir, _ := prepare()
			out, r, err := run(dir, fault, at)
			where := fmt.Sprintf("%v at change %d, %q", fault, at, r.Hit())
			got := tree(t, dir)
			for name, text := range got {
				if hidden := strings.HasPrefix(filepath.Base(name), "."); text != before[name] && text != after[name] && !hidden {
					t.Errorf("%s: %s has %d bytes of neither run", where, name, len(text))
				}
			}
			if fault == disktest.Full && err != nil {
				if !maps.Equal(got, before) {
					t.Errorf("%s: the files were %.200q and are %.200q: %s", where, before, got, out)
				}
				if !strings.Contains(out, dir) || !strings.Contains(out, "no space left on device") || !strings.Contains(out, "free some space") {
					t.Errorf("%s: %s", where, out)
				}
			}
			if out, _, err := run(dir, disktest.None, -1); err != nil {
				t.Errorf("%s: the next run: %v: %s", where, err, out)
			}
			if got := tree(t, dir); !maps.Equal(got, after) {
				t.Errorf("%s: the next run leaves %.200q, want %.200q", where, got, after)
			}
		}
	}
}
