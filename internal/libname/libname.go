// Package libname knows the names of one shared library on Linux, macOS and Windows, such as libgarden.so,
// libgarden.dylib and garden.dll.
package libname

import (
	"slices"
	"strings"
)

// ends has the end of the name of a shared library by operating system, as Go calls it.
var ends = map[string]string{"linux": ".so", "darwin": ".dylib", "windows": ".dll"}

// Stem returns the name of a file without lib before it, and without .so, .so.1.2, .dylib or .dll after it. Two files with
// the same stem are the same library on two systems.
func Stem(file string) string {
	name, _ := split(strings.TrimPrefix(file, "lib"))
	return name
}

// split divides the name of a file before its end, and says on which system libraries have that end: "" if on none.
func split(name string) (before, goos string) {
	if n := len(name) - len(ends["windows"]); n >= 0 && strings.EqualFold(name[n:], ends["windows"]) {
		return name[:n], "windows"
	}
	if before, ok := strings.CutSuffix(name, ends["darwin"]); ok {
		return before, "darwin"
	}
	before = name
	for {
		if stem, ok := strings.CutSuffix(before, ends["linux"]); ok {
			return stem, "linux"
		}
		i := strings.LastIndexByte(before, '.')
		if i < 0 || i+1 == len(before) || strings.Trim(before[i+1:], "0123456789") != "" {
			return name, ""
		}
		before = before[:i] // it may be a version behind .so
	}
}

// On returns the names of a library on an operating system, the most usual first. name is its name on any system, and the last
// of them, if it is not the only one: macOS and Windows load a file of any name. A name that has the end of that system, or no
// end that is known, is the only one. On Windows the compilers of Microsoft write garden.dll, and those of GNU libgarden.dll.
func On(goos, name string) []string {
	stem, of := split(name)
	end := ends[goos]
	if of == "" || of == goos || end == "" {
		return []string{name}
	}
	bare, lib := strings.CutPrefix(stem, "lib")
	lib = lib && bare != ""
	var stems []string
	switch {
	case goos == "windows" && lib:
		stems = []string{bare, stem}
	case of == "windows" && !lib:
		stems = []string{"lib" + stem, stem}
	default:
		stems = []string{stem}
	}
	var names []string
	for _, s := range stems {
		names = append(names, s+end)
	}
	return append(names, name)
}

// Same reports whether a file with the name of another may be a library that is called name: the system is the one of that
// file. Windows does not tell upper from lower case.
func Same(goos, name, file string) bool {
	return slices.ContainsFunc(On(goos, name), func(n string) bool {
		return n == file || goos == "windows" && strings.EqualFold(n, file)
	})
}
