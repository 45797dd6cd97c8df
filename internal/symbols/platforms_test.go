package symbols

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

// The libraries of XGrammar for three systems say the same about themselves. Nothing of them runs here.
func TestPlatforms(t *testing.T) {
	for _, s := range wheel.Pinned() {
		if s.Package != "xgrammar" {
			continue
		}
		t.Run(s.GOOS+"_"+s.GOARCH, func(t *testing.T) {
			file := map[string]string{"linux": "libxgrammar_bindings.so", "darwin": "libxgrammar_bindings.dylib", "windows": "xgrammar_bindings.dll"}[s.GOOS]
			f, err := Read(nativetest.Get(t, s).Path("xgrammar/" + file))
			if err != nil {
				t.Fatal(err)
			}
			if err := f.CheckHost(s.GOOS, s.GOARCH); err != nil {
				t.Error(err)
			}
			// The name that others link, and those that it links: on macOS the first begins with the place @rpath.
			core := map[string]string{"linux": "libtvm_ffi.so", "darwin": "@rpath/libtvm_ffi.dylib", "windows": "tvm_ffi.dll"}[s.GOOS]
			if path.Base(f.ID) != file && f.ID != "" || !slices.Contains(f.Needed, core) || !f.UsesFFI() {
				t.Errorf("it is called %q and needs %q", f.ID, f.Needed)
			}
			if s.GOOS == "darwin" && !strings.HasPrefix(f.ID, "@rpath/") {
				t.Errorf("its install name is %s", f.ID)
			}
		})
	}
}

// Every libtvm_ffi that the project knows for Windows says on which libraries of the C++ runtime it stands.
func TestVersionsForWindows(t *testing.T) {
	for _, s := range wheel.Pinned() {
		if s.Package != "apache-tvm-ffi" || s.GOOS != "windows" {
			continue
		}
		f, err := Read(nativetest.Get(t, s).Library())
		if err != nil {
			t.Fatal(err)
		}
		runtime := slices.ContainsFunc(f.Needed, func(name string) bool { return strings.HasPrefix(strings.ToLower(name), "msvcp140") })
		if err := f.CheckHost(s.GOOS, s.GOARCH); err != nil || !runtime || len(f.API) == 0 {
			t.Errorf("%s: %v; it needs %q", s, err, f.Needed)
		}
	}
}
