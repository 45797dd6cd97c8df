package bindings

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/files"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	_ "github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/vendored" // for modules with a folder vendor
	"github.com/tvmffi-go/tvmffi/gen"
	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// Result is a Go package in memory: the outcome of a run of the generator.
type Result struct {
	Root       string          // the output folder
	Module     *project.Module // around it
	ImportPath string          // of the package there
	Schema     schema.Schema
	Files      map[string][]byte // the generated files by path relative to Root
	Report     gen.Report
	Kernels    int           // how many there are in place of a library
	Output     *files.Output // what changes on disk: the files and the lock
	Timings    []Timing
	Notes      []string // what the run did with names files of another version

	sources   *gen.Sources // what the type check has read
	generated []gen.File
	names     []hints.File
	fresh     map[string]hints.File // the names files that were read again, by their names in the configuration
	lock      *project.Lock
	previous  *project.Lock // what the lock file holds, nil if there is none
}

// Generate runs every stage except the last, which writes. It changes nothing on disk.
func Generate(ctx context.Context, p *probe.Prober, c *project.Config) (*Result, error) {
	b := &Result{}
	read, generate := p.Read, b.bindings
	if len(c.Kernels) > 0 { // the configuration describes them, so there is nothing to read
		read, generate = func(context.Context, *project.Config) (schema.Schema, error) { return schema.Schema{}, nil }, b.kernels
	}
	stages := []struct {
		name, title string
		run         func() error
	}{
		{"prepare", "", func() error { return b.prepare(ctx, c) }},
		{"read", "", func() error {
			s, err := read(ctx, c)
			b.identify(s)
			return err
		}},
		{"names", "", func() error { return b.refreshNames(ctx, p, c) }},
		{"generate", "generating", func() error { return generate(c) }},
		{"typecheck", "checking that it compiles", b.verify},
		{"compare", "comparing with the files on disk", func() error { return b.compare(c, p.Wheels) }},
	}
	for _, s := range stages {
		took, err := p.Console.Step(s.title, s.run)
		if err != nil {
			return nil, err
		}
		b.Took(s.name, took)
	}
	return b, nil
}

// Check refuses early what would fail at the end of Generate.
func Check(ctx context.Context, c *project.Config) error { return (&Result{}).prepare(ctx, c) }

// prepare finds the output folder, and refuses early what would fail at the end.
func (b *Result) prepare(ctx context.Context, c *project.Config) (err error) {
	if err := b.locate(c); err != nil {
		return err
	}
	if err := b.Module.RequiresRuntime(ctx); err != nil {
		return err
	}
	file, err := c.LockFile()
	if err != nil {
		return err
	}
	b.previous, err = project.ReadLock(file)
	return err
}

// locate finds the output folder and the module around it.
func (b *Result) locate(c *project.Config) (err error) {
	if b.Root, err = c.Rooted(c.Out); err != nil {
		return err
	}
	if b.Module, err = project.ModuleAround(b.Root); err != nil {
		return err
	}
	b.ImportPath, err = b.Module.ImportPath(b.Root)
	return err
}

// identify begins the lock of what was read. Bindings are the same on all systems, so libraries keep the names that they have in
// the previous lock.
func (b *Result) identify(read schema.Schema) {
	b.lock = project.NewLock(read)
	b.lock.Adopt(b.previous)
	b.Schema = b.lock.Named(read)
}

// bindings makes the Go files of bindings.
func (b *Result) bindings(c *project.Config) error {
	conf, err := b.config(c)
	if err != nil {
		return &console.Refusal{Err: err}
	}
	if b.generated, b.Report, err = gen.Generate(b.Schema, conf); err != nil {
		return &console.Refusal{Err: console.Problems(positioned(c, err))}
	}
	b.list()
	return nil
}

// config says what to generate. Names that the user declares are left to the user.
func (b *Result) config(c *project.Config) (gen.Config, error) {
	conf := gen.NewConfig(c.Package, b.ImportPath)
	conf.Choices = c.Choices
	conf.ToolVersion = console.Release()
	if b.previous != nil {
		conf.Before = b.previous.GoNames
	}
	var err error
	if b.names == nil {
		if b.names, err = c.ReadNames(); err != nil {
			return conf, err
		}
	}
	conf.Names = b.names
	if conf.Imported, err = gen.Imported(b.Root, c.External); err != nil {
		return conf, positioned(c, err)
	}
	conf.PackageNames = gen.PackageNames(b.Root, c.External)
	maps.Copy(conf.PackageNames, gen.PackageNames(b.Root, conf.Imported))
	if b.Root != "" {
		conf.UserNames, err = gen.UserNames(b.Root)
	}
	return conf, err
}

