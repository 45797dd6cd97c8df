//go:build e2e

package shipment

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestLayOut puts a library, linked with each of these folders, into one like that of installed packages, with a library that it
// needs. Both lie where the loader finds them; what it could not find is an error.
func TestLayOut(t *testing.T) {
	needed := nativetest.BuildText(t, "hidden", "extern \"C\" int hidden() { return 7; }\n", nativetest.Standalone())
	for _, x := range []struct { // the file that is needed lies at at; want is where the files are, or an error
		rpath, at, want string
		optional        bool
	}{
		{"$ORIGIN/../sample.libs", "sample.libs", "lib/top.so sample.libs/libhidden.so", false},
		{"$ORIGIN:/nowhere", "sample", "libhidden.so top.so", false},
		{"/nowhere:${ORIGIN}/deps", "sample/deps", "deps/libhidden.so top.so", false},
		{"$ORIGIN/../../sample.libs", "../sample.libs", "would lie above the folder", false},
		{"ROOT/abs", "abs", "which it finds on this machine only", false},
		{"ROOT/abs", "abs", "top.so", true},
		{"$ORIGIN", "elsewhere", "which is neither in its folders nor in those of the system", false},
	} {
		root := filepath.Join(t.TempDir(), "site")
		rpath := strings.ReplaceAll(x.rpath, "ROOT", root)
		top := nativetest.BuildText(t, "top", "extern \"C\" int hidden();\nextern \"C\" int rand();\nextern \"C\" int top() { return hidden() + rand(); }\n", nativetest.Standalone(),
			nativetest.Flags("-L"+filepath.Dir(needed), "-l:"+filepath.Base(needed), "-Wl,-rpath,"+rpath))
		copyTo(t, filepath.Join(root, "sample", "top.so"), top)
		copyTo(t, filepath.Join(root, x.at, filepath.Base(needed)), needed)
		p := &Program{Path: os.Args[0], GOOS: runtime.GOOS, GOARCH: runtime.GOARCH, Needed: []string{"libpthread.so.0"}}
		lib, err := p.open(filepath.Join(root, "sample", "top.so"))
		if err != nil {
			t.Fatal(err)
		}
		lib.optional = x.optional
		l, err := p.layOut([]library{lib})
		if err != nil {
			if !strings.Contains(err.Error(), x.want) || !strings.Contains(err.Error(), filepath.Base(needed)) {
				t.Errorf("%s: %v", x.rpath, err)
			}
			continue
		}
		if got := strings.Join(slices.Sorted(maps.Keys(l.files)), " "); got != x.want {
			t.Errorf("%s: got %s", x.rpath, got)
		}
		if x.optional {
			continue
		}
		if !slices.Contains(l.System, "libc.so.6") || !slices.Contains(l.System, "libpthread.so.0") || slices.Contains(l.System, filepath.Base(needed)) {
			t.Errorf("%s: the machine must have %q", x.rpath, l.System)
		}
	}
}

// TestMachineHas: a library may be needed by its path.
func TestMachineHas(t *testing.T) {
	l := &layout{program: &Program{GOOS: runtime.GOOS, GOARCH: runtime.GOARCH}}
	i := slices.IndexFunc(systemFolders(), func(dir string) bool { return l.machineHas(filepath.Join(dir, "libc.so.6")) })
	if i < 0 || !l.machineHas("libc.so.6") || l.machineHas("/nowhere/libc.so.6") {
		t.Errorf("libc.so.6 is in none of %q, or in /nowhere", systemFolders())
	}
}

func copyTo(t *testing.T, to, from string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
