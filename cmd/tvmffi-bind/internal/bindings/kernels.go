package bindings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/gen"
)

// kernels makes the Go file of kernels.
func (b *Result) kernels(c *project.Config) error {
	r := kernelReader{root: b.Root, config: c, contents: map[string][]byte{}}
	conf := gen.KernelConfig{Package: c.Package, ToolVersion: console.Release(), Contents: r.contents}
	for i, s := range c.Kernels {
		conf.Kernels = append(conf.Kernels, r.kernel(fmt.Sprintf("$.kernels[%d]", i), s))
	}
	if len(r.errs) > 0 {
		return &console.Refusal{Err: errors.Join(r.errs...)}
	}
	files, err := gen.Kernels(conf)
	if err != nil {
		return &console.Refusal{Err: placed(c, err)}
	}
	b.generated, b.Kernels = files, len(conf.Kernels)
	b.list()
	return nil
}

// kernelReader reads the files that kernels are made of.
type kernelReader struct {
	root     string // the output folder
	config   *project.Config
	contents map[string][]byte // by the name that go:embed has for a file
	errs     []error
}

// kernel returns the kernel of s, which stands at a YAML path.
func (r *kernelReader) kernel(path string, s project.KernelSpec) gen.Kernel {
	k := gen.Kernel{
		Spec: s.Spec, Name: s.Name, Doc: s.Doc, Entry: s.Entry, Arch: s.Arch, Options: s.Options, Args: s.Args,
		Grid: s.Grid, Block: s.Block, Cluster: s.Cluster, Shared: s.Shared,
		Cooperative: s.Cooperative, Programmatic: s.Programmatic, Empty: s.Empty, Register: s.Register,
	}
	for i, pattern := range s.Image {
		k.Images = append(k.Images, r.read(fmt.Sprintf("%s.image[%d]", path, i), pattern)...)
	}
	if s.Source != "" {
		files := r.read(path+".source", s.Source)
		if len(files) > 1 {
			r.fail(path+".source", fmt.Errorf("%s names %d files: a kernel has one source file", s.Source, len(files)))
		}
		k.Program = strings.Join(files, " ")
	}
	return k
}

// read reads the files that a pattern at a YAML path names, and returns their names.
func (r *kernelReader) read(path, pattern string) []string {
	files, err := r.embedded(pattern)
	if err != nil {
		r.fail(path, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(f)))
		if err != nil {
			r.fail(path, err)
		}
		r.contents[f] = data
	}
	return files
}

func (r *kernelReader) fail(path string, err error) {
	r.errs = append(r.errs, fmt.Errorf("%s: %w", r.config.Where(path), err))
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
func (r *kernelReader) embedded(pattern string) ([]string, error) {
	full, err := r.config.Rooted(pattern)
	if err != nil {
		return nil, err
	}
	found, err := filepath.Glob(full)
	if err != nil {
		return nil, fmt.Errorf("%q is not a valid file name pattern: %w", pattern, err)
	}
	if len(found) == 0 {
		if below, err := filepath.Glob(filepath.Join(r.root, filepath.FromSlash(pattern))); err == nil && len(below) > 0 {
			return nil, fmt.Errorf("there is no file %s, but there is %s: name it from the folder of the configuration", console.Shown(full), console.Shown(below[0]))
		}
		return nil, fmt.Errorf("there is no file %s: build it, or correct the name", console.Shown(full))
	}
	slices.Sort(found)
	for i, f := range found {
		info, err := os.Stat(f)
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(r.root, f)
		if rel = filepath.ToSlash(rel); err != nil || !fs.ValidPath(rel) || !info.Mode().IsRegular() {
			return nil, fmt.Errorf("go:embed cannot reach %s from the folder %s: move the file there, or below", console.Shown(f), console.Shown(r.root))
		}
		found[i] = path.Clean(rel)
	}
	return found, nil
}
