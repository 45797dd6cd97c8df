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
	"github.com/tvmffi-go/tvmffi/internal/bindtool/project"
)

// generateKernels makes the Go file of the kernels.
func (b *bindings) generateKernels(c *project.Config) error {
	conf := gen.KernelConfig{Package: c.Package, Contents: map[string][]byte{}}
	conf.ToolVersion = console.Release()
	var errs []error
	fail := func(path string, err error) {
		errs = append(errs, fmt.Errorf("%s: %w", c.Where(path), err))
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
func placed(c *project.Config, err error) error {
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
		list[i] = fmt.Errorf("%s: %s: %w", c.Where(path), e.Key, e.Err)
	}
	return errors.Join(list...)
}

// embedded returns the files that a pattern of the configuration names, as go:embed
// in the output folder names them.
func (b *bindings) embedded(c *project.Config, pattern string) ([]string, error) {
	full, err := c.Rooted(pattern)
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
