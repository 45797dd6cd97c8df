package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/tvmffi-go/tvmffi/gen"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/console"
)

// output is the difference between what is on disk and what a run wants there.
type output struct {
	changes []change // sorted by path, without the files that stay as they are
	same    int
}

// change is one file to create, replace or remove.
type change struct {
	path string // absolute
	old  []byte // nil: there is no such file
	new  []byte // nil: remove it
}

func (c change) verb() string {
	switch {
	case c.old == nil:
		return "create"
	case c.new == nil:
		return "remove"
	default:
		return "update"
	}
}

// put adds a file that should hold data. A file there that ours refuses is never
// overwritten.
func (o *output) put(path string, data []byte, ours func([]byte) bool) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		o.changes = append(o.changes, change{path: path, new: data})
		return nil
	case err != nil:
		return fmt.Errorf("cannot look at %s: %w; choose another folder for the output", console.Shown(path), err)
	case !info.Mode().IsRegular():
		return console.Refuse("%s is in the way and not a regular file: move it, or choose another place for the output", console.Shown(path))
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !ours(old) {
		return console.Refuse("%s is in the way and was not written by tvmffi-bind: move it, or choose another folder for the output", console.Shown(path))
	}
	if bytes.Equal(old, data) {
		o.same++
		return nil
	}
	o.changes = append(o.changes, change{path: path, old: old, new: data})
	return nil
}

// drop adds the removal of a stale file; one that is not ours stays.
func (o *output) drop(path string) error {
	old, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if hasMarker(old) {
		o.changes = append(o.changes, change{path: path, old: old})
	}
	return nil
}

// goOutput compares the generated files, by path relative to root, with the disk.
// Stale are the files of ours that the previous run listed or that lie in a folder
// which this run writes, and that this run does not produce.
func goOutput(root string, files map[string][]byte, previous []string) (*output, error) {
	o := &output{}
	dirs := map[string]bool{}
	for rel, data := range files {
		path := filepath.Join(root, filepath.FromSlash(rel))
		dirs[filepath.Dir(path)] = true
		if err := o.put(path, data, hasMarker); err != nil {
			return nil, err
		}
	}
	candidates := map[string]bool{}
	for _, rel := range previous {
		if filepath.IsLocal(filepath.FromSlash(rel)) && strings.HasSuffix(rel, ".go") {
			candidates[rel] = true
		}
	}
	for dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".go") {
				rel, err := filepath.Rel(root, filepath.Join(dir, e.Name()))
				if err != nil {
					return nil, err
				}
				candidates[filepath.ToSlash(rel)] = true
			}
		}
	}
	for rel := range candidates {
		if _, wanted := files[rel]; wanted {
			continue
		}
		if err := o.drop(filepath.Join(root, filepath.FromSlash(rel))); err != nil {
			return nil, err
		}
	}
	o.sort()
	return o, nil
}

func (o *output) sort() {
	slices.SortFunc(o.changes, func(a, b change) int { return strings.Compare(a.path, b.path) })
}

func hasMarker(data []byte) bool {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	return string(bytes.TrimRight(first, "\r")) == gen.Marker
}

// diff is the change of the text files as a unified diff.
func (o *output) diff() string {
	var b strings.Builder
	for _, c := range o.changes {
		from, to := "a/"+console.Shown(c.path), "b/"+console.Shown(c.path)
		if c.old == nil {
			from = os.DevNull
		}
		if c.new == nil {
			to = os.DevNull
		}
		b.WriteString(udiff.Unified(from, to, string(c.old), string(c.new)))
	}
	return b.String()
}

// list writes one line per change.
func (o *output) list() string {
	var b strings.Builder
	for _, c := range o.changes {
		fmt.Fprintf(&b, "%s %s\n", c.verb(), console.Shown(c.path))
	}
	return b.String()
}

// writeOne writes a single file that the user named.
func writeOne(file string, data []byte, ours func([]byte) bool) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	o := &output{}
	if err := o.put(path, data, ours); err != nil {
		return err
	}
	return o.write()
}
