package shipment

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/internal/symbols"
)

// Windows does not tell upper from lower case, and has no files for the names of its API.
func TestNamesOfWindows(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "msvcp140.dll"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lib := library{Library: probe.Library{Path: filepath.Join(dir, "a.dll")}, file: symbols.File{Format: symbols.PE, Needed: []string{"B.dll", "KERNEL32.dll", "api-ms-win-crt-heap-l1-1-0.dll"}}}
	lib.Identity.File = "a.dll"
	other := lib
	other.Identity.File, other.file.Needed = "b.dll", nil
	p := &Program{GOOS: "windows", GOARCH: "arm64", Needed: []string{"kernel32.dll"}} // of another machine
	l, err := p.layOut([]library{lib, other})
	if err != nil || !slices.Equal(l.System, []string{"KERNEL32.dll"}) || !slices.Equal(l.order, []string{"a.dll", "b.dll"}) {
		t.Fatalf("%v: %+v", err, l)
	}
	if file := l.fileIn(dir, "MSVCP140.DLL"); filepath.Base(file) != "msvcp140.dll" {
		t.Errorf("got %s", file)
	}
}
