// Package gen turns a schema of TVM-FFI libraries into Go source. It works in
// memory and is pure: the same schema and config give the same bytes.
//
// # Start here
//
// The command "tvmffi-bind gen" is the usual way to this package. A program that generates by
// itself reads a [schema.Schema], fills a [Config], which [NewConfig] makes, and calls
// [Generate]. It gets each [File] in memory, and a [Report] with the outcome for each item of
// the schema. [Kernels] does the same for CUDA kernels, and [ReadExports] for the Go
// package that becomes a library.
//
// # Stages
//
// There are two front ends. [Generate] decides for each item of a schema whether it becomes a
// typed function, a packed one, an untyped one or none, and records the reason. It chooses
// packages, Go types and names, and resolves or refuses every collision; gen/internal/plan
// lists these stages and their values. [Kernels] plans kernels in gen/internal/kernel. What
// they decide is written by gen/internal/emit, which decides nothing.
//
// [Verify] is a separate step, because it needs the consumer's files: it
// type-checks the output together with them.
package gen

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tvmffi-go/tvmffi/gen/internal/classify"
	"github.com/tvmffi-go/tvmffi/gen/internal/docs"
	"github.com/tvmffi-go/tvmffi/gen/internal/emit"
	"github.com/tvmffi-go/tvmffi/gen/internal/load"
	"github.com/tvmffi-go/tvmffi/gen/internal/members"
	"github.com/tvmffi-go/tvmffi/gen/internal/names"
	"github.com/tvmffi-go/tvmffi/gen/internal/place"
	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/gen/internal/types"
	"github.com/tvmffi-go/tvmffi/gen/internal/verify"
	"github.com/tvmffi-go/tvmffi/schema"
)

// IsGenerated reports whether the first line of a file says that any version of this
// package wrote it. A tool may replace or remove such files, and no others.
func IsGenerated(content []byte) bool { return emit.Generated(content) }

// A File is a generated file.
type File struct {
	// Path is relative to the output root and has forward slashes.
	Path    string
	Content []byte
}

// Generate returns the bindings that c asks for, sorted by path, and a report on
// each item of the schema. The error lists all problems, each with the item and the
// remedy; then there are no files.
func Generate(s schema.Schema, c Config) ([]File, Report, error) {
	places, err := planned(s, c)
	if err != nil {
		return nil, Report{}, err
	}
	var files []File
	for _, pkg := range places.Packages {
		for _, f := range pkg.Files {
			content, err := emit.File(pkg, f)
			if err != nil {
				return nil, Report{}, err
			}
			files = append(files, File{Path: pkg.FilePath(f), Content: content})
		}
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return files, newReport(places.Items), nil
}

// Preview returns the report of Generate, whose entries have their declarations, without the files.
func Preview(s schema.Schema, c Config) (Report, error) {
	places, err := planned(s, c)
	if err != nil {
		return Report{}, err
	}
	for _, pkg := range places.Packages {
		for entry, lines := range pkg.Declarations() {
			entry.Declarations = lines
		}
	}
	return newReport(places.Items), nil
}

// planned checks the arguments of Generate and plans the bindings.
func planned(s schema.Schema, c Config) (*place.Places, error) {
	if err := validate(c, s); err != nil {
		return nil, err
	}
	s.Functions, s.Types = slices.Clone(s.Functions), slices.Clone(s.Types)
	s.Sort()
	if err := s.Validate(); err != nil {
		return nil, err
	}
	places, err := stages(s, c)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	return places, nil
}

// stages plans the bindings of the parts of s that c asks for. The schema must be valid and in
// canonical order. Each stage adds to what the packages of places hold.
func stages(s schema.Schema, c Config) (*place.Places, error) {
	items, err := classify.Select(s, c)
	if err != nil {
		return nil, err
	}
	places := place.New(items)
	expressions := types.New(places)
	members.Describe(expressions)
	names.Choose(expressions)
	docs.Write(places.Packages)
	return places, items.Finish()
}

// Verify type-checks generated files as if they were below dir, together with the
// consumer's own files there. It also checks that every object type has the layout of
// tvmffi.Object, and that no generated file imports unsafe or runtime. Generated files
// of an earlier run that are not among files count as removed. Verify writes nothing.
// The error lists all problems. It is [ErrLoad] if the go command is missing or fails.
func Verify(dir string, files []File) error {
	_, err := Verified(dir, files)
	return err
}

// Sources are the folders of the packages that generated files import, and of everything that those import.
type Sources = load.Sources

// Verified is Verify. It also returns where the packages are on which the result depends, apart from those of
// the files themselves. It returns nil if it does not know, as for code that does not compile.
func Verified(dir string, files []File) (*Sources, error) {
	overlay := make(map[string][]byte, len(files))
	for _, f := range files {
		overlay[f.Path] = f.Content
	}
	return verify.Check(dir, IsGenerated, overlay)
}

// ErrLoad is the error of [Verify] if nothing could be checked.
var ErrLoad = verify.ErrLoad

// ErrOwn is an error of [Verify] if a file of the consumer does not compile.
var ErrOwn = verify.ErrOwn

// PackageNames returns the names of the packages in external, the form of
// Config.External or Config.Imported, by import path. dir is in the module that imports them. A package
// that cannot be found has no entry.
func PackageNames(dir string, external map[string]string) map[string]string {
	paths := map[string]bool{}
	for key, target := range external {
		if _, pattern := plan.CutPattern(key); !pattern {
			path, _ := plan.CutExternal(target)
			paths[path] = true
		}
	}
	return load.Names(dir, slices.Sorted(maps.Keys(paths)))
}

// Imported returns the types behind the entries of external, the form of Config.External,
// that stand for several types: by key, an import path with the Go name. It reads the
// bindings in those packages. dir is in the module that imports them. Of two packages
// that bind a type, the one of the longer key owns it.
func Imported(dir string, external map[string]string) (map[string]string, error) {
	types := map[string]string{}
	var errs []error
	for _, key := range slices.SortedFunc(maps.Keys(external), func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }) {
		prefix, pattern := plan.CutPattern(key)
		if !pattern || checkExternal(key, external[key]) != nil {
			continue
		}
		found, err := load.TypesBelow(dir, external[key], prefix, IsGenerated)
		if err != nil {
			errs = append(errs, &ConfigError{Path: []string{"external", key}, Err: err})
		}
		maps.Copy(types, found)
	}
	return types, errors.Join(errs...)
}

// UserNames returns the names that the consumer's own files below dir declare, in the
// form of Config.UserNames: per directory, top-level names, and methods as
// Type.Method. It ignores generated files and tests.
func UserNames(dir string) (map[string][]string, error) {
	return verify.UserNames(dir, IsGenerated)
}

// IgnoresFolder reports whether [UserNames] does not look into a folder below the one that it is asked about.
func IgnoresFolder(dir string) bool { return verify.Ignores(dir) }
