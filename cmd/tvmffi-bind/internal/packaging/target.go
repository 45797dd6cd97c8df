package packaging

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// Target is the platform that a library is for.
type Target struct{ OS, Arch string }

// Host is the platform of this program.
var Host = Target{runtime.GOOS, runtime.GOARCH}

// platform is what there is to know about a Target.
type platform struct {
	python string // the architecture in the tag of a wheel
	gcc    string // the cross compiler
	zig    string // the target in the words of zig
}

var platforms = map[Target]platform{
	{"linux", "amd64"}:   {"x86_64", "x86_64-linux-gnu-gcc", "x86_64-linux-gnu.2.17"},
	{"linux", "arm64"}:   {"aarch64", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu.2.17"},
	{"darwin", "amd64"}:  {"x86_64", "", "x86_64-macos.12.0"},
	{"darwin", "arm64"}:  {"arm64", "", "aarch64-macos.12.0"},
	{"windows", "amd64"}: {"amd64", "x86_64-w64-mingw32-gcc", "x86_64-windows-gnu"},
	{"windows", "arm64"}: {"arm64", "aarch64-w64-mingw32-gcc", "aarch64-windows-gnu"},
}

// ParseTarget reads GOOS/GOARCH. The empty text is the platform of this program.
func ParseTarget(text string) (Target, error) {
	if text == "" {
		return Host, nil
	}
	goos, goarch, _ := strings.Cut(text, "/")
	t := Target{goos, goarch}
	if _, ok := platforms[t]; !ok {
		return t, fmt.Errorf("the target %q is not one of %s", text, strings.Join(targets(), ", "))
	}
	return t, nil
}

func targets() []string {
	var all []string
	for t := range platforms {
		all = append(all, t.String())
	}
	slices.Sort(all)
	return all
}

// String is GOOS/GOARCH.
func (t Target) String() string { return t.OS + "/" + t.Arch }

// LibraryFile is the file name of the shared library with that name.
func (t Target) LibraryFile(name string) string {
	switch t.OS {
	case "darwin":
		return "lib" + name + ".dylib"
	case "windows":
		return name + ".dll"
	}
	return "lib" + name + ".so"
}
