package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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
