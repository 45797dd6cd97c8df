package probe

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/schema"
)

// TestSidecars finds the libraries for devices beside a runtime, and no others, by the names of each system.
func TestSidecars(t *testing.T) {
	for _, form := range [][2]string{{"lib", ".so"}, {"lib", ".dylib"}, {"", ".dll"}} {
		dir := filepath.Join(t.TempDir(), "[x]")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		file := func(stem string) string { return filepath.Join(dir, form[0]+stem+form[1]) }
		var libs []Library
		for _, stem := range []string{"tvm_ffi", "tvm_runtime", "tvm_runtime_extra", "tvm_runtime_cuda", "other_cuda"} {
			if err := os.WriteFile(file(stem), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if len(libs) < 3 {
				libs = append(libs, Library{Path: file(stem)})
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "tvm_runtime_cuda.lib"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Sidecars(libs); !slices.Equal(got, []string{file("tvm_runtime_cuda")}) {
			t.Errorf("the sidecars are %q", got)
		}
	}
}

// TestBrought finds the libraries that a wheel for Windows brings, once, with the licences of the wheel.
func TestBrought(t *testing.T) {
	root := t.TempDir()
	file := func(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }
	record := ""
	for _, name := range []string{"kit/kit.dll", "kit/kit_runtime.dll", "kit/kit.so", "kit.libs/msvcp140.dll", "kit.libs/Other.DLL", "kit.libs/.load-order", "kit-1.dist-info/licenses/LICENSE"} {
		write(t, file(name), name)
		record += name + ",,\n"
	}
	write(t, file("kit-1.dist-info/RECORD"), record)
	write(t, file("kit-1.dist-info/METADATA"), "License-Expression: MIT\n")
	of := func(names ...string) (libs []Library) {
		for _, name := range names {
			libs = append(libs, Library{file(name), schema.Library{File: filepath.Base(name), Package: "kit", PackageVersion: "1", PathInPackage: name}})
		}
		return libs
	}
	all, err := Brought(of("kit/kit.dll", "kit/kit_runtime.dll"))
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	for _, lib := range all {
		if s := NewShipped(lib); s.License != "MIT" || len(s.LicenseFiles) != 1 || len(s.SHA256) != 64 || s.Path != lib.Path {
			t.Errorf("%+v", s)
		}
	}
	if all, err := Brought(append(of("kit/kit.dll"), all...)); err != nil || len(all) != 0 {
		t.Errorf("again: %v, %v", all, err)
	}
	if all, err := Brought(of("kit/kit.so")); err != nil || len(all) != 0 {
		t.Errorf("of Linux: %v, %v", all, err)
	}
}
