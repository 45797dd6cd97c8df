package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
)

const (
	// lockWait is how long Write waits for other runs, which write for a second at most.
	lockWait = 30 * time.Second
	// oldTemporary is the age at which nobody can be writing a temporary file any more.
	oldTemporary = time.Hour
	// temporaryPattern is the name of a new file until a rename puts it in its place.
	temporaryPattern = ".tvmffi-bind-*.tmp"
)

// locks are the folders that one run has locked, by path. The lock is on the folder
// itself: it leaves no file behind, and the system drops it when the process ends. Where
// folders cannot be locked (Windows, some network file systems) there is no lock.
type locks map[string]*flock.Flock

func newLock(dir string) *flock.Flock { return flock.New(dir, flock.SetFlag(os.O_RDONLY)) }

// lock locks one more folder. Folders must be locked in the order of their paths.
func (l locks) lock(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	f := newLock(dir)
	locked, err := f.TryLockContext(ctx, 20*time.Millisecond)
	if locked {
		l[dir] = f
		return nil
	}
	_ = f.Close()
	if errors.Is(err, context.DeadlineExceeded) {
		return console.Refuse("another process has locked the folder %s for more than %s: end it, or choose another folder for the output", console.Shown(dir), lockWait)
	}
	return nil
}

func (l locks) unlock() {
	for _, f := range l {
		_ = f.Close()
	}
}

// free reports whether no other run writes to dir now.
func (l locks) free(dir string) bool {
	if l[dir] != nil {
		return true
	}
	f := newLock(dir)
	defer f.Close()
	free, err := f.TryRLock()
	return free && err == nil
}

// leftovers returns the temporary files in dir that belong to runs that have ended.
func (l locks) leftovers(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var old []string
	for _, e := range entries {
		if ours, _ := filepath.Match(temporaryPattern, e.Name()); !ours || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err == nil && (l.free(dir) || time.Since(info.ModTime()) > oldTemporary) {
			old = append(old, filepath.Join(dir, e.Name()))
		}
	}
	return old
}

// Unfinished reports whether a run has left temporary files beside one of these files, or is writing there.
func Unfinished(paths []string) bool {
	dirs := map[string]bool{}
	for _, path := range paths {
		dirs[filepath.Dir(path)] = true
	}
	for dir := range dirs {
		left, err := filepath.Glob(filepath.Join(escaped(dir), temporaryPattern))
		if err != nil || len(left) > 0 {
			return true
		}
	}
	return false
}

// escaped returns the pattern for a path alone.
func escaped(path string) string {
	return strings.NewReplacer("\\", "\\\\", "*", "\\*", "?", "\\?", "[", "\\[").Replace(path)
}
