package bindings

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/pynames"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// refreshNames reads the names files of c. It reads those again from the sources that the command names has written for
// another version of a library: the names of a version belong to it. A file that cannot be read again stays as it is, with a note.
func (b *Result) refreshNames(ctx context.Context, p *probe.Prober, c *project.Config) (err error) {
	if b.names, err = c.ReadNames(); err != nil {
		return err
	}
	for i, f := range b.names {
		was, now := b.otherVersion(c, f)
		if was == "" {
			continue
		}
		name := c.Names[i]
		if !strings.HasSuffix(name, project.NamesEnd) || !filepath.IsLocal(filepath.FromSlash(name)) {
			b.Notes = append(b.Notes, fmt.Sprintf("%s has the names of %s, the library is %s: gen leaves this file alone, because its name does not end in %s; correct it, or list a file of the command names after it", name, was, now, project.NamesEnd))
			continue
		}
		fresh, err := b.readAgain(ctx, p, c, f)
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			b.Notes = append(b.Notes, fmt.Sprintf("%s has the names of %s, the library is %s, and gen could not read them again: %v", name, was, now, err))
			continue
		}
		b.names[i] = fresh
		if b.fresh == nil {
			b.fresh = map[string]hints.File{}
		}
		b.fresh[name] = fresh
		b.Notes = append(b.Notes, fmt.Sprintf("%s was read again from %s (it had the names of %s): %s", name, now, was, difference(f, fresh)))
	}
	return nil
}

// otherVersion returns a distribution that f was read from and the one of the libraries, as NAME VERSION, if the version is
// another one.
func (b *Result) otherVersion(c *project.Config, f hints.File) (was, now string) {
	if c.From != "" {
		return "", "" // there is no package at hand
	}
	for _, s := range f.Sources {
		for _, l := range b.Schema.Libraries {
			if l.Package == s.Package && s.Version != "" && l.PackageVersion != "" && l.PackageVersion != s.Version {
				return s.Package + " " + s.Version, l.Package + " " + l.PackageVersion
			}
		}
	}
	return "", ""
}

// readAgain reads the names of the distributions that a file was read from.
func (b *Result) readAgain(ctx context.Context, p *probe.Prober, c *project.Config, f hints.File) (hints.File, error) {
	var inputs []pynames.Input
	for _, s := range f.Sources {
		i := slices.IndexFunc(c.Libraries, func(l project.LibrarySpec) bool { return l.Package == s.Package })
		if i < 0 {
			return f, fmt.Errorf("it also has those of %s, which the configuration does not list: run the command names", s.Package)
		}
		found, err := p.PythonPackage(ctx, c.Libraries[i])
		if err != nil {
			return f, err
		}
		inputs = append(inputs, pynames.Input{Path: found.Dir, Origin: hints.Source{Package: s.Package, Version: found.Version, SHA256: found.SHA256}})
	}
	options := pynames.Options{Interface: &b.Schema, NoDocs: !hasDocs(f), Timeout: p.Timeout}
	var fresh hints.File
	if _, err := p.Console.Step("reading the names again", func() (err error) {
		fresh, _, err = pynames.Read(ctx, inputs, options)
		return err
	}); err != nil {
		return f, err
	}
	if len(fresh.Items) == 0 {
		return f, errors.New("its sources call no function of the libraries")
	}
	return fresh, nil
}

// hasDocs reports whether a names file has documentation, which --no-docs leaves out.
func hasDocs(f hints.File) bool {
	for _, item := range f.Items {
		if item.Doc != "" {
			return true
		}
	}
	return len(f.Namespaces) > 0
}

// difference says how many items two names files tell apart.
func difference(was, now hints.File) string {
	added, changed, gone := 0, 0, 0
	for name, item := range now.Items {
		if old, had := was.Items[name]; !had {
			added++
		} else if !reflect.DeepEqual(old, item) {
			changed++
		}
	}
	for name := range was.Items {
		if _, has := now.Items[name]; !has {
			gone++
		}
	}
	return fmt.Sprintf("%d items are new, %d differ, %d are gone", added, changed, gone)
}
