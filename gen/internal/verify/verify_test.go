package verify

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestModuleWithoutRuntime checks generated code in a module that does not require the runtime.
func TestModuleWithoutRuntime(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/app\n\ngo 1.26\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"garden/garden.go": []byte("package garden\n\nimport (\n\t_ \"" + runtimePath + "\"\n\t_ \"" + runtimePath + "/bindrt\"\n)\n")}
	_, err := Check(dir, func([]byte) bool { return false }, files)
	want := "the module example.com/app in " + dir + " cannot import " + runtimePath + ", which generated code needs: run there go get -tool "
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line with %q", err, want)
	}
}

// TestModuleWithVendor has folders vendor without the package that generated code imports, as "go mod vendor" makes them
// before there is generated code, and other settings of the go command.
func TestModuleWithVendor(t *testing.T) {
	const modules = "# " + modulePath + " v0.1.0\n## explicit; go 1.26\n" + runtimePath + "\n"
	const required = "module example.com/app\n\ngo 1.26\n\nrequire " + modulePath + " v0.1.0\n"
	lacks := "the folder DIR/vendor lacks " + runtimePath + "/bindrt: add -mod=readonly to GOFLAGS for this command, as in GOFLAGS=-mod=readonly go generate, and then run "
	cases := []struct {
		what  string
		files map[string]string
		vars  []string
		want  string
	}{
		{"a module", map[string]string{
			"go.mod": required, "vendor/modules.txt": modules, "vendor/" + runtimePath + "/runtime.go": "package tvmffi\n",
		}, nil, lacks + "go mod vendor"},
		{"a workspace", map[string]string{
			"go.work": "go 1.26\n\nuse ./app\n", "app/go.mod": required, "vendor/modules.txt": "## workspace\n" + modules,
			"vendor/" + runtimePath + "/runtime.go": "package tvmffi\n",
		}, []string{"GOWORK="}, lacks + "go work vendor"},
		{"no modules", map[string]string{"go.mod": required}, []string{"GO111MODULE=off"}, "GO111MODULE=off turns modules off"},
	}
	for _, c := range cases {
		t.Run(c.what, func(t *testing.T) {
			t.Setenv("GOFLAGS", "")
			for _, v := range c.vars {
				name, value, _ := strings.Cut(v, "=")
				t.Setenv(name, value)
			}
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			at := dir
			for name, text := range c.files {
				if write(t, dir, name, text); name == "app/go.mod" {
					at = filepath.Join(dir, "app")
				}
			}
			files := map[string][]byte{"garden/garden.go": []byte("package garden\n\nimport (\n\t_ \"" + runtimePath + "\"\n\t_ \"" + runtimePath + "/bindrt\"\n)\n")}
			_, err = Check(at, isGenerated, files)
			want := strings.Replace(c.want, "DIR", dir, 1)
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, want)
			}
		})
	}
}

// TestDeepLayout checks a type that is derived through more levels than a size could be computed for, if each level took
// twice as long as the one before.
func TestDeepLayout(t *testing.T) {
	source := "package tvmffi\ntype Object struct{ p *int }\ntype T0 struct {\n_ [0]*T0\nObject\n}\n"
	const depth = 100
	for i := range depth {
		source += fmt.Sprintf("type base%d = T%[1]d\ntype T%d struct {\n_ [0]*T%[2]d\nbase%[1]d\n}\n", i, i+1)
	}
	source += fmt.Sprintf("type Wrong struct {\nT%d\nmore int\n}\n", depth)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "t.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := new(types.Config).Check(runtimePath, fset, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sizes := types.SizesFor("gc", "amd64")
	named := func(name string) *types.Named { return pkg.Scope().Lookup(name).Type().(*types.Named) }
	if err := checkLayout(named(fmt.Sprint("T", depth)), sizes); err != nil {
		t.Error(err)
	}
	if err := checkLayout(named("Wrong"), sizes); err == nil {
		t.Error("a struct with two fields has the layout of Object")
	}
}