func (b *Result) list() {
	b.Files = map[string][]byte{}
	for _, f := range b.generated {
		b.Files[f.Path] = f.Content
	}
}

// verify type-checks the files together with the user's files.
func (b *Result) verify() error {
	var err error
	b.sources, err = gen.Verified(b.Root, b.generated)
	if errors.Is(err, gen.ErrLoad) {
		return fmt.Errorf("nothing was written, because nothing shows that the bindings compile: %s\nrun \"go version\" and \"go build ./...\" here to see what the go command lacks", console.FirstLines(err.Error()))
	}
	if err != nil {
		return console.Refuse("the bindings would not compile, so nothing was written:\n%s", console.FirstLines(err.Error()))
	}
	return nil
}

// compare finds out what changes on disk.
func (b *Result) compare(c *project.Config, wheels map[string]project.WheelFile) (err error) {
	b.lock.Files = slices.Sorted(maps.Keys(b.Files))
	b.lock.SetWheels(c, wheels, b.previous)
	if b.Kernels == 0 {
		b.lock.GoNames = &b.Report.Names
	}
	for _, e := range b.Report.Entries {
		if e.Narrow {
			if b.lock.Widths == nil {
				b.lock.Widths = map[string]string{}
			}
			b.lock.Widths[e.Item()] = e.Signature
		}
	}
	for _, f := range b.names {
		b.lock.Names = append(b.lock.Names, f.Sources...)
	}
	var before []string
	if b.previous != nil {
		before = b.previous.Files
	}
	if b.Output, err = files.GoPackage(b.Root, b.Files, before, gen.IsGenerated); err != nil {
		return err
	}
	data, err := b.lock.Encode()
	if err != nil {
		return err
	}
	file, err := c.LockFile()
	if err != nil {
		return err
	}
	if err := b.Output.Put(file, data, project.IsLock); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(b.fresh)) {
		data, err := b.fresh[name].Encode()
		if err != nil {
			return err
		}
		file, err := c.Rooted(name)
		if err != nil {
			return err
		}
		if err := b.Output.Put(file, data, project.IsNames); err != nil {
			return err
		}
	}
	return nil
}

// Count returns how many items of each kind a Go program can use now.
func (b *Result) Count() map[gen.Kind]int {
	n := map[gen.Kind]int{}
	for _, e := range b.Report.Entries {
		if e.Status == gen.Generated {
			n[e.Kind]++
		}
	}
	return n
}

// Timing is the time that one stage took.
type Timing struct {
	Stage   string  `json:"stage"`
	Seconds float64 `json:"seconds"`
}

// Changes says how the libraries, the meanings of Go names and the widths of ints differ from the previous run.
func (b *Result) Changes() []string {
	return slices.Concat(b.lock.Changed(b.previous), b.newMeanings(), b.lock.NewWidths(b.previous))
}

// newMeanings says which Go names stand for other items than in the previous run.
func (b *Result) newMeanings() []string {
	var lines []string
	for _, m := range b.Report.Meanings {
		line := fmt.Sprintf("breaking: %s now means %s; it meant %s", m.GoName, m.Now, m.Was)
		if m.Package != "." {
			line += ", in package " + m.Package
		}
		if m.Gone {
			line += ", which is gone"
		}
		lines = append(lines, line)
	}
	return lines
}

// Compiles returns an error if the files of a program, by their paths below the folder of the configuration, do not compile
// with the bindings. Tests count as files of the program.
func (b *Result) Compiles(c *project.Config, program map[string][]byte) error {
	dir, err := c.Rooted(".")
	if err != nil {
		return err
	}
	out, err := filepath.Rel(dir, b.Root)
	if err != nil {
		return err
	}
	var all []gen.File
	for _, f := range b.generated {
		f.Path = path.Join(filepath.ToSlash(out), f.Path)
		all = append(all, f)
	}
	for name, text := range program {
		if path.Ext(name) == ".go" {
			all = append(all, gen.File{Path: strings.Replace(name, "_test.go", "_tests.go", 1), Content: text})
		}
	}
	return gen.Verify(dir, all)
}

// Took records how long a stage took.
func (b *Result) Took(stage string, d time.Duration) {
	b.Timings = append(b.Timings, Timing{stage, d.Seconds()})
}
