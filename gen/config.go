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

	"github.com/tvmffi-go/tvmffi/gen/config"
	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/schema"
)

// Config describes what to generate.
type Config = config.Config

// NewConfig returns a Config for a package of that name and import path. Its choices are the defaults.
func NewConfig(pkg, importPath string) Config {
	return Config{Package: pkg, ImportPath: importPath}
}

// validate checks the config alone and against the libraries of the schema. It
// returns all problems.
func validate(c Config, s schema.Schema) error {
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
	errs = append(errs, validateFunctions(c)...)
	for i, key := range c.Skip {
		if slices.Contains(c.Skip[:i], key) {
			fail("skip: %q is listed twice; remove one", key)
		}
	}
	errs = append(errs, validatePackages(c)...)
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
func validatePackages(c Config) (errs []error) {
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
func validateFunctions(c Config) (errs []error) {
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
