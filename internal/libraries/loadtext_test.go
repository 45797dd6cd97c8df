package libraries

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/find"
)

// TestRemedy_package: where libtvm_ffi is missing, the error names the package that is loaded, not one that it needs.
func TestRemedy_package(t *testing.T) {
	l := Library{Files: []find.File{
		{Name: "libpart.so", Package: "part", Version: "2.0", Dependency: true},
		{Name: "libsample.so", Package: "sample", Version: "1.0"},
		{Name: find.CoreName(), Package: "apache-tvm-ffi", Version: "0.1.12", Dependency: true},
	}}
	err := l.find(&find.Options{Core: filepath.Join(t.TempDir(), find.CoreName())})
	if err == nil || !strings.Contains(err.Error(), `run "go tool tvmffi-bind setup sample==1.0", or pip install sample==1.0,`) {
		t.Error(err)
	}
}

func TestLoaderMessages(t *testing.T) {
	for _, c := range []struct {
		name  string
		read  func(string) string
		cases map[string]string
	}{
		{"missingSymbol", missingSymbol, map[string]string{
			"a.so: undefined symbol: TVMFFIAnyNew":                     "TVMFFIAnyNew",
			"a.so: undefined symbol: _ZN3x, version GLIBC_2.9":         "_ZN3x",
			"symbol not found in flat namespace: '_TVMFFIAnyNew'":      "_TVMFFIAnyNew",
			"Symbol not found: _TVMFFIAnyNew\n  Referenced from: b":    "_TVMFFIAnyNew",
			"Symbol not found in flat namespace: '_a' ymbol not found": "_a",
			"Error relocating a.so: other text":                        "",
			"undefined symbol: ":                                       "",
		}},
		{"missingLibrary", missingLibrary, map[string]string{
			"libx.so.1: cannot open shared object file: No such file or directory":       "libx.so.1",
			"a.so: libx.so.1: cannot open shared object file: No such file or directory": "libx.so.1",
			"a b: cannot open shared object file: No such file":                          "",
			"libx.so: cannot open shared object file: Permission denied":                 "",
			"Library not loaded: @rpath/liby.dylib\n  Referenced from: b":                "@rpath/liby.dylib",
		}},
		{"missingLoader", missingLoader, map[string]string{
			"no function ffi.Module.load_from_bytes.relax.VM.": "relax.VM",
			"ffi.Module.load_from_bytes. is not there":         "",
			"something else": "",
		}},
		{"missingVersion", missingVersion, map[string]string{
			"libc.so.6: version `GLIBC_2.38' not found (required by a.so)": "GLIBC_2.38",
			"version `X_1' not found; version ‘CXXABI_1.3.15’ not found":   "CXXABI_1.3.15",
			"version `GLIBC_' not found":                                   "",
			"version `GLIBC_2.38' is bad":                                  "",
			"version ":                                                     "",
		}},
	} {
		for message, want := range c.cases {
			if got := c.read(message); got != want {
				t.Errorf("%s(%q) = %q, want %q", c.name, message, got, want)
			}
		}
	}
	for symbol, want := range map[string]bool{
		"TVMFFIAnyNew": true, "_TVMFFIAnyNew": true, "_ZN3tvm3ffi5ErrorE": true, "__ZNK3tvm3ffi1a": true, "_ZTIN3tvm3ffi5ErrorE": true,
		"_Z3tvm": false, "_ZN3tvm4tirx": false, "ZN3tvm3ffi": false, "__TVMFFI": false, "_ZT": false, "": false,
	} {
		if symbolOfFFI(symbol) != want {
			t.Errorf("symbolOfFFI(%q) is not %v", symbol, want)
		}
	}
}
