package bindings

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/files"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/gen"
)

// settled is how long a file must not have changed when a run begins, so that a record can trust its state: the clocks of
// file systems have steps.
var settled = 2 * time.Second

// hashTool is another one in tests.
var hashTool = probe.HashTool

// A Memory knows the last run of gen for a configuration, in the user's cache. A run for which everything that the last one
// has read is as it was, and so is everything that it wrote, has nothing to do. The lock cannot say this: it is for all machines,
// and much of what counts is of one machine.
type Memory struct {
	note    string // "" if nothing can be known
	of      string
	began   time.Time
	before  map[string]string // the states of what is known before a run
	listing string
	root    string
	last    record
}

// record is what a run has read and written.
type record struct {
	Of        string            // the tool, the configuration and the environment
	Libraries string            // with their hashes
	States    map[string]string // of files and folders, by path
	Listing   string            // the Go files below the output folder
	Outputs   map[string]string // the hashes of what was written
	Summary   string            // what the run has printed
}

// Remember reads what is known about the last run for c, before another one begins.
func Remember(c *project.Config) *Memory {
	m := &Memory{began: time.Now()}
	lock, err := c.LockFile()
	if err != nil || len(c.Kernels) > 0 || runtime.GOOS != "linux" {
		return m
	}
	var b Result
	if b.locate(c) != nil {
		return m
	}
	if m.of, err = identity(c); err != nil || m.of == "" {
		return m
	}
	paths, known := b.Module.Settings(b.Root)
	if !known {
		return m
	}
	for _, name := range append(slices.Clone(c.Names), c.From) {
		if name == "" {
			continue
		}
		file, err := c.Rooted(name)
		if err != nil {
			return m
		}
		paths = append(paths, file)
	}
	m.root = b.Root
	if m.before, _, err = states(paths); err != nil {
		return m
	}
	if m.listing, err = goFiles(m.root); err != nil {
		return m
	}
	m.note = probe.Note("runs", lock)
	if data, err := os.ReadFile(m.note); err == nil {
		_ = json.Unmarshal(data, &m.last)
	}
	return m
}

// Unchanged reports whether the last run has done what another one would do, and what it has printed.
func (m *Memory) Unchanged(ctx context.Context, p *probe.Prober, c *project.Config) (summary string, written int, yes bool) {
	if m.note == "" || m.last.Of != m.of || m.last.Listing != m.listing {
		return "", 0, false
	}
	for path, was := range m.last.States {
		if now, _, err := probe.State(path); err != nil || now != was {
			return "", 0, false
		}
	}
	for path, was := range m.last.Outputs {
		if data, err := os.ReadFile(path); err != nil || hashOf(data) != was {
			return "", 0, false
		}
	}
	if files.Unfinished(slices.Collect(maps.Keys(m.last.Outputs))) {
		return "", 0, false
	}
	if c.From == "" {
		if found, err := p.Found(ctx, c); err != nil || found != m.last.Libraries {
			return "", 0, false
		}
	}
	return m.last.Summary, len(m.last.Outputs), true
}

// Root is the output folder.
func (m *Memory) Root() string { return m.root }

// Keep records a run whose files are on the disk now, if everything that it has read is known and has not changed since before
// it. A run that cannot be recorded is made again.
func (m *Memory) Keep(p *probe.Prober, c *project.Config, b *Result, summary string) {
	if m.note == "" || b.sources == nil || len(b.Notes)+len(b.fresh) > 0 || !b.readsAll(c) {
		return
	}
	r := record{Of: m.of, Summary: summary}
	var err error
	if r.Outputs, err = b.outputs(c); err != nil {
		return
	}
	if r.Listing, err = goFiles(m.root); err != nil || !slices.Equal(r.own(r.Listing), r.own(m.listing)) {
		return
	}
	paths, err := b.read()
	if err != nil {
		return
	}
	if c.From == "" {
		searched, known := p.Searched()
		if !known {
			return
		}
		r.Libraries = p.LastRead()
		paths = append(paths, searched...)
	}
	paths = slices.Concat(paths, r.own(r.Listing), slices.Collect(maps.Keys(m.before)))
	var newest time.Time
	if r.States, newest, err = states(paths); err != nil || newest.After(m.began.Add(-settled)) {
		return
	}
	for path, was := range m.before {
		if r.States[path] != was {
			return
		}
	}
	if data, err := json.Marshal(r); err == nil {
		probe.Keep(m.note, string(data))
	}
}

