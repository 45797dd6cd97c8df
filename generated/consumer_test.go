package generated_test

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// newConsumer makes a module from the files of an archive in testdata.
func newConsumer(t *testing.T, archive string) *consumer.Module {
	t.Helper()
	m := consumer.New(t, "example.test/consumer")
	m.Env = append(m.Env, "TVMFFI_LIBRARY="+nativetest.Library(t))
	a, err := txtar.ParseFile(filepath.Join("testdata", archive))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		m.Write(f.Name, f.Data)
	}
	return m
}

// TestValues binds a library of the values that bindings can get wrong.
func TestValues(t *testing.T) {
	m := newConsumer(t, "values.txtar")
	m.Copy(nativetest.Build(t, "values"), "libvalues.so")
	m.Run("go", "generate", "./...")
	m.Env = append(m.Env, "TVMFFI_LIBRARY_PATH="+m.Dir)
	m.Run("go", "vet", "./...")
	out := m.Run("go", "test", "-count=1", "-v", "./...")
	if strings.Contains(out, "--- SKIP") || !strings.Contains(out, "--- PASS") {
		t.Errorf("not everything ran:\n%s", out)
	}
}
