package face_test

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/gen/internal/source"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// TestOf_included checks that the functions, classes, enums and errors of included packages
// come with the library, under their own names in the registry.
func TestOf_included(t *testing.T) {
	dir := testFolder(t)
	at := path.Join("github.com/tvmffi-go/tvmffi/gen/internal/face", filepath.ToSlash(dir))
	const exports = "// Generated for a test.\npackage PACKAGE\n\n" + `import "github.com/tvmffi-go/tvmffi/runtime/exportrt"` + "\n\n"
	const method = "\nfunc TVMFFIExports() *exportrt.Exports { return &tvmffiExports }\n"
	for name, text := range map[string]string{
		"outer/outer.go": "package outer\n\nimport (\n\t//tvmffi:export\n\t\"" + at + "/inner\"\n\t//tvmffi:export\n\t_ \"" + at + "/kernels\"\n)\n" + `
//tvmffi:export
func Own(lamp *inner.Lamp) {}
`,
		"inner/inner.go": `package inner

import "context"

// Shade is an enum.
type Shade int

const ShadeDark Shade = 1

//tvmffi:object opaque
type Lamp struct{ on bool }

//tvmffi:method
func (l *Lamp) Switch(ctx context.Context, s Shade) (*Lamp, error) { return l, nil }

//tvmffi:error
type BurntError string

func (e BurntError) Error() string { return string(e) }

//tvmffi:export
func Light(n int, s Shade) *Lamp { return nil }

//tvmffi:export
func Later() {} // is not in the generated file
`,
		"inner/export_gen.go": exports + `var tvmffiExports = exportrt.Exports{
	Name: "inner", Prefix: "in.", Functions: []exportrt.Function{{Name: "light"}},
}` + method,
		"kernels/kernels_gen.go": exports + `var tvmffiExports = exportrt.Exports{
	Name: "kernels", Prefix: "kernels.", Functions: []exportrt.Function{
		{Name: "add", Doc: "It adds.", Params: []string{"x", "n", "stream"}, Signature: "(DLTensor*, int, Optional<void*>) -> None"},
		{Name: "sub", Global: "other.sub", Signature: "() -> None"},
	},
}` + method,
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		content := bytes.ReplaceAll([]byte(text), []byte("PACKAGE"), []byte(path.Dir(name)))
		if err := os.WriteFile(file, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := source.Read(".", "./"+dir+"/outer", func(content []byte) bool { return bytes.HasPrefix(content, []byte("// Generated")) })
	if err != nil {
		t.Fatal(err)
	}
	l := face.Of(p, "outer", "out.")
	var globals []string
	functions := map[string]*face.Function{}
	for _, f := range l.Functions {
		globals = append(globals, f.Symbol+" "+f.Global)
		functions[f.Name] = f
	}
	if got, want := globals, []string{"add kernels.add", "light in.light", "own out.own", "sub other.sub"}; !slices.Equal(got, want) {
		t.Fatalf("functions %q, want %q", got, want)
	}
	if len(l.Classes) != 1 || l.Classes[0].Key != "in.Lamp" || len(l.Enums) != 1 || len(l.Errors) != 1 || l.Errors[0].Kind != "in.BurntError" {
		t.Fatalf("classes %+v, enums %+v, errors %+v", l.Classes, l.Enums, l.Errors)
	}
	light := functions["light"]
	if light.Params[1].Type.Enum != l.Enums[0] || light.Results[0].Type.Class != l.Classes[0] {
		t.Errorf("light has %+v and %+v", light.Params[1].Type, light.Results[0].Type)
	}
	if own := functions["own"]; own.Params[0].Type.Class != l.Classes[0] {
		t.Errorf("own has %+v", own.Params[0].Type)
	}
	add := functions["add"]
	if len(add.Params) != 3 || add.Doc != "It adds." || add.Params[0].Type.Kind != crossing.KindTensor || add.Params[1].Name != "n" ||
		add.Params[2].Type.Kind != crossing.KindOptional || add.Params[2].Type.Elems[0].Kind != crossing.KindPointer {
		t.Errorf("add is %+v", add)
	}
}

// testFolder makes a folder for packages inside this module, which has the runtime. It is
// in testdata, where tests that read the whole module do not see it.
func testFolder(t *testing.T) string {
	t.Helper()
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("testdata", "package")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = os.RemoveAll(dir)
		_ = os.Remove("testdata") // if it is empty
	})
	return dir
}
