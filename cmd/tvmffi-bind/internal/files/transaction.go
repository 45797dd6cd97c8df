package files

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/internal/advice"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/whole"
	"golang.org/x/sync/errgroup"
)

// Write makes all changes or none, and removes the leftovers. It locks the folders and
// compares them again, so that of several runs at the same time each finds either all
// files of another run or none. First it writes the new files beside their targets,
// which also shows that every folder can be written to; then it renames them. If a step
// fails, the files that are replaced already get their old content back. Only a crash in
// between leaves some files new and some old; each of them is whole, and the next run
// completes them and removes the temporary files.
func (o *Output) Write() (err error) {
	tx, held := transaction{}, locks{}
	defer held.unlock() // after the rollback
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.rollback())
		}
	}()
	if err := tx.lock(o, held); err != nil {
		return err
	}
	now, err := o.again(held)
	if err != nil {
		return err
	}
	return tx.write(now)
}

// lock makes and locks the folders of o.
func (tx *transaction) lock(o *Output, held locks) error {
	for _, c := range o.Changes {
		if dir := filepath.Dir(c.Path); c.New != nil {
			if err := tx.makeFolder(dir); err != nil {
				return unwritable(dir, err)
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(o.dirs)) {
		if err := held.lock(dir); err != nil {
			return err
		}
	}
	return nil
}

// again compares once more, under the locks. A file that another run has written meanwhile
// may be what this run wants, too. Any other change is refused: this run has decided
// without knowing it.
func (o *Output) again(held locks) (*Output, error) {
	now := &Output{held: held}
	for _, step := range o.steps {
		if err := step(now); err != nil {
			return nil, err
		}
	}
	for _, c := range now.Changes {
		i, known := o.find(c.Path)
		if !known || !o.Changes[i].equal(c) {
			return nil, console.Refuse("%s has changed while this command ran, perhaps by another run of it, so nothing was written: run it again", console.Shown(c.Path))
		}
	}
	return now, nil
}

// write makes the changes of o. It also removes the leftovers, if it can: they harm nobody.
func (tx *transaction) write(o *Output) error {
	for _, file := range o.Leftover {
		_ = os.Remove(file)
	}
	if err := tx.stage(o.Changes); err != nil {
		return err
	}
	// Removals come first: while the list of files is the old one, the next run knows which folders may be empty.
	for _, removal := range []bool{true, false} {
		for i := range tx.staged {
			if c := &tx.staged[i]; (c.New == nil) == removal {
				if err := tx.commit(c); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// transaction is a set of changes that are being written to the disk.
type transaction struct {
	staged  []stagedChange
	created []string // folders, outermost first
}

type stagedChange struct {
	Change
	temp string // has the new content; empty for a removal
	done bool
}

// stage writes the new content of each change to a temporary file in its folder. It writes several
// files at a time, because a disk flushes several in little more time than one.
func (tx *transaction) stage(changes []Change) error {
	staged := make([]stagedChange, len(changes))
	var writing errgroup.Group
	writing.SetLimit(16)
	for i, c := range changes {
		writing.Go(func() error {
			dir := filepath.Dir(c.Path)
			temp, err := newFile(dir, c.New)
			if err != nil {
				return unwritable(dir, err)
			}
			staged[i] = stagedChange{Change: c, temp: temp}
			return nil
		})
	}
	err := writing.Wait()
	tx.staged = slices.DeleteFunc(staged, func(c stagedChange) bool { return c.temp == "" })
	return err
}

// newFile writes data to the disk under a name of its own in dir, so that a rename can
// put it in the place of another file. If that fails, there is no file.
func newFile(dir string, data []byte) (name string, err error) {
	return whole.New(dir, temporaryPattern, bytes.NewReader(data), 0o644)
}

func unwritable(dir string, err error) error {
	remedy := "change its permissions or choose another one"
	if find.DiskFull(err) {
		remedy = "free some space"
	}
	return advice.Add(fmt.Errorf("cannot write to the folder %s: %w", console.Shown(dir), err), remedy+" (nothing was written)")
}

// makeFolder is like os.MkdirAll, but remembers which folders it made.
func (tx *transaction) makeFolder(dir string) error {
	var missing []string
	for d := dir; ; d = filepath.Dir(d) {
		info, err := os.Stat(d)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("%s is not a folder", console.Shown(d))
		}
		if err == nil || d == filepath.Dir(d) {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		missing = append(missing, d)
	}
	for _, d := range slices.Backward(missing) {
		err := os.Mkdir(d, 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue // another run was faster
		}
		if err != nil {
			return err
		}
		tx.created = append(tx.created, d)
	}
	return nil
}

// commit makes a staged change. os.Rename replaces a file at once, on Windows too.
func (tx *transaction) commit(c *stagedChange) error {
	var err error
	if c.New != nil {
		err = os.Rename(c.temp, c.Path)
	} else if err = os.Remove(c.temp); err == nil {
		err = os.Remove(c.Path)
	}
	if err != nil {
		verb, _ := c.words()
		return fmt.Errorf("cannot %s %s: %w", verb, console.Shown(c.Path), err)
	}
	c.done = true
	if c.New == nil {
		_ = os.Remove(filepath.Dir(c.Path)) // it fails for a folder that is not empty, as intended
	}
	return nil
}

// rollback puts everything back as it was.
func (tx *transaction) rollback() error {
	var errs []error
	for _, c := range slices.Backward(tx.staged) {
		switch {
		case !c.done:
			errs = append(errs, ignoreMissing(os.Remove(c.temp)))
		case c.Old == nil:
			errs = append(errs, os.Remove(c.Path))
		default:
			errs = append(errs, restore(c.Path, c.Old))
		}
	}
	for _, dir := range slices.Backward(tx.created) {
		if err := os.Remove(dir); !errors.Is(err, fs.ErrExist) { // not if another run has written there
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// restore puts back the old content of a file that was replaced or removed.
func restore(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil { // it may have lost its last file
		return err
	}
	temp, err := newFile(dir, data)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
