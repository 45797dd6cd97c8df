package libname

import (
	"slices"
	"testing"
)

func TestOn(t *testing.T) {
	for _, c := range []struct {
		name                   string
		linux, darwin, windows []string
	}{
		{"libgarden.so", []string{"libgarden.so"}, []string{"libgarden.dylib", "libgarden.so"}, []string{"garden.dll", "libgarden.dll", "libgarden.so"}},
		{"libgarden.so.1.2", []string{"libgarden.so.1.2"}, []string{"libgarden.dylib", "libgarden.so.1.2"}, []string{"garden.dll", "libgarden.dll", "libgarden.so.1.2"}},
		{"garden.so", []string{"garden.so"}, []string{"garden.dylib", "garden.so"}, []string{"garden.dll", "garden.so"}},
		{"libgarden.dylib", []string{"libgarden.so", "libgarden.dylib"}, []string{"libgarden.dylib"}, []string{"garden.dll", "libgarden.dll", "libgarden.dylib"}},
		{"garden.dll", []string{"libgarden.so", "garden.so", "garden.dll"}, []string{"libgarden.dylib", "garden.dylib", "garden.dll"}, []string{"garden.dll"}},
		{"Garden.DLL", []string{"libGarden.so", "Garden.so", "Garden.DLL"}, []string{"libGarden.dylib", "Garden.dylib", "Garden.DLL"}, []string{"Garden.DLL"}},
		{"libgarden.dll", []string{"libgarden.so", "libgarden.dll"}, []string{"libgarden.dylib", "libgarden.dll"}, []string{"libgarden.dll"}},
		{"garden.pyd", []string{"garden.pyd"}, []string{"garden.pyd"}, []string{"garden.pyd"}},
		{"lib.so", []string{"lib.so"}, []string{"lib.dylib", "lib.so"}, []string{"lib.dll", "lib.so"}},
		{"lib", []string{"lib"}, []string{"lib"}, []string{"lib"}},
	} {
		for goos, want := range map[string][]string{"linux": c.linux, "darwin": c.darwin, "windows": c.windows, "plan9": {c.name}} {
			if got := On(goos, c.name); !slices.Equal(got, want) {
				t.Errorf("%s on %s: got %q, want %q", c.name, goos, got, want)
			}
		}
	}
}

func TestSame(t *testing.T) {
	for _, c := range []struct {
		goos, name, file string
		want             bool
	}{
		{"windows", "libgarden.so", "garden.dll", true},
		{"windows", "libgarden.so", "GARDEN.dll", true},
		{"windows", "garden.dll", "Garden.DLL", true},
		{"windows", "libgarden.so", "garden2.dll", false},
		{"linux", "libgarden.so", "libGarden.so", false},
		{"linux", "garden.dll", "libgarden.so", true},
		{"linux", "libgarden.so", "garden.dll", false},
		{"darwin", "libgarden.so", "libgarden.dylib", true},
	} {
		if got := Same(c.goos, c.name, c.file); got != c.want {
			t.Errorf("%s on %s, a file %s: got %v", c.name, c.goos, c.file, got)
		}
	}
}

func TestStem(t *testing.T) {
	for file, want := range map[string]string{
		"libgarden.so": "garden", "libgarden.so.1.2": "garden", "garden.dll": "garden", "libgarden.dylib": "garden", "libgarden.1.2": "garden.1.2", "garden": "garden", "GARDEN.DLL": "GARDEN",
	} {
		if got := Stem(file); got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
}
