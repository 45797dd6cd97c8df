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
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/internal/advice"
)

// Output is the difference between what is on disk and what a run wants there.
type Output struct {
	Changes  []Change // sorted by path, without the files that stay as they are
	Same     int      // the number of those
	Leftover []string // temporary files, and empty folders, of runs that were killed, which Write removes

	steps []func(*Output) error // what the caller has compared, for Write to compare again
	dirs  map[string]bool       // the folders of all files
	held  locks
}

// UpToDate reports whether Write would change nothing.
func (o *Output) UpToDate() bool { return len(o.Changes)+len(o.Leftover) == 0 }

// compare makes a comparison and remembers it.
func (o *Output) compare(step func(*Output) error) error {
	o.steps = append(o.steps, step)
	return step(o)
}

// Change is one file to create, replace or remove.
type Change struct {
	Path string // absolute
	Old  []byte // nil: there is no such file
	New  []byte // nil: remove it
}

func (c Change) equal(d Change) bool {
	return c.Path == d.Path && bytes.Equal(c.Old, d.Old) && (c.Old == nil) == (d.Old == nil) && bytes.Equal(c.New, d.New)
}

// words returns the verb for c, and the state of the file before c is made.
func (c Change) words() (verb, state string) {
	switch {
	case c.Old == nil:
		return "create", "missing"
	case c.New == nil:
		return "remove", "left over"
	default:
		return "update", "stale"
	}
}

// Put adds a file that should hold data. It never replaces a file whose content ours
// rejects.
func (o *Output) Put(path string, data []byte, ours func([]byte) bool) error {
	return o.compare(func(o *Output) error { return o.put(path, data, ours) })
}

func (o *Output) put(path string, data []byte, ours func([]byte) bool) error {
	o.visit(filepath.Dir(path))
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		o.add(Change{Path: path, New: data})
		return nil
	case err != nil:
		return advice.Add(fmt.Errorf("cannot inspect %s: %w", console.Shown(path), err), "choose another folder for the output")
	case !info.Mode().IsRegular():
		return console.Refuse("%s is in the way and is not a regular file: move it, or choose another place for the output", console.Shown(path))
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !ours(old) {
		return console.Refuse("%s is in the way and was not written by tvmffi-bind: move it, or choose another folder for the output", console.Shown(path))
	}
	if bytes.Equal(old, data) || bytes.Equal(withoutCR(old), data) {
		o.Same++
		return nil
	}
	o.add(Change{Path: path, Old: old, New: data})
	return nil
}

// withoutCR returns a text with the line ends of Unix: on Windows git writes those of Windows where it is not told otherwise.
func withoutCR(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// visit notes that a file of this run is in dir.
func (o *Output) visit(dir string) {
	if o.dirs == nil {
		o.dirs = map[string]bool{}
	}
	if !o.dirs[dir] {
		o.dirs[dir] = true
		o.Leftover = append(o.Leftover, o.held.leftovers(dir)...)
		slices.Sort(o.Leftover)
	}
}

func (o *Output) add(c Change) {
	i, _ := o.find(c.Path)
	o.Changes = slices.Insert(o.Changes, i, c)
}

// find returns where the change of a file is, or belongs.
func (o *Output) find(path string) (int, bool) {
	return slices.BinarySearchFunc(o.Changes, path, func(c Change, path string) int { return strings.Compare(c.Path, path) })
}

// drop adds the removal of a file, unless ours rejects it.
func (o *Output) drop(path string, ours func([]byte) bool) error {
	old, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if ours(old) {
		o.visit(filepath.Dir(path))
		o.add(Change{Path: path, Old: old})
	}
	return nil
}

// GoPackage compares the Go files of a package and its sub-packages, by path relative
// to root, with the disk. Our files that this run does not produce are removed if the
// previous run listed them or if they lie in a folder that this run writes to.
func GoPackage(root string, files map[string][]byte, previous []string, ours func([]byte) bool) (*Output, error) {
	o := &Output{}
	return o, o.compare(func(o *Output) error { return o.goPackage(root, files, previous, ours) })
}

func (o *Output) goPackage(root string, files map[string][]byte, previous []string, ours func([]byte) bool) error {
	dirs := map[string]bool{}
	for _, rel := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(root, filepath.FromSlash(rel))
		dirs[filepath.Dir(path)] = true
		if err := o.put(path, files[rel], ours); err != nil {
			return err
		}
	}
	candidates := map[string]bool{}
	for _, rel := range previous {
		if filepath.IsLocal(filepath.FromSlash(rel)) && strings.HasSuffix(rel, ".go") {
			candidates[rel] = true
		}
	}
	for dir := range dirs {
		if err := goFiles(root, dir, candidates); err != nil {
			return err
		}
	}
	for rel := range candidates {
		if _, wanted := files[rel]; wanted {
			continue
		}
		path := filepath.Join(root, filepath.FromSlash(rel))
		if err := o.drop(path, ours); err != nil {
			return err
		}
		if dir := filepath.Dir(path); dir != filepath.Clean(root) && !slices.Contains(o.Leftover, dir) {
			if entries, err := os.ReadDir(dir); err == nil && len(entries) == 0 { // a killed run has removed its files
				o.Leftover = append(o.Leftover, dir)
				slices.Sort(o.Leftover)
			}
		}
	}
	return nil
}

// goFiles adds the Go files in dir, which need not exist, relative to root.
func goFiles(root, dir string, found map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		rel, err := filepath.Rel(root, filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		found[filepath.ToSlash(rel)] = true
	}
	return nil
}

// Diff returns the changes as a unified diff.
func (o *Output) Diff() string {
	var b strings.Builder
	for _, c := range o.Changes {
		from, to := "a/"+console.Shown(c.Path), "b/"+console.Shown(c.Path)
		if c.Old == nil {
			from = os.DevNull
		}
		if c.New == nil {
			to = os.DevNull
		}
		b.WriteString(udiff.Unified(from, to, string(withoutCR(c.Old)), string(c.New)))
	}
	for _, file := range o.Leftover {
		fmt.Fprintf(&b, "left over: %s\n", console.Shown(file))
	}
	return b.String()
}

// List returns one line for each change, such as "create garden/garden.go".
func (o *Output) List() string {
	return o.lines("%s %s\n", "remove", func(c Change) string { verb, _ := c.words(); return verb })
}

// Stale returns one line for each change, such as "missing: garden/garden.go".
func (o *Output) Stale() string {
	return o.lines("%s: %s\n", "left over", func(c Change) string { _, state := c.words(); return state })
}

func (o *Output) lines(format, leftover string, word func(Change) string) string {
	var b strings.Builder
	for _, c := range o.Changes {
		fmt.Fprintf(&b, format, word(c), console.Shown(c.Path))
	}
	for _, file := range o.Leftover {
		fmt.Fprintf(&b, format, leftover, console.Shown(file))
	}
	return b.String()
}

// WriteOne writes a single file that the user named, unless ours rejects its old content.
// Its folder must exist: a misspelt path must not make a new one.
func WriteOne(file string, data []byte, ours func([]byte) bool) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write %s: there is no folder %s; make it first, or correct the path", file, filepath.Dir(path))
	}
	o := &Output{}
	if err := o.Put(path, data, ours); err != nil {
		return err
	}
	return o.Write()
}
