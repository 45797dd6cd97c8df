package load

import (
	"go/ast"
	"maps"
	"path/filepath"
	"testing"
)

// TestPackages checks that the files for which whole returns true keep their bodies, and
// that imported packages have none, so that an error in a body does not count.
func TestPackages(t *testing.T) {
	dir := module(t, map[string]string{
		"go.mod":         "module example.test/app\n\ngo 1.26\n",
		"app.go":         "package app\n\nimport \"example.test/app/plants\"\n\nfunc Count() int { return plants.Count() }\n",
		"plants/here.go": "package plants\n\nfunc Count() int { return notWrittenYet }\n",
	})
	inDir := func(file string) bool { return filepath.Dir(file) == dir }
	loaded, err := Packages(dir, nil, inDir, ".")
	if err != nil || len(loaded) != 1 || len(loaded[0].Errors) > 0 {
		t.Fatalf("%v, %v", loaded, err)
	}
	imported := loaded[0].Imports["example.test/app/plants"]
	if imported == nil || len(imported.Errors) > 0 {
		t.Fatalf("the import is %+v", imported)
	}
	for want, files := range map[bool][]*ast.File{true: loaded[0].Syntax, false: imported.Syntax} {
		f := files[0].Decls[len(files[0].Decls)-1].(*ast.FuncDecl)
		if (f.Body != nil) != want {
			t.Errorf("%s has a body: %v, want %v", f.Name, f.Body != nil, want)
		}
	}
	// Without any body nothing uses the import.
	if loaded, err = Packages(dir, nil, nil, "."); err != nil || len(loaded) != 1 || len(loaded[0].Errors) != 1 {
		t.Errorf("without bodies: %v, %v", loaded[0].Errors, err)
	}
}

// TestNames asks for packages whose names are and are not the ends of their paths, and for
// one that does not exist.
func TestNames(t *testing.T) {
	got := Names(".", []string{"go/types", "github.com/tvmffi-go/tvmffi/runtime", "example.test/none"})
	want := map[string]string{"go/types": "types", "github.com/tvmffi-go/tvmffi/runtime": "tvmffi"}
	if !maps.Equal(got, want) {
		t.Errorf("Names: %v, want %v", got, want)
	}
}
