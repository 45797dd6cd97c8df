//go:build unix

package elfheader_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/elfheader"
)

// The loader would wait for a writer of the pipe.
func TestCheckPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe.so")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := elfheader.Check(pipe); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
}
