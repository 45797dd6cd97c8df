package verify

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/load"
)

// quick checks files with the export data of the packages that they import, which is many
// times faster than reading those packages. An error only says that there is no quick answer:
// an import cannot be compiled, or it imports the generated code, or the code has errors. The
// slow check then finds out.
func quick(dir string, generated func([]byte) bool, overlay map[string][]byte) (*load.Sources, error) {
	module, err := load.ModuleAround(load.Existing(dir))
	if err != nil {
		return nil, err
	}
	q := &quickCheck{units: map[string]*unit{}, overlay: overlay, fset: token.NewFileSet()}
	if err := q.gather(module, generated); err != nil {
		return nil, err
	}
	imports, err := q.imports()
	if err != nil {
		return nil, err
	}
	q.compiled, err = load.Compile(module, imports)
	if err != nil {
		return nil, err
	}
	for path := range q.units {
		if q.compiled.Needed[path] {
			return nil, fmt.Errorf("an import needs %s, which is being generated", path)
		}
	}
	q.exported = importer.ForCompiler(q.fset, "gc", q.compiled.Open)
	for _, path := range slices.Sorted(maps.Keys(q.units)) {
		if err := q.check(path); err != nil {
			return nil, err
		}
	}
	return &q.compiled.Sources, nil
}

// quickCheck is a run of quick.
type quickCheck struct {
	units    map[string]*unit // by import path
	overlay  map[string][]byte
	fset     *token.FileSet
	compiled *load.Compiled
	exported types.Importer
}

// unit is a package that is checked.
type unit struct {
	dir     string
	files   map[string][]byte // by absolute path: what is generated, and the files of the user
	imports []string          // as far as they are known before the go command was asked
	begun   bool
	types   *types.Package
}

// gather makes a unit of every folder of the overlay.
func (q *quickCheck) gather(module load.Module, generated func([]byte) bool) error {
	folders := map[string]*unit{}
	for name, content := range q.overlay {
		dir := filepath.Dir(name)
		if folders[dir] == nil {
			folders[dir] = &unit{dir: dir, files: map[string][]byte{}}
		}
		folders[dir].files[name] = content
	}
	for dir, u := range folders {
		if around, err := load.ModuleAround(load.Existing(dir)); err != nil || around != module {
			return errors.Join(err, fmt.Errorf("%s is not in the module of %s", dir, module.Dir))
		}
		rel, err := filepath.Rel(module.Dir, dir)
		if err != nil {
			return err
		}
		if err := u.addOwn(generated); err != nil {
			return err
		}
		q.units[path.Join(module.Path, filepath.ToSlash(rel))] = u
	}
	return nil
}

// addOwn adds the files of the user.
func (u *unit) addOwn(generated func([]byte) bool) error {
	entries, err := os.ReadDir(u.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := filepath.Join(u.dir, entry.Name())
		if entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || u.files[name] != nil {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if !generated(content) {
			u.files[name] = content
		}
	}
	return nil
}

// parse reads the files that c chooses.
func (u *unit) parse(fset *token.FileSet, c build.Context, mode parser.Mode) ([]*ast.File, error) {
	c.OpenFile = func(name string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(u.files[name])), nil }
	var files []*ast.File
	for _, name := range slices.Sorted(maps.Keys(u.files)) {
		if match, err := c.MatchFile(u.dir, filepath.Base(name)); err != nil {
			return nil, err
		} else if !match {
			continue
		}
		file, err := parser.ParseFile(fset, name, u.files[name], mode|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// imports notes what each unit imports, and returns what is not a unit. It chooses files
// without the go command. Packages that only other files import are missing later.
func (q *quickCheck) imports() ([]string, error) {
	others := map[string]bool{}
	for from, u := range q.units {
		files, err := u.parse(token.NewFileSet(), build.Default, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			for _, spec := range file.Imports {
				p, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					return nil, err
				}
				if p == "embed" || !visible(from, p) { // only the go command looks for embedded files
					return nil, fmt.Errorf("%s imports %s", from, p)
				}
				if u.imports = append(u.imports, p); q.units[p] == nil {
					others[p] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(others)), nil
}

// visible reports whether a package may import path, as far as folders called internal and
// vendor have a say.
func visible(from, path string) bool {
	elements := strings.Split(path, "/")
	for i, element := range elements {
		parent := strings.Join(elements[:i], "/")
		if element == "vendor" || element == "internal" && from != parent && !strings.HasPrefix(from, parent+"/") {
			return false
		}
	}
	return true
}

// check checks a unit after those that it imports.
func (q *quickCheck) check(path string) error {
	u := q.units[path]
	if u.begun {
		return nil
	}
	u.begun = true
	for _, p := range u.imports {
		if q.units[p] != nil {
			if err := q.check(p); err != nil {
				return err
			}
		}
	}
	files, err := u.parse(q.fset, q.compiled.Context, 0)
	if err != nil {
		return err
	}
	config := types.Config{
		Importer:  q,
		GoVersion: "go" + q.compiled.Module.GoVersion,
		Sizes:     types.SizesFor("gc", q.compiled.Context.GOARCH),
	}
	if u.types, err = config.Check(path, q.fset, files, nil); err != nil {
		return err
	}
	u.files = nil
	return errors.Join(checkPackage(q.fset, files, u.types, q.overlay)...)
}

// Import returns a package that a unit imports.
func (q *quickCheck) Import(path string) (*types.Package, error) {
	u := q.units[path]
	switch {
	case u == nil:
		return q.exported.Import(path)
	case u.types == nil || u.types.Name() == "main":
		return nil, fmt.Errorf("%s cannot be imported", path)
	}
	return u.types, nil
}
