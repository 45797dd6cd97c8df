// Package verify checks generated code together with the files of its users, before
// anything is written.
package verify

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/tvmffi-go/tvmffi/gen/internal/load"
)

// modulePath is the module that generated code imports.
const modulePath = "github.com/tvmffi-go/tvmffi"

// runtimePath is the package whose Object gives every object type its layout.
const runtimePath = modulePath + "/runtime"

// addModule is the command that adds the module of the runtime, and the tool, to another one.
const addModule = "go get -tool github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind, or, for a clone, go work init . PATH-OF-THE-CLONE"

// banned lists the imports that generated code must not have.
var banned = []string{"unsafe", "runtime", "reflect", "C"}

// ErrLoad is the error of Check if the go command cannot load what the files import, so that
// nothing was checked.
var ErrLoad = errors.New("the go command cannot load the packages that the bindings import")

// ErrOwn is an error of Check if a file does not compile that is not among those to check.
var ErrOwn = errors.New("the package itself does not compile")

// ownError is an ErrOwn.
type ownError struct{ error }

// Is makes it ErrOwn.
func (ownError) Is(target error) bool { return target == ErrOwn }

// Check type-checks files, by their paths below dir, as if they were there. Other files
// there for which generated returns true are from an earlier run and count as removed.
// The result says what the files import, nil if it is not known.
func Check(dir string, generated func([]byte) bool, files map[string][]byte) (*load.Sources, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	overlay := map[string][]byte{}
	for name, content := range files {
		overlay[filepath.Join(dir, filepath.FromSlash(name))] = content
	}
	if sources, err := quick(dir, generated, overlay); err == nil {
		return sources, nil
	}
	return nil, slow(dir, generated, overlay)
}

// slow checks the files of overlay with everything that they import, from source.
func slow(dir string, generated func([]byte) bool, overlay map[string][]byte) error {
	siblings := map[string][]byte{}
	for name, content := range overlay {
		siblings[filepath.Dir(name)] = content
	}
	for folder, content := range siblings {
		if err := hideStale(overlay, folder, generated, content); err != nil {
			return fmt.Errorf("verify: %w", err)
		}
	}
	whole := func(file string) bool { return siblings[filepath.Dir(file)] != nil }
	loaded, err := load.Packages(load.Existing(dir), overlay, whole, slices.Sorted(maps.Keys(siblings))...)
	if err != nil {
		return fmt.Errorf("%w (in %s): %w", ErrLoad, dir, err)
	}
	var errs []error
	for _, pkg := range loaded {
		if err := withoutRuntime(dir, pkg.Errors); err != nil {
			return err
		}
		for _, e := range pkg.Errors {
			var err error = ownError{e}
			for name := range overlay {
				if strings.HasPrefix(e.Pos, name+":") {
					err = fmt.Errorf("verify: %w", e)
				}
			}
			errs = append(errs, err)
		}
		if len(pkg.Errors) == 0 {
			errs = append(errs, checkPackage(pkg.Fset, pkg.Syntax, pkg.Types, overlay)...)
		}
	}
	return errors.Join(errs...)
}

// withoutRuntime returns an error if the go command does not find the runtime, which all generated code imports, or
// another package of this module: the compiler would report each import, without a remedy.
func withoutRuntime(dir string, errs []packages.Error) error {
	for _, e := range errs {
		rest, found := strings.CutPrefix(e.Msg, "could not import ")
		missing, _, _ := strings.Cut(rest, " ")
		off := strings.Contains(e.Msg, "cannot import absolute path") // as without modules
		if !off && !(found && strings.HasPrefix(missing, modulePath+"/")) {
			continue
		}
		if why := load.Lacking(dir, missing); why != "" {
			return fmt.Errorf("verify: %s", why)
		}
		if missing != runtimePath {
			continue
		}
		module, err := load.ModuleAround(load.Existing(dir))
		if err != nil {
			return fmt.Errorf("verify: %w: run go mod init, and then %s", err, addModule)
		}
		return fmt.Errorf("verify: the module %s in %s cannot import %s, which generated code needs: run there %s", module.Path, module.Dir, runtimePath, addModule)
	}
	return nil
}

// hideStale replaces each generated file in folder that is not in the overlay by an
// empty file with the package clause of sibling.
func hideStale(overlay map[string][]byte, folder string, generated func([]byte) bool, sibling []byte) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := filepath.Join(folder, entry.Name())
		if _, fresh := overlay[name]; fresh || entry.IsDir() || filepath.Ext(name) != ".go" {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if !generated(content) {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), "", sibling, parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		overlay[name] = []byte("package " + tree.Name.Name + "\n")
	}
	return nil
}

// checkPackage checks what the compiler accepts.
func checkPackage(fset *token.FileSet, files []*ast.File, pkg *types.Package, overlay map[string][]byte) []error {
	var errs []error
	for _, file := range files {
		name := fset.Position(file.Package).Filename
		if _, generated := overlay[name]; !generated {
			continue
		}
		for _, imp := range file.Imports {
			if p, _ := strconv.Unquote(imp.Path.Value); slices.Contains(banned, p) {
				errs = append(errs, fmt.Errorf("verify: %s imports %s, which generated code must not import", name, p))
			}
		}
	}
	sizes := types.SizesFor("gc", runtime.GOARCH)
	for _, name := range pkg.Scope().Names() {
		t, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok || t.IsAlias() {
			continue
		}
		named := t.Type().(*types.Named)
		for method := range named.Methods() {
			if method.Name() != "TVMFFIType" {
				continue
			}
			if _, generated := overlay[fset.Position(method.Pos()).Filename]; !generated {
				continue
			}
			if err := checkLayout(named, sizes); err != nil {
				errs = append(errs, fmt.Errorf("verify: %w", err))
			}
		}
	}
	return errs
}

// checkLayout checks that a type has the layout of tvmffi.Object: it and its ancestors
// are structs that contain only their embedded parents, after blank fields without a size. The sizes of these
// structs are not computed: go/types takes twice as long for each level of embedding.
func checkLayout(named *types.Named, sizes types.Sizes) error {
	for at := named; ; {
		if o := at.Obj(); o.Name() == "Object" && o.Pkg() != nil && o.Pkg().Path() == runtimePath {
			return nil
		}
		field := onlyField(at, sizes)
		if field == nil || !field.Embedded() {
			return fmt.Errorf("%s does not have the layout of tvmffi.Object: %s is not a struct with only its embedded parent", named, at)
		}
		parent, ok := types.Unalias(field.Type()).(*types.Named)
		if !ok {
			return fmt.Errorf("%s does not have the layout of tvmffi.Object: %s embeds %s", named, at, field.Type())
		}
		at = parent
	}
}

// onlyField returns the field of a struct that has only one, apart from blank fields without
// a size before it; nil for other types.
func onlyField(t types.Type, sizes types.Sizes) *types.Var {
	s, ok := t.Underlying().(*types.Struct)
	if !ok || s.NumFields() == 0 {
		return nil
	}
	last := s.NumFields() - 1
	for i := range last {
		if f := s.Field(i); f.Name() != "_" || sizes.Sizeof(f.Type()) != 0 {
			return nil
		}
	}
	return s.Field(last)
}
