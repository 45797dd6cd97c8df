//go:build e2e

package golibrary

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestPytest has nil dereferences in Go under pytest, whose plugin for faulthandler is loaded after conftest.py, in one process
// and in two.
func TestPytest(t *testing.T) {
	dir, python := pythonPackage(t, "golib"), nativetest.Pytest(t)
	tests := t.TempDir()
	for name, text := range map[string]string{
		"conftest.py": "import golib\n",
		"test_golib.py": `import faulthandler

import golib
import pytest


@pytest.mark.parametrize("x", range(4))
def test_nil(x):
    assert faulthandler.is_enabled() and golib.add(x, 1) == x + 1
    with pytest.raises(RuntimeError, match="nil pointer dereference"):
        golib.fail("nil", "x")
`,
	} {
		if err := os.WriteFile(filepath.Join(tests, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, processes := range []string{"0", "2"} {
		t.Run(processes, func(t *testing.T) {
			run(t, []string{"PYTHONPATH=" + dir}, python, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "-n", processes, tests)
		})
	}
}
