package gen

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestImports pins the imports of the generator: nothing that loads a library,
// jennifer in package emit alone, and what decompresses in package kernel alone.
func TestImports(t *testing.T) {
	const self = "github.com/tvmffi-go/tvmffi/"
	allowed := []string{self + "gen/internal/", self + "schema", self + "cuda/spec", self + "internal/fieldtag", self + "internal/nearest", "golang.org/x/tools/go/packages", "golang.org/x/mod/module"}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "testdata" {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imp := range tree.Imports {
			p, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				return err
			}
			ok := !strings.Contains(p, ".")
			for _, a := range allowed {
				ok = ok || strings.HasPrefix(p, a)
			}
			switch p {
			case "github.com/dave/jennifer/jen":
				ok = filepath.ToSlash(filepath.Dir(file)) == "internal/emit"
			case "github.com/klauspost/compress/zstd", "github.com/pierrec/lz4/v4":
				ok = filepath.ToSlash(filepath.Dir(file)) == "internal/kernel"
			}
			if !ok {
				t.Errorf("%s must not import %s", file, p)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
