package main

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/tvmffi-go/tvmffi/gen"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/console"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/files"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/probe"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/project"
	"github.com/tvmffi-go/tvmffi/schema"
)

// bindings are the outcome of a run of the generator, in memory.
type bindings struct {
	root       string          // the output folder
	module     *project.Module // around it
	importPath string          // of the package there
	schema     schema.Schema
	generated  []gen.File
	files      map[string][]byte // the same by path relative to root
	report     gen.Report
	kernels    int // how many there are in place of a library
	lock       *project.Lock
	previous   *project.Lock // what the lock file holds, nil if there is none
	output     *files.Output
	timings    []timing
}

// generate runs every stage but the last, which writes.
func generate(ctx context.Context, p *probe.Prober, c *project.Config) (*bindings, error) {
	b := &bindings{}
	stages := []struct {
		name, title string
		run         func() error
	}{
		{"prepare", "", func() (err error) {
			return b.prepare(ctx, c)
		}},
		{"read", "", func() (err error) { // load and read
			if len(c.Kernels) > 0 {
				return nil
			}
			b.schema, err = p.Read(ctx, c)
			return err
		}},
		{"generate", "generating", func() error { // classify, plan and emit
			return b.generate(c)
		}},
		{"typecheck", "checking that it compiles", func() error { // verify
			return b.verify()
		}},
		{"compare", "comparing with the files on disk", func() error {
			return b.compare(c)
		}},
	}
	for _, s := range stages {
		took, err := p.Console.Step(s.title, s.run)
		if err != nil {
			return nil, err
		}
		b.took(s.name, took)
	}
	return b, nil
}

// prepare finds the output folder, and refuses early what would fail at the end.
func (b *bindings) prepare(ctx context.Context, c *project.Config) (err error) {
	if b.root, err = c.Rooted(c.Out); err != nil {
		return err
	}
	if b.module, err = project.ModuleAround(b.root); err != nil {
		return err
	}
	if b.importPath, err = b.module.ImportPath(b.root); err != nil {
		return err
	}
	if err := b.module.RequiresRuntime(ctx); err != nil {
		return err
	}
	file, err := c.LockFile()
	if err != nil {
		return err
	}
	b.previous, err = project.ReadLock(file)
	return err
}

// generate makes the Go files. Names that the user declares are left to the user.
func (b *bindings) generate(c *project.Config) error {
	if len(c.Kernels) > 0 {
		return b.generateKernels(c)
	}
	conf := gen.NewConfig(c.Package, b.importPath)
	conf.Root = c.Root
	conf.Prefixes = c.Prefixes
	conf.Rename = c.Rename
	conf.Skip = c.Skip
	conf.External = c.External
	conf.ToolVersion = console.Release()
	if c.Split != nil {
		conf.Split = *c.Split
	}
	var err error
	if conf.UserNames, err = gen.UserNames(b.root); err != nil {
		return &console.Refusal{Err: err}
	}
	if b.generated, b.report, err = gen.Generate(b.schema, conf); err != nil {
		return &console.Refusal{Err: err}
	}
	b.list()
	return nil
}

func (b *bindings) list() {
	b.files = map[string][]byte{}
	for _, f := range b.generated {
		b.files[f.Path] = f.Content
	}
}

// verify type-checks the files together with those of the user.
func (b *bindings) verify() error {
	if err := gen.Verify(b.root, b.generated); err != nil {
		return console.Refuse("the bindings would not compile, so nothing was written:\n%s", console.FirstLines(err.Error()))
	}
	return nil
}

// compare finds out what changes on disk.
func (b *bindings) compare(c *project.Config) (err error) {
	names := slices.Sorted(maps.Keys(b.files))
	b.lock = project.NewLock(b.schema, names)
	var before []string
	if b.previous != nil {
		before = b.previous.Files
		b.lock.Adopt(b.previous)
	}
	if b.output, err = files.GoPackage(b.root, b.files, before, isGenerated); err != nil {
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
	if err := b.output.Put(file, data, project.IsLock); err != nil {
		return err
	}
	return nil
}

// isGenerated reports whether data is a Go file that gen or export wrote.
func isGenerated(data []byte) bool {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	return string(bytes.TrimRight(first, "\r")) == gen.Marker
}
