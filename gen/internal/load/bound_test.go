package load

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// module writes a module with these files and returns its folder.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestBoundTypes(t *testing.T) {
	dir := module(t, map[string]string{
		"go.mod": "module example.test/app\n\ngo 1.26\n",
		"bed/rose_gen.go": `// generated
package bed

import "example.test/app/bindrt"

var typeRose = bindrt.Type{Library: &library, Key: "garden.Rose"}

type Rose struct{}

func (*Rose) TVMFFIType(*Rose) *bindrt.Type { return &typeRose }
`,
		"bed/hand.go": `package bed

var typeHand = bindrt.Type{Key: "garden.Hand"}

func (*Hand) TVMFFIType(*Hand) *bindrt.Type { return &typeHand }
`,
		"paths/aliases_gen.go": `// generated
package paths

import b "example.test/app/bed"

type (
	Flower    = b.Rose
	FlowerRef = b.RoseRef
)
`,
		"hand/hand.go":    "package hand\n",
		"broken/x_gen.go": "// generated\npackage broken\nfunc {\n",
	})
	generated := func(data []byte) bool { return bytes.HasPrefix(data, []byte("// generated")) }
	rose := Bound{"example.test/app/bed", "bed", map[string]string{"garden.Rose": "Rose"}}
	flower := Bound{"example.test/app/paths", "paths", map[string]string{"garden.Rose": "Flower"}}
	for pattern, want := range map[string][]Bound{
		"example.test/app/bed":       {rose},
		"example.test/app/bed/...":   {rose},
		"example.test/app/paths":     {flower}, // with the key from the package of the type
		"example.test/app/paths/...": {flower},
	} {
		if got, err := BoundTypes(dir, pattern, generated); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v, want %v", pattern, got, err, want)
		}
	}
	for pattern, want := range map[string]string{
		"example.test/app/hand":   "has no bindings; generate them first",
		"example.test/app/none":   "example.test/app/none cannot be read (",
		"example.test/none/...":   "has no bindings; generate them first",
		"example.test/app/broken": "x_gen.go:3:",
	} {
		if got, err := BoundTypes(dir, pattern, generated); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want an error with %q", pattern, got, err, want)
		}
	}
}

// TestBoundTypes_vendor looks for bindings of another module, which a folder vendor does not have yet.
func TestBoundTypes_vendor(t *testing.T) {
	t.Setenv("GOFLAGS", "")
	dir := module(t, map[string]string{
		"go.mod":             "module example.test/app\n\ngo 1.26\n\nrequire example.test/other v0.1.0\n",
		"vendor/modules.txt": "# example.test/other v0.1.0\n## explicit; go 1.26\n",
	})
	for _, pattern := range []string{"example.test/other/garden", "example.test/other/garden/..."} {
		want := filepath.Join(dir, "vendor") + " lacks example.test/other/garden: add -mod=readonly to GOFLAGS"
		if got, err := BoundTypes(dir, pattern, func([]byte) bool { return true }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want an error with %q", pattern, got, err, want)
		}
	}
}
