package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
)

// putGenerated compares a file of ours with the disk.
func putGenerated(t *testing.T, path, text string) *Output {
	t.Helper()
	o := &Output{}
	if err := o.Put(path, []byte(generated+text), isOurs); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestWrite_sweepsTemporaryFilesOfKilledRuns(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.go")
	writeFile(t, path, generated)
	stale := filepath.Join(dir, ".tvmffi-bind-123.tmp")
	writeFile(t, stale, "half a file")
	others := []string{".tvmffi-bind-notes.txt", "x.tvmffi-bind-1.tmp", ".tvmffi-bind-2.tmp/keep"}
	for _, name := range others {
		writeFile(t, filepath.Join(dir, name), "")
	}
	if err := os.Symlink("a.go", filepath.Join(dir, ".tvmffi-bind-3.tmp")); err != nil {
		t.Fatal(err)
	}

	// While a run holds the lock, the file may be its own.
	held := locks{}
	if err := held.lock(dir); err != nil {
		t.Fatal(err)
	}
	if o := putGenerated(t, path, ""); len(o.Leftover) > 0 || !o.UpToDate() {
		t.Errorf("leftovers %q during another run, want none", o.Leftover)
	}
	hours := time.Now().Add(-2 * oldTemporary)
	if err := os.Chtimes(stale, hours, hours); err != nil {
		t.Fatal(err)
	}
	if o := putGenerated(t, path, ""); len(o.Leftover) != 1 {
		t.Errorf("leftovers %q, want one: nobody writes for two hours", o.Leftover)
	}
	if err := os.Chtimes(stale, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	held.unlock()

	o := putGenerated(t, path, "")
	if !slices.Equal(o.Leftover, []string{stale}) || o.UpToDate() || !strings.Contains(o.Stale(), "left over: "+stale) {
		t.Fatalf("leftovers %q, stale %q, want %s", o.Leftover, o.Stale(), stale)
	}
	if err := o.Write(); err != nil {
		t.Fatal(err)
	}
	after := tree(t, dir)
	if _, left := after[filepath.Base(stale)]; left || len(after) != len(others)+3 { // a.go, the link and the folder
		t.Errorf("files after the sweep: %v", after)
	}
}

// TestWrite_severalRuns lets runs that want different files write to one folder at the same time.
// Afterwards all files are of one run, and a run that was too late has said so.
func TestWrite_severalRuns(t *testing.T) {
	const runs, packageFiles = 4, 6
	dir := t.TempDir()
	for round := range 20 {
		outputs := make([]*Output, runs)
		for r := range runs {
			files := map[string][]byte{}
			for i := range packageFiles {
				files[fmt.Sprintf("sub%d/f%d.go", i%2, i)] = fmt.Appendf([]byte(generated), "// %d by run %d\n", round, r/2)
			}
			files[fmt.Sprintf("sub0/only%d.go", r/2)] = []byte(generated) // two runs want the same
			var err error
			if outputs[r], err = GoPackage(dir, files, nil, isOurs); err != nil {
				t.Fatal(err)
			}
		}
		errs := make([]error, runs)
		var wg sync.WaitGroup
		for r, o := range outputs {
			wg.Go(func() { errs[r] = o.Write() })
		}
		wg.Wait()
		written := -1
		for r, err := range errs {
			var refused *console.Refusal
			switch {
			case err == nil && (written < 0 || written == r/2):
				written = r / 2
			case err == nil:
				t.Errorf("runs of both kinds have written")
			case !errors.As(err, &refused) || !strings.Contains(err.Error(), "has changed while this command ran"):
				t.Errorf("run %d: %v", r, err)
			}
		}
		if written < 0 {
			t.Fatalf("no run has written: %v", errs)
		}
		after := tree(t, dir)
		if want := packageFiles + 1 + 2; len(after) != want {
			t.Fatalf("%d files and folders, want %d: %v", len(after), want, after)
		}
		for name, text := range after {
			if strings.Contains(name, "/f") && !strings.Contains(text, fmt.Sprintf("// %d by run %d\n", round, written)) {
				t.Errorf("%s holds %q, want the text of run %d", name, text, written)
			}
		}
	}
}
