//go:build wine

// Package windows tests tvmffi-bind.exe under wine.
package windows

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/scripttest"
)

// TestScripts gives its scripts the program "windows", which runs a program of Windows. It needs a prefix of wine with the
// libraries of .ci/tools/ci/wine, and wheels for Windows in the cache: .ci/run makes both.
func TestScripts(t *testing.T) {
	root, err := nativetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", filepath.Join(bin, "tvmffi-bind.exe"), "./cmd/tvmffi-bind")
	build.Dir, build.Env = root, append(os.Environ(), "GOOS=windows", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	start := "#!/bin/sh\nexport LC_ALL=C.UTF-8\n" // wine reads the arguments by it
	for _, name := range []string{"WINEPREFIX", "WINEDEBUG", "WINEDLLOVERRIDES"} {
		start += fmt.Sprintf("export %s='%s'\n", name, strings.ReplaceAll(os.Getenv(name), "'", `'\''`))
	}
	start += "export TVMFFI_CACHE=\"Z:$TVMFFI_CACHE\"\nprogram=$1\nshift\nexec wine '" + bin + "'/\"$program\" \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "windows"), []byte(start), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	scripttest.RunMain(t)
}
