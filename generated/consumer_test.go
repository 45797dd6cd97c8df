package generated_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/txtar"

	"github.com/tvmffi-go/tvmffi/internal/nativetest"
)

const self = "github.com/tvmffi-go/tvmffi"

// toolDir holds the tool that tests have built.
var toolDir string

// tool builds tvmffi-bind, once.
var tool = sync.OnceValues(func() (path string, err error) {
	if toolDir, err = os.MkdirTemp("", "tvmffi-bind-"); err != nil {
		return "", err
	}
	path = filepath.Join(toolDir, "tvmffi-bind")
	cmd := exec.Command("go", "build", "-o", path, self+"/cmd/tvmffi-bind")
	cmd.Stderr = os.Stderr
	return path, cmd.Run()
})

func TestMain(m *testing.M) {
	code := m.Run()
	if toolDir != "" {
		os.RemoveAll(toolDir)
	}
	os.Exit(code)
}

// consumer is a module of its own, outside of the repository.
type consumer struct {
	t   *testing.T
	dir string
	env []string
}

// newConsumer writes the files of an archive in testdata into a new module, which
// requires this repository and its tool.
func newConsumer(t *testing.T, archive string) *consumer {
	t.Helper()
	root, err := nativetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	c := &consumer{t: t, dir: t.TempDir()}
	c.env = append(os.Environ(), "CGO_ENABLED=0", "GOPROXY=off", "GOWORK=off", "GOFLAGS=-mod=mod -buildvcs=false",
		"TVMFFI_LIBRARY="+nativetest.Library(t))
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	const version = "v0.0.0-00010101000000-000000000000"
	for _, err := range []error{mod.AddModuleStmt("example.test/consumer"), mod.AddRequire(self, version), mod.AddReplace(self, "", root, "")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if text, err = mod.Format(); err != nil {
		t.Fatal(err)
	}
	c.write("go.mod", text)
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	c.write("go.sum", sums)
	a, err := txtar.ParseFile(filepath.Join("testdata", archive))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		c.write(f.Name, f.Data)
	}
	return c
}

func (c *consumer) write(name string, data []byte) {
	c.t.Helper()
	path := filepath.Join(c.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o755); err != nil {
		c.t.Fatal(err)
	}
}

// library puts a library into the module.
func (c *consumer) library(path, name string) {
	c.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(name, data)
}

func (c *consumer) read(name string) string {
	c.t.Helper()
	data, err := os.ReadFile(filepath.Join(c.dir, filepath.FromSlash(name)))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(data)
}

// run runs a command in the module and returns what it printed. It must succeed.
func (c *consumer) run(name string, args ...string) string {
	c.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return string(out)
}

// bind runs the tool in the module.
func (c *consumer) bind(args ...string) string {
	c.t.Helper()
	path, err := tool()
	if err != nil {
		c.t.Fatal(err)
	}
	return c.run(path, args...)
}

// test vets and tests the packages of the module.
func (c *consumer) test(packages ...string) {
	c.t.Helper()
	c.run("go", append([]string{"vet"}, packages...)...)
	out := c.run("go", append([]string{"test", "-count=1", "-v"}, packages...)...)
	if strings.Contains(out, "--- SKIP") || !strings.Contains(out, "--- PASS") {
		c.t.Errorf("not everything ran:\n%s", out)
	}
}

// TestGarden binds the library of the introduction by go generate, and runs the
// program that shows what using it feels like.
func TestGarden(t *testing.T) {
	c := newConsumer(t, "garden.txtar")
	c.library(nativetest.Build(t, "garden"), "libgarden.so")
	c.run("go", "generate", "./...")
	c.env = append(c.env, "TVMFFI_LIBRARY_PATH="+c.dir)
	c.test("./...")
}
