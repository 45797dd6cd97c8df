//go:build unix

package find

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// cachedLibrary makes a cache with one wheel and returns the places of a library from the root down.
func cachedLibrary(t *testing.T) (places []string) {
	t.Helper()
	place := filepath.Join(t.TempDir(), "cache")
	t.Setenv("TVMFFI_CACHE", place)
	for _, name := range []string{"", "wheels", "sample-1.0-abcdef01", "sample"} {
		place = filepath.Join(place, name)
		if err := os.Mkdir(place, 0o700); err != nil {
			t.Fatal(err)
		}
		places = append(places, place)
	}
	write(t, filepath.Join(places[2], Marker), "hash")
	file := filepath.Join(place, "lib.so")
	write(t, file, "library")
	return append(places, file)
}

func mustChmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// Each folder from the root of the cache to the library, and the library itself, must not be
// writable by others.
func TestCachedRefusesShared(t *testing.T) {
	places := cachedLibrary(t)
	for i, place := range places {
		mustChmod(t, place, 0o777)
		found, err := Cached("sample", "sample/lib.so")
		if found != nil || !errors.Is(err, ErrShared) {
			t.Fatalf("%s with mode 777: %v, %v", place, found, err)
		}
		for _, part := range []string{place + " is not safe", "every user (mode 777)", "run chmod go-w " + place + " and empty the cache, whose files others may have changed, or set TVMFFI_CACHE"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v lacks %q", err, part)
			}
		}
		mustChmod(t, place, 0o777|os.ModeSticky)
		if _, err := Cached("sample", "sample/lib.so"); errors.Is(err, ErrShared) != (i > 0) {
			t.Errorf("%s with the sticky bit: %v", place, err)
		}
		mustChmod(t, place, 0o755)
	}
	if found, err := Cached("sample", "sample/lib.so"); err != nil || len(found) != 1 {
		t.Errorf("with mode 755: %v, %v", found, err)
	}
	mustChmod(t, places[2], 0o777)
	if err := OwnOnly(places[2]); err == nil || strings.Contains(err.Error(), "TVMFFI_CACHE") {
		t.Errorf("a folder that need not be in the cache: %v", err)
	}
	mustChmod(t, places[2], 0o755)
	if err := Private(filepath.Join(places[0], "absent", "below")); err != nil {
		t.Errorf("a folder that does not exist: %v", err)
	}
	if err := Private(filepath.Join(places[4], "below")); err != nil {
		t.Errorf("a folder below a file: %v", err)
	}
}

// owned is a file with an owner, which only root could make.
type owned struct {
	fs.FileInfo
	mode fs.FileMode
	stat syscall.Stat_t
}

func (o owned) Mode() fs.FileMode { return o.mode }
func (o owned) Sys() any          { return &o.stat }

// The owner is the user or root. A group may write if it is the user's own or root's.
func TestOthersMayWrite(t *testing.T) {
	me := uint32(os.Geteuid())
	other := me + 1234
	for _, c := range []struct {
		user, group uint32
		mode        fs.FileMode
		why         string
	}{
		{me, other, 0o755, ""},
		{0, other, 0o755, ""},
		{other, me, 0o700, "belongs to the user with number"},
		{other, me, 0o1777, "belongs to the user with number"},
		{me, me, 0o775, ""},
		{me, 0, 0o775, ""},
		{me, other, 0o775, "group with number"},
		{0, other, 0o775, "group with number"},
		{me, me, 0o777, "every user"},
		{me, me, 0o702, "every user"},
	} {
		info := owned{mode: c.mode&0o777 | fs.ModeDir}
		if c.mode&0o1000 != 0 {
			info.mode |= fs.ModeSticky
		}
		info.stat.Uid, info.stat.Gid = c.user, c.group
		why, remedy := othersMayWrite(info, true)
		if c.why == "" && why != "" || !strings.Contains(why, c.why) || strings.Count(remedy, "%s") != min(len(why), 1) {
			t.Errorf("user %d, group %d, mode %o: %q, %q, want %q", c.user, c.group, c.mode, why, remedy, c.why)
		}
	}
}

// Links are followed: what counts is who can change the target.
func TestPrivateLinks(t *testing.T) {
	places := cachedLibrary(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(places[0], link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TVMFFI_CACHE", link)
	if found, err := Cached("sample", "sample/lib.so"); err != nil || len(found) != 1 {
		t.Errorf("a cache behind a link: %v, %v", found, err)
	}
	mustChmod(t, places[0], 0o777)
	if _, err := Cached("sample", "sample/lib.so"); !errors.Is(err, ErrShared) {
		t.Errorf("a cache behind a link to a folder in which others can write: %v", err)
	}
}