// own returns the files of a listing that the run has not written.
func (r *record) own(listing string) (files []string) {
	for file := range strings.Lines(listing) {
		if file = strings.TrimSuffix(file, "\n"); r.Outputs[file] == "" {
			files = append(files, file)
		}
	}
	return files
}

// readsAll reports whether the type check has read the packages of other types, whose names the generator reads, too.
func (b *Result) readsAll(c *project.Config) bool {
	for _, target := range c.External {
		path := target[:max(0, strings.LastIndexByte(target, '.'))]
		if b.sources.Folders[target] == "" && b.sources.Folders[path] == "" {
			return false
		}
	}
	return true
}

// read returns the files that the type check has read, and their folders, to which files may be added.
func (b *Result) read() ([]string, error) {
	paths := []string{filepath.Join(b.sources.Toolchain, "VERSION"), filepath.Join(b.sources.Toolchain, "go.env")}
	for _, dir := range b.sources.Folders {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		paths = append(paths, dir)
		for _, e := range entries {
			if !e.IsDir() {
				paths = append(paths, filepath.Join(dir, e.Name()))
			}
		}
	}
	return paths, nil
}

// outputs returns the hashes of the files of a run.
func (b *Result) outputs(c *project.Config) (map[string]string, error) {
	lock, err := c.LockFile()
	if err != nil {
		return nil, err
	}
	data, err := b.lock.Encode()
	if err != nil {
		return nil, err
	}
	all := map[string]string{lock: hashOf(data)}
	for name, content := range b.Files {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if gen.IgnoresFolder(filepath.Join(b.Root, filepath.FromSlash(dir))) {
				return nil, errors.New("a folder of the output is not in the listing")
			}
		}
		all[filepath.Join(b.Root, filepath.FromSlash(name))] = hashOf(content)
	}
	return all, nil
}

// identity describes the tool, the configuration and the environment. The environment counts as a whole, because a library
// may read any variable of it; ignored are those that change with the place from which a shell or go generate starts gen.
func identity(c *project.Config) (string, error) {
	tool, err := hashTool()
	if err != nil {
		return "", err
	}
	configuration, err := c.Identity()
	if err != nil || configuration == "" {
		return "", err
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	var commands []string
	for _, name := range []string{"go", "gcc", "clang"} { // without a compiler of C, the go command chooses files for CGO_ENABLED=0
		command, err := exec.LookPath(name)
		if err != nil && !errors.Is(err, exec.ErrNotFound) {
			return "", err
		}
		commands = append(commands, command)
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"_", "SHLVL", "OLDPWD", "GOFILE", "GOLINE", "GOPACKAGE", "DOLLAR"}, name)
	})
	slices.Sort(env)
	return hashOf(fmt.Appendf(nil, "%q", []string{tool, configuration, dir, host, fmt.Sprintf("%q", commands), runtime.GOARCH, fmt.Sprintf("%q", env)})), nil
}

func hashOf(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// states returns the states of files, and when the last one changed.
func states(paths []string) (all map[string]string, newest time.Time, err error) {
	all = map[string]string{}
	for _, path := range paths {
		if all[path] != "" {
			continue
		}
		text, changed, err := probe.State(path)
		if err != nil {
			return nil, newest, err
		}
		if all[path] = text; changed.After(newest) {
			newest = changed
		}
	}
	return all, newest, nil
}

// goFiles lists the Go files below dir that [gen.UserNames] and [gen.Verify] may read, and the modules there, a path on each line.
func goFiles(dir string) (string, error) {
	var list strings.Builder
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && file == dir {
			return fs.SkipAll
		}
		if err != nil {
			return err
		}
		if d.IsDir() {
			if file != dir && gen.IgnoresFolder(file) {
				return fs.SkipDir
			}
			return nil
		}
		if strings.Contains(file, "\n") {
			return fmt.Errorf("%q has two lines", file)
		}
		if filepath.Ext(file) == ".go" {
			list.WriteString(file + "\n")
		}
		return nil
	})
	return list.String(), err
}
