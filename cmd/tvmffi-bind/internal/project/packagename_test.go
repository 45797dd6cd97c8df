package project

import "testing"

func TestPackageName(t *testing.T) {
	for file, want := range map[string]string{
		"libgarden.so": "garden", "./build/libtvm_ffi_testing.so.1": "tvmffitesting",
		"func.dll": "libfunc", "123.so": "lib", "Größe.so": "gre", "main.so": "libmain", "9lives.dylib": "lives",
	} {
		if got := PackageName(file); got != want {
			t.Errorf("PackageName(%q) = %q, want %q", file, got, want)
		}
	}
}
