//go:build linux

package wheel

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/testkit/disktest"
)

func init() {
	if file := os.Getenv("WHEEL_TEST_TAKE"); file != "" {
		if _, err := Take(context.Background(), file, 0); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// TestTake_anyMoment kills Take at each of its changes of the disk, and fills the disk at each: no program finds half a wheel,
// and the next Take has it whole and leaves nothing else.
func TestTake_anyMoment(t *testing.T) {
	b := wheelBytes(t, entry{name: "sample/a.so", body: strings.Repeat("library ", 10_000)}, entry{name: "sample/__init__.py", body: "x = 1\n"})
	file := filepath.Join(t.TempDir(), "sample-1.0-py3-none-any.whl")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	spec := specFor(b)
	take := func(cache string, fault disktest.Fault, at int) (string, *disktest.Run, error) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "WHEEL_TEST_TAKE="+file, "TVMFFI_CACHE="+cache)
		return disktest.Output(t, cmd, cache, fault, at)
	}
	for _, damaged := range []bool{false, true} { // the cache is empty, or has a wheel that is not whole
		prepare := func() (cache string) {
			cache = t.TempDir()
			t.Setenv("TVMFFI_CACHE", cache)
			if damaged {
				if out, _, err := take(cache, disktest.None, -1); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				d, ok := Cached(spec)
				if !ok {
					t.Fatal("the wheel is not in the cache")
				}
				if err := os.Remove(d.Path(find.Marker)); err != nil {
					t.Fatal(err)
				}
			}
			return cache
		}
		out, r, err := take(prepare(), disktest.None, -1)
		if err != nil || r.Changes() < 10 {
			t.Fatalf("%v, %d changes: %s", err, r.Changes(), out)
		}
		for _, at := range disktest.Moments(t, r.Changes(), 6, 1) {
			for _, fault := range []disktest.Fault{disktest.Kill, disktest.Full} {
				cache := prepare()
				out, r, err := take(cache, fault, at)
				where := fmt.Sprintf("%v at change %d, %q (damaged before: %v)", fault, at, r.Hit(), damaged)
				if d, ok := Cached(spec); ok {
					if err := d.Verify(); err != nil {
						t.Errorf("%s: the cache has half a wheel: %v", where, err)
					}
				}
				if fault == disktest.Full && err != nil && !(strings.Contains(out, "no space left on device; free some space") && strings.Contains(out, cache)) {
					t.Errorf("%s: %v: %s", where, err, out)
				}
				if fault == disktest.Full && err == nil && r.Hit() != "" && !strings.HasPrefix(r.Hit(), "rename ") && !strings.HasPrefix(r.Hit(), "remove ") {
					t.Errorf("%s: it has gone on", where)
				}
				if out, _, err := take(cache, disktest.None, -1); err != nil {
					t.Errorf("%s: the next run: %v: %s", where, err, out)
				}
				if d, ok := Cached(spec); !ok || d.Verify() != nil {
					t.Errorf("%s: after the next run the wheel is not there", where)
				}
				if names, err := filepath.Glob(filepath.Join(cache, "wheels", "*")); err != nil || len(names) != 2 {
					t.Errorf("%s: the next run leaves %v, %v", where, names, err)
				}
			}
		}
	}
}
