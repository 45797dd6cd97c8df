// Package wheel brings Python wheels into the user's cache through the package tool of the machine.
// The hash of a wheel is pinned, or recorded by the caller. Nothing in a wheel is run, and no download address is known here:
// pip or uv decide where a package comes from, by the configuration of the user.
package wheel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/whole"
)

// Spec names one wheel.
type Spec struct {
	Package string // distribution name, such as apache-tvm-ffi
	Version string
	GOOS    string // the platform as Go names it
	GOARCH  string
	// Platform is the wheel's platform tag, such as manylinux_2_28_x86_64; empty lets pip take what suits this machine.
	Platform string
	// Python is the Python version to take the wheel for, such as 3.12; empty leaves it to pip.
	Python string
	// SHA256 is the hash of the wheel file in hex. It is required.
	SHA256 string
}

// String names the wheel for messages.
func (s Spec) String() string {
	t := s.Package + " " + s.Version
	if s.GOOS != "" {
		t += " (" + s.GOOS + "/" + s.GOARCH + ")"
	}
	return t
}

// Here reports whether the wheel is for this platform.
func (s Spec) Here() bool { return s.GOOS == runtime.GOOS && s.GOARCH == runtime.GOARCH }

// Dir is an unpacked wheel.
type Dir struct {
	root string
	spec Spec
}

// Root returns the folder with the files of the wheel.
func (d Dir) Root() string { return d.root }

// Spec returns the spec that was requested.
func (d Dir) Spec() Spec { return d.spec }

// Path returns the path of a file of the wheel, given with slashes relative to its root.
func (d Dir) Path(rel string) string { return filepath.Join(d.root, filepath.FromSlash(rel)) }

// Library returns the path of libtvm_ffi in a wheel of apache-tvm-ffi.
func (d Dir) Library() string { return d.Path(find.PathOfCore(d.goos())) }

// TestingLibrary returns the path of the testing library in a wheel of apache-tvm-ffi.
func (d Dir) TestingLibrary() string { return d.Path(PathOfTesting(d.goos())) }

// PathOfTesting returns the path of the testing library in the wheel of apache-tvm-ffi for an operating system.
func PathOfTesting(goos string) string {
	return strings.Replace(find.PathOfCore(goos), "ffi.", "ffi_testing.", 1)
}

// Include returns the folders of C and C++ headers in a wheel of apache-tvm-ffi.
func (d Dir) Include() []string {
	dirs := []string{d.Path("tvm_ffi/include")}
	if _, err := os.Stat(filepath.Join(dirs[0], "dlpack", "dlpack.h")); err == nil {
		return dirs
	}
	return append(dirs, d.Path("tvm_ffi/3rdparty/dlpack/include"))
}

func (d Dir) goos() string {
	if d.spec.GOOS != "" {
		return d.spec.GOOS
	}
	return runtime.GOOS
}

// maker writes the wheel file of a spec into dir and returns its path. The real one is download.
type maker func(ctx context.Context, s Spec, dir string) (string, error)

// Get returns the unpacked wheel, which it downloads on first use. Several processes may call it at once.
// A wheel that is already there is not read again: Verify does that.
func Get(ctx context.Context, s Spec) (Dir, error) {
	d, err := get(ctx, s, Dir.marked, download)
	return d, find.Advise(err)
}

// Cached returns the unpacked wheel if an earlier Get left it in the cache; it never downloads.
func Cached(s Spec) (Dir, bool) {
	d, err := place(s)
	if err != nil || find.Private(d.root) != nil || d.marked() != nil {
		return Dir{}, false
	}
	return d, true
}

// get returns the wheel in the cache if check finds nothing wrong with it, and otherwise a new one.
func get(ctx context.Context, s Spec, check func(Dir) error, fetch maker) (Dir, error) {
	d, err := place(s)
	if err != nil {
		return Dir{}, err
	}
	parent := filepath.Dir(d.root)
	err = os.MkdirAll(parent, 0o700)
	if err == nil {
		err = find.Private(d.root)
	}
	if err != nil {
		return Dir{}, fmt.Errorf("wheel: %s: %w", s, err)
	}
	whole.Sweep(parent)
	usable := func() bool { return d.marked() == nil && check(d) == nil }
	if usable() {
		return d, nil
	}
	lock := flock.New(d.root+".lock", flock.SetPermissions(0o600))
	if ok, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil || !ok {
		return Dir{}, fmt.Errorf("wheel: %s: lock %s is held by another process: %w", s, lock.Path(), err)
	}
	defer lock.Close()
	if usable() { // another process was faster
		return d, nil
	}
	temp, remove, err := whole.Folder(parent)
	if err != nil {
		return Dir{}, fmt.Errorf("wheel: %s: %w", s, err)
	}
	defer remove()
	if err := d.make(ctx, temp, fetch); err != nil {
		return Dir{}, err
	}
	return d, nil
}

