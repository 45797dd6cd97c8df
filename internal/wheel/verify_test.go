package wheel

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/whole"
)

// unpacked puts a wheel with three files into a new cache.
func unpacked(t *testing.T) (b []byte, d Dir) {
	t.Helper()
	t.Setenv("TVMFFI_CACHE", t.TempDir())
	b = wheelBytes(t, entry{name: "sample/lib.so", body: "library"}, entry{name: "a", body: "a"}, entry{name: "b", body: ""})
	d, err := get(t.Context(), specFor(b), Dir.marked, fetcher(b, new(atomic.Int32)))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Verify(); err != nil {
		t.Fatal(err)
	}
	return b, d
}

// Each kind of damage is found, and repaired by a new download. What RECORD does not name stays unknown.
func TestVerify(t *testing.T) {
	for what, c := range map[string]struct {
		damage func(d Dir) error
		want   string
	}{
		"truncated":  {func(d Dir) error { return os.Truncate(d.Path("sample/lib.so"), 3) }, "is damaged: sample/lib.so has other content (3 bytes with sha256 "},
		"altered":    {func(d Dir) error { return os.WriteFile(d.Path("a"), []byte("b"), 0o600) }, "is damaged: a has other content"},
		"missing":    {func(d Dir) error { return os.Remove(d.Path("b")) }, "is damaged: b is missing"},
		"no RECORD":  {func(d Dir) error { return os.Remove(d.Path("sample-1.0.dist-info/RECORD")) }, "is damaged: it has 0 files"},
		"cut RECORD": {func(d Dir) error { return os.Truncate(d.Path("sample-1.0.dist-info/RECORD"), 50) }, "is damaged: its lines are not of the form PATH,sha256=HASH,SIZE: record on line 2"},
		"a link out": {func(d Dir) error {
			lock := filepath.Join(filepath.Dir(d.Root()), filepath.Base(d.Root())+".lock")
			if err := errors.Join(os.Remove(d.Path("a")), os.Symlink(lock, d.Path("a"))); err != nil {
				return err
			}
			if _, err := os.Lstat(d.Path("a")); err != nil { // wine 8 makes none, and says nothing
				return errors.ErrUnsupported
			}
			return nil
		}, "is damaged: a cannot be read: "},
	} {
		t.Run(what, func(t *testing.T) {
			b, d := unpacked(t)
			if err := c.damage(d); errors.Is(err, errors.ErrUnsupported) {
				t.Skip("this system makes no links")
			} else if err != nil {
				t.Fatal(err)
			}
			if err := d.Verify(); !errors.Is(err, find.ErrDamaged) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), d.Root()) {
				t.Errorf("%v, want %q", err, c.want)
			}
			var count atomic.Int32
			for range 2 {
				if _, err := get(t.Context(), d.spec, Dir.Verify, fetcher(b, &count)); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.Verify(); err != nil || count.Load() != 1 {
				t.Errorf("repaired with %d downloads: %v", count.Load(), err)
			}
			entries, err := os.ReadDir(filepath.Dir(d.Root()))
			if err != nil || len(entries) != 2 {
				t.Errorf("in the cache are %v, %v, want the wheel and its lock", entries, err)
			}
		})
	}
}

// While a wheel cannot be got again, what is there stays.
func TestRepairFails(t *testing.T) {
	_, d := unpacked(t)
	if err := os.Truncate(d.Path("sample/lib.so"), 3); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t.Context(), d.spec, Dir.Verify, func(context.Context, Spec, string) (string, error) { return "", errors.New("no network") }); err == nil {
		t.Fatal("no error")
	}
	if got, err := os.ReadFile(d.Path("sample/lib.so")); err != nil || string(got) != "lib" {
		t.Errorf("the damaged file is %q, %v", got, err)
	}
	if got, err := os.ReadFile(d.Path("a")); err != nil || string(got) != "a" {
		t.Errorf("the other file is %q, %v", got, err)
	}
}

// Several repairs at once download once, and nobody sees a wheel in the making.
func TestRepairAtOnce(t *testing.T) {
	b, d := unpacked(t)
	if err := os.Truncate(d.Path("sample/lib.so"), 3); err != nil {
		t.Fatal(err)
	}
	var count atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := get(t.Context(), d.spec, Dir.Verify, fetcher(b, &count)); err != nil {
				t.Error(err)
			}
			if err := d.Verify(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := count.Load(); n != 1 {
		t.Errorf("downloaded %d times, want 1", n)
	}
}

// A wheel whose RECORD does not fit its files is not put into the cache.
func TestGetFalseRecord(t *testing.T) {
	t.Setenv("TVMFFI_CACHE", t.TempDir())
	for _, b := range [][]byte{zipBytes(t, entry{name: "f", body: "x"}), wheelBytes(t, entry{name: "f", body: "x"}, entry{name: "f/../g", body: "y"})} {
		_, err := get(t.Context(), specFor(b), Dir.marked, fetcher(b, new(atomic.Int32)))
		if err == nil || !strings.HasSuffix(err.Error(), "; do not trust this wheel") {
			t.Errorf("%v, want that the wheel is not to be trusted", err)
		}
		if _, ok := Cached(specFor(b)); ok {
			t.Error("the refused wheel is in the cache")
		}
	}
}

// Wheels that an earlier version has unpacked have no more than the marker and their files.
func TestUnpacked(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("TVMFFI_CACHE", cache)
	if wheels, others, err := Unpacked(); err != nil || len(wheels)+len(others) > 0 {
		t.Fatalf("no cache: %v, %v, %v", wheels, others, err)
	}
	spec, err := TVMFFI("", "linux", "amd64")
	if err != nil {
		t.Fatal(err)
	}
	d, err := place(spec)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(cache, "wheels", "other-1.0-12345678")
	for _, dir := range []string{d.Root(), other, filepath.Join(cache, "wheels", strings.Replace(whole.Pattern, "*", "1", 1))} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if wheels, others, err := Unpacked(); err != nil || len(wheels) > 0 || len(others) != 1 || others[0] != other {
		t.Errorf("without a marker: %v, %v, %v", wheels, others, err)
	}
	if err := os.WriteFile(d.Path(find.Marker), []byte(spec.SHA256+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if wheels, _, err := Unpacked(); err != nil || len(wheels) != 1 || wheels[0] != d {
		t.Errorf("with a marker: %v, %v", wheels, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(d.Root(), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Unpacked(); !errors.Is(err, find.ErrShared) {
		t.Errorf("a wheel that others can write: %v", err)
	}
	if _, ok := Cached(spec); ok {
		t.Error("a wheel that others can write is used")
	}
}
