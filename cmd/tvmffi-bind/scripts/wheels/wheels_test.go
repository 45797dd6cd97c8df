//go:build wheels

// Package wheels tests wheels for other platforms.
package wheels

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/scripttest"
)

// TestScripts gets zig once, 100 MB. The script needs the program python-arm64 in PATH, which .ci/run makes.
func TestScripts(t *testing.T) {
	bin := filepath.Dir(nativetest.Zig(t))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	scripttest.Run(t)
}