// make gets the wheel into the empty folder temp and, when all is there, puts it in the place of d. What
// was there stays until then, because programs may be loading from it.
func (d Dir) make(ctx context.Context, temp string, fetch maker) error {
	file, err := fetch(ctx, d.spec, temp)
	if err != nil {
		return err
	}
	if err := checkHash(file, d.spec); err != nil {
		return err
	}
	tree := Dir{root: filepath.Join(temp, "tree"), spec: d.spec}
	if err := os.Mkdir(tree.root, 0o700); err != nil {
		return fmt.Errorf("wheel: %s: %w", d.spec, err)
	}
	if err := unpack(file, tree.root, defaultLimits); err != nil {
		err = fmt.Errorf("wheel: unpack %s into %s: %w", d.spec, filepath.Dir(d.root), err)
		if _, system := errors.AsType[*fs.PathError](err); !system { // it is about the archive, not about the machine
			err = fmt.Errorf("%w; do not trust this wheel", err)
		}
		return err
	}
	if err := tree.Verify(); err != nil {
		return fmt.Errorf("wheel: unpack %s: %w; do not trust this wheel", d.spec, err)
	}
	if err := os.WriteFile(filepath.Join(tree.root, find.Marker), []byte(d.spec.SHA256+"\n"), 0o600); err != nil {
		return fmt.Errorf("wheel: %s: %w", d.spec, err)
	}
	if err := os.Rename(d.root, filepath.Join(temp, "old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("wheel: %s: %w", d.spec, find.InUse(err))
	}
	if err := os.Rename(tree.root, d.root); err != nil {
		return fmt.Errorf("wheel: %s: %w", d.spec, err)
	}
	return nil
}

var (
	nameForm    = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	versionForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.+!_-]*[A-Za-z0-9])?$`)
	hashForm    = regexp.MustCompile(`^[0-9a-f]{64}$`)
	tagForm     = regexp.MustCompile(`^[A-Za-z0-9_.]*$`)
)

// place checks the spec and returns the folder of its tree.
func place(s Spec) (Dir, error) {
	switch {
	case !nameForm.MatchString(s.Package):
		return Dir{}, fmt.Errorf("wheel: package name %q is not valid", s.Package)
	case !versionForm.MatchString(s.Version):
		return Dir{}, fmt.Errorf("wheel: %s: version %q is not valid; give one exact version", s.Package, s.Version)
	case !tagForm.MatchString(s.Platform), !tagForm.MatchString(s.Python):
		return Dir{}, fmt.Errorf("wheel: %s: platform %q or python %q is not valid", s, s.Platform, s.Python)
	case !hashForm.MatchString(s.SHA256):
		return Dir{}, fmt.Errorf("wheel: %s: sha256 %q is not 64 digits of lower case hex; a hash is required", s, s.SHA256)
	}
	cache, err := find.CacheDir()
	if err != nil {
		return Dir{}, fmt.Errorf("wheel: %w", err)
	}
	return Dir{root: filepath.Join(cache, "wheels", s.Package+"-"+s.Version+"-"+s.SHA256[:8]), spec: s}, nil
}

func checkHash(file string, s Spec) error {
	got, err := find.HashFile(file)
	if err != nil {
		return fmt.Errorf("wheel: %s: %w", s, err)
	}
	if got != s.SHA256 {
		return fmt.Errorf("wheel: %s: sha256 of %s is %s, pinned is %s; it was not unpacked: "+
			"check which package index pip is configured to use", s, filepath.Base(file), got, s.SHA256)
	}
	return nil
}

// oneWheel returns the only wheel in dir.
func oneWheel(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range entries {
		if e.Type().IsRegular() && strings.EqualFold(filepath.Ext(e.Name()), ".whl") {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%d wheels were downloaded, want 1", len(found))
	}
	return found[0], nil
}
