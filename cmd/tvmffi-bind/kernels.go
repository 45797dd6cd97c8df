package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/console"
)

// kernelSpec describes a CUDA kernel; gen.Kernel says what each key means.
type kernelSpec struct {
	Spec  string `yaml:"spec"`
	Name  string `yaml:"name,omitempty"`
	Doc   string `yaml:"doc,omitempty"`
	Entry string `yaml:"entry,omitempty"`
	// Image are files, or patterns such as saxpy.*.cubin, and Source is one file. They
	// lie in the output folder or below, where go:embed finds them.
	Image        oneOrMore `yaml:"image,omitempty"`
	Source       string    `yaml:"source,omitempty"`
	Arch         string    `yaml:"arch,omitempty"`
	Options      []string  `yaml:"options,omitempty"`
	Args         []string  `yaml:"args,omitempty"`
	Grid         oneOrMore `yaml:"grid,omitempty"`
	Block        oneOrMore `yaml:"block,omitempty"`
	Cluster      oneOrMore `yaml:"cluster,omitempty"`
	Shared       string    `yaml:"shared,omitempty"`
	Cooperative  bool      `yaml:"cooperative,omitempty"`
	Programmatic bool      `yaml:"programmatic,omitempty"`
	Empty        string    `yaml:"empty,omitempty"`
	Register     string    `yaml:"register,omitempty"`
}

// oneOrMore is a list of texts; one alone needs no brackets, and numbers no quotes.
type oneOrMore []string

// UnmarshalYAML reads a list or what would be its only item.
func (l *oneOrMore) UnmarshalYAML(read func(any) error) error {
	var list []string
	if read(&list) == nil {
		*l = list
		return nil
	}
	var one string
	if err := read(&one); err != nil {
		return err
	}
	*l = oneOrMore{one}
	return nil
}

// generateKernels makes the Go file of the kernels.
func (b *bindings) generateKernels(c *config) error {
	conf := gen.KernelConfig{Package: c.Package, Contents: map[string][]byte{}}
	conf.ToolVersion = console.Release()
	var errs []error
	fail := func(path string, err error) {
		errs = append(errs, fmt.Errorf("%s: %w", c.where(path), err))
	}
	read := func(path string, files ...string) {
		for _, f := range files {
			data, err := os.ReadFile(filepath.Join(b.root, filepath.FromSlash(f)))
			if err != nil {
				fail(path, err)
			}
			conf.Contents[f] = data
		}
	}
	for i, s := range c.Kernels {
		k := gen.Kernel{
			Spec: s.Spec, Name: s.Name, Doc: s.Doc, Entry: s.Entry, Arch: s.Arch, Options: s.Options, Args: s.Args,
			Grid: s.Grid, Block: s.Block, Cluster: s.Cluster, Shared: s.Shared,
			Cooperative: s.Cooperative, Programmatic: s.Programmatic, Empty: s.Empty, Register: s.Register,
		}
		for j, pattern := range s.Image {
			files, err := b.embedded(c, pattern)
			if err != nil {
				fail(fmt.Sprintf("$.kernels[%d].image[%d]", i, j), err)
			}
			read(fmt.Sprintf("$.kernels[%d].image[%d]", i, j), files...)
			k.Images = append(k.Images, files...)
		}
		if s.Source != "" {
			files, err := b.embedded(c, s.Source)
			switch {
			case err != nil:
				fail(fmt.Sprintf("$.kernels[%d].source", i), err)
			case len(files) != 1:
				fail(fmt.Sprintf("$.kernels[%d].source", i), fmt.Errorf("%s names %d files: a kernel has one text", s.Source, len(files)))
			}
			read(fmt.Sprintf("$.kernels[%d].source", i), files...)
			k.Program = strings.Join(files, " ")
		}
		conf.Kernels = append(conf.Kernels, k)
	}
	if len(errs) > 0 {
		return &console.Refusal{Err: errors.Join(errs...)}
	}
	files, err := gen.GenerateKernels(conf)
	if err != nil {
		return &console.Refusal{Err: placed(c, err)}
	}
	b.generated, b.kernels = files, len(conf.Kernels)
	b.list()
	return nil
}

// placed puts file, line and column in front of the mistakes in kernels.
func placed(c *config, err error) error {
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	for i, err := range list {
		var e *gen.KernelError
		if !errors.As(err, &e) {
			continue
		}
		path := "$." + e.Key
		if e.Kernel >= 0 {
			path = fmt.Sprintf("$.kernels[%d].%s", e.Kernel, e.Key)
		}
		if e.Item >= 0 {
			path += fmt.Sprintf("[%d]", e.Item)
		}
		list[i] = fmt.Errorf("%s: %s: %w", c.where(path), e.Key, e.Err)
	}
	return errors.Join(list...)
}

// embedded returns the files that a pattern of the configuration names, as go:embed
// in the output folder names them.
func (b *bindings) embedded(c *config, pattern string) ([]string, error) {
	full, err := c.rooted(pattern)
	if err != nil {
		return nil, err
	}
	found, err := filepath.Glob(full)
	if err != nil {
		return nil, fmt.Errorf("%q is no pattern of file names: %w", pattern, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no file %s: build it, or correct the name", console.Shown(full))
	}
	slices.Sort(found)
	for i, f := range found {
		info, err := os.Stat(f)
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(b.root, f)
		if rel = filepath.ToSlash(rel); err != nil || !fs.ValidPath(rel) || !info.Mode().IsRegular() {
			return nil, fmt.Errorf("go:embed cannot reach %s from the folder %s: move the file there, or below", console.Shown(f), console.Shown(b.root))
		}
		found[i] = path.Clean(rel)
	}
	return found, nil
}
