package gen

import (
	"errors"
	"fmt"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/module"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// Config describes what to generate.
type Config struct {
	// Package is the name of the root package.
	Package string
	// ImportPath is the import path of the output root.
	ImportPath string
	// Root is the namespace that becomes the root package. It defaults to the only
	// prefix or, if there are several, to the longest namespace that all bound items
	// have in common.
	Root string
	// Prefixes are namespaces to bind: "garden" stands for everything whose name
	// starts with "garden.".
	Prefixes []string
	// Libraries are the libraries of the schema to bind, by file name, with their
	// module exports. If both Prefixes and Libraries are empty, the libraries with
	// the role bound are bound.
	Libraries []string
	// Rename maps registry names to Go names: "garden.water" is a function,
	// "garden.Rose" a type and "garden.Rose.prune" a member. If two items have one
	// name, put the kind before it: "type:garden.Rose". An entry that matches
	// nothing is an error.
	Rename map[string]string
	// Functions holds what the user knows about items, by registry names as in Rename or by
	// patterns in which * stands for any text: names, types and defaults of parameters, the
	// type of the result, enums, documentation, and a Go name. An entry that matches nothing, that does
	// not fit the signature, or that contradicts a type of the schema is an error.
	Functions map[string]hints.Item
	// Names are names files. They say the same as Functions, which precedes them. Items,
	// names and types in them that do not fit are left out and reported. A default or an enum
	// that does not fit its parameter is an error.
	Names []hints.File
	// Enums are the enums that Functions mentions, by name. They precede enums of names files.
	Enums map[string]hints.Enum
	// Skip lists the registry names to leave out, written as in Rename.
	Skip []string
	// Packages maps namespaces to folders below the output root, "." for the root
	// itself. A namespace below one of them has a folder below that folder. Several
	// namespaces may have one folder. A namespace that is not listed has the folder of
	// its name.
	Packages map[string]string
	// External maps the keys of types that other packages own to their import paths.
	// A dot and the Go name follow the path if the name is not the usual one. The key
	// "garden.*" stands for the types of a namespace and of those below it, and "*" for
	// all, as far as the package binds them. Then /... may follow the path, for the
	// packages below it.
	External map[string]string
	// Imported maps the keys that External stands for to import paths with Go names, as
	// the function Imported returns them.
	Imported map[string]string
	// PackageNames maps import paths of External and Imported to package names, as the
	// function PackageNames returns them. An import of a package without an entry has an alias.
	PackageNames map[string]string
	// UserNames holds the names that the consumer declares, per directory below the
	// output root ("." for the root itself), in the form that the function UserNames
	// returns. They are not generated again.
	UserNames map[string][]string
	// ToolVersion is the version in the header of every file; it defaults to (devel).
	ToolVersion string
	// Before are the Go names of an earlier run, from its Report. An item keeps its name, and no name
	// moves to another item as long as its own exists. Nil if there was none.
	Before *GoNames
	// Split turns sub-namespaces into sub-packages; NewConfig sets it. Without it,
	// everything is in one package, under longer names.
	Split bool
}

// NewConfig returns a Config with the defaults.
func NewConfig(pkg, importPath string) Config {
	return Config{Package: pkg, ImportPath: importPath, Split: true}
}

// validate checks the config alone and against the libraries of the schema. It
// returns all problems.
func (c Config) validate(s schema.Schema) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !token.IsIdentifier(c.Package) || c.Package == "_" {
		fail("package: %q is not a valid Go package name; use lower-case letters and digits", c.Package)
	} else if c.Package == "main" {
		fail("package: main cannot be imported; choose another name")
	}
	if err := module.CheckImportPath(c.ImportPath); err != nil {
		fail("import path: %w; give the import path of the output folder, such as example.com/app/garden", err)
	}
	for _, name := range append(slices.Clone(c.Prefixes), c.Root) {
		if strings.HasSuffix(name, ".") || strings.HasPrefix(name, ".") {
			fail("prefix: %q must not start or end with a dot; write %q", name, strings.Trim(name, "."))
		}
	}
	if slices.Contains(c.Prefixes, "") {
		fail("prefix: an empty prefix matches nothing; remove it")
	}
	for _, file := range c.Libraries {
		if !slices.ContainsFunc(s.Libraries, func(l schema.Library) bool { return l.File == file }) {
			fail("library: %q is not in the schema; it has %s", file, libraryNames(s))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Rename)) {
		if name := c.Rename[key]; !isExported(name) {
			fail("rename: %q is not an exported Go name; write rename: {%q: %q}", name, key, "SomeName")
		}
	}
	errs = append(errs, c.validateFunctions()...)
	for i, key := range c.Skip {
		if slices.Contains(c.Skip[:i], key) {
			fail("skip: %q is listed twice; remove one", key)
		}
	}
	errs = append(errs, c.validatePackages()...)
	if c.Before != nil {
		for _, dir := range slices.Sorted(maps.Keys(c.Before.Packages)) {
			for _, name := range slices.Sorted(maps.Keys(c.Before.Packages[dir])) {
				if typ, member, has := strings.Cut(name, "."); !isExported(typ) || has && !isExported(member) || c.Before.Packages[dir][name] == "" {
					fail("names of an earlier run: %q of package %s, which stands for %q, is not a Go name such as Rose or Rose.Prune with an item", name, dir, c.Before.Packages[dir][name])
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.External)) {
		if err := checkExternal(key, c.External[key]); err != nil {
			errs = append(errs, &ConfigError{Path: []string{"external", key}, Err: err})
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(c.UserNames)) {
		if path.Clean(dir) != dir || path.IsAbs(dir) || strings.HasPrefix(dir, "..") {
			fail("user names: %q is not a clean path below the output root; write \".\" for the root itself", dir)
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("config: %w", errors.Join(errs...))
	}
	return nil
}

// A ConfigError is a problem of one entry of a Config, with the keys that lead to it.
type ConfigError = plan.ConfigError

// validatePackages checks the namespaces and the folders of Packages.
func (c Config) validatePackages() (errs []error) {
	for _, ns := range slices.Sorted(maps.Keys(c.Packages)) {
		var err error
		if dir := c.Packages[ns]; ns == "" || strings.Trim(ns, ".") != ns {
			err = fmt.Errorf("%q is not a namespace; write a name such as garden.soil", ns)
		} else if !plan.IsFolder(dir) {
			err = fmt.Errorf("%q cannot be the folder of a package; write words of lower-case letters and digits with slashes between them, such as %s, or \".\" for the root package", dir, plan.Folders(ns))
		}
		if err != nil {
			errs = append(errs, &ConfigError{Path: []string{"packages", ns}, Err: err})
		}
	}
	return errs
}

// validateFunctions checks the keys and the names of Functions.
func (c Config) validateFunctions() (errs []error) {
	for _, key := range slices.Sorted(maps.Keys(c.Functions)) {
		item := c.Functions[key]
		fail := func(part, format string, args ...any) {
			errs = append(errs, &ConfigError{Path: []string{"functions", key, part}, Err: fmt.Errorf(format, args...)})
		}
		pattern := plan.IsPattern(key)
		if i := strings.IndexAny(key, `?[]\`); pattern && i >= 0 {
			errs = append(errs, &ConfigError{Path: []string{"functions", key}, Err: fmt.Errorf("a pattern cannot contain %q; only * has a meaning in a pattern", key[i])})
		}
		switch {
		case item.Name == "":
		case pattern:
			fail("name", "a pattern cannot give a name; write the whole name of the item")
		case c.Rename[key] != "":
			fail("name", "rename gives a name too; remove one")
		case !isExported(item.Name):
			fail("name", "%q is not an exported Go name", item.Name)
		}
		for i, name := range item.Params {
			if name != "" && (strings.Trim(name, "_") == "" || !token.IsIdentifier("x"+name)) {
				fail("params", "%q cannot be the name of a parameter; use letters, digits and underscores", name)
			} else if name != "" && slices.Contains(item.Params[:i], name) {
				fail("params", "%q is there twice", name)
			}
		}
	}
	return errs
}

// isExported reports whether a name is an exported identifier of Go.
func isExported(name string) bool { return token.IsIdentifier(name) && token.IsExported(name) }

// checkExternal checks an import path and what may follow it.
func checkExternal(key, target string) error {
	path, name := plan.CutExternal(target)
	prefix, pattern := plan.CutPattern(key)
	var err error
	switch {
	case pattern && name != "":
		err = fmt.Errorf("%q ends in a Go name, and the key stands for several types", target)
	case !pattern && strings.Contains(key, "*"), strings.Contains(prefix, "*"):
		err = errors.New("an asterisk stands only at the end, after a dot")
	case pattern:
		path = strings.TrimSuffix(path, "/...")
	}
	if err == nil {
		err = module.CheckImportPath(path)
	}
	if err != nil {
		return fmt.Errorf("%w; write an import path such as example.com/app/garden, for keys such as garden.Rose and garden.*", err)
	}
	return nil
}

func libraryNames(s schema.Schema) string {
	names := make([]string, len(s.Libraries))
	for i, l := range s.Libraries {
		names[i] = l.File
	}
	return strings.Join(names, ", ")
}
