package probe

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestSearched opens a library by a link. It looks for libtvm_ffi in its own folder: that of the file, or that of the link.
func TestSearched(t *testing.T) {
	library, core := nativetest.Testing(t), nativetest.Library(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "libgarden.so")
	if err := os.Symlink(library, link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LD_LIBRARY_PATH", dir+"/env:"+dir+"/more")
	p := &Prober{opened: []string{core, link}, images: []string{library, core}}
	paths, known := p.Searched()
	if !known {
		t.Fatal("it is not known where the loader looks")
	}
	for _, want := range []string{
		link, library, core, "/etc/ld.so.cache", "/usr/lib/glibc-hwcaps", dir + "/env/libtvm_ffi.so", dir + "/more/libtvm_ffi.so",
		dir + "/libtvm_ffi.so", filepath.Dir(library) + "/libtvm_ffi.so",
	} {
		if !slices.Contains(paths, want) {
			t.Errorf("a change of %s does not count", want)
		}
	}
	p.images = nil
	if _, known := p.Searched(); known {
		t.Error("without the files of the process it is known where the loader looks")
	}
	for dir, want := range map[string]bool{"$ORIGIN/x": true, "${ORIGIN}": true, "": true, "$LIB/x": false, "/x/$PLATFORM": false} {
		if (&loaderSearch{}).add(dir, "/y") != want {
			t.Errorf("the folder %q is not taken as it should", dir)
		}
	}
}
