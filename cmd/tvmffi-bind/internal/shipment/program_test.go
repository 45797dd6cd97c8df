package shipment

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/libraries"
)

// The layouts that libraries are found by are those of the types in generated code.
func TestLayouts(t *testing.T) {
	l, f := reflect.TypeFor[libraries.Library](), reflect.TypeFor[find.File]()
	var fields []string
	for _, field := range append(reflect.VisibleFields(l)[:2], reflect.VisibleFields(f)...) {
		fields = append(fields, fmt.Sprintf("%s %d %s", field.Name, field.Offset/word, field.Type.Kind()))
	}
	want := []string{"Files 0 slice", "Like 3 ptr", "Name 0 string", "SHA256 2 string", "Package 4 string", "Version 6 string", "PathInPackage 8 string", "Dependency 10 bool"}
	if l.Size() != sizeLibrary || f.Size() != sizeFile || !slices.Equal(fields, want) {
		t.Errorf("they have %d and %d bytes, and %q", l.Size(), f.Size(), fields)
	}
}

// The libraries are found in programs of each format and build mode, without those that the program cannot load.
func TestImage(t *testing.T) {
	want := []find.File{
		{Name: "libtvm_ffi.so", SHA256: "c33ef5349896abfd0c5d6994e028ce3b72a343e3e7a29c1030fe093054b656ea", Package: "apache-tvm-ffi", Version: "1.2", PathInPackage: "tvm_ffi/lib/libtvm_ffi.so", Dependency: true},
		{Name: "libfirst.so"}, {Name: "second.dll"},
	}
	for _, build := range []struct{ goos, goarch, flag string }{
		{"linux", "amd64", "-ldflags=-s -w"}, {"linux", "amd64", "-buildmode=pie"}, {"linux", "amd64", "-gcflags=-N -l"},
		{"linux", "arm64", ""}, {"linux", "arm64", "-buildmode=pie"}, {"windows", "amd64", "-ldflags=-s -w"}, {"darwin", "arm64", ""},
	} {
		t.Run(build.goos+"_"+build.goarch+build.flag, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "program")
			cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program)
			if build.flag != "" {
				cmd.Args = append(cmd.Args, build.flag)
			}
			cmd.Args = append(cmd.Args, "./testdata/program")
			cmd.Env = append(os.Environ(), "GOOS="+build.goos, "GOARCH="+build.goarch, "CGO_ENABLED=0", "GOFLAGS=")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			p, err := ReadProgram(program)
			if err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(p.Libraries, func(a, b find.File) int { return strings.Compare(a.Name, b.Name) })
			slices.SortFunc(want, func(a, b find.File) int { return strings.Compare(a.Name, b.Name) })
			if !slices.Equal(p.Libraries, want) || p.Platform() != build.goos+"/"+build.goarch {
				t.Errorf("on %s: got %+v", p.Platform(), p.Libraries)
			}
			if p.here() {
				return
			}
			const missing = "program was built for %s, and the libraries of this machine are for %s/%s: name the ones for %[1]s with --lib, which are missing: "
			text := fmt.Sprintf(missing, p.Platform(), runtime.GOOS, runtime.GOARCH)
			if _, err := New(t.Context(), p, nil); err == nil || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "first") {
				t.Errorf("its libraries are here: %v", err)
			}
		})
	}
}

// What is not a program with this module is refused by name.
func TestReadProgram_refuses(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	command, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ path, want string }{
		{filepath.Join(dir, "scrpt"), "there is no program at "},
		{script, "is not a program of Go"},
		{dir, "is not a file"},
		{command, "does not use github.com/tvmffi-go/tvmffi"},
	} {
		if p, err := ReadProgram(x.path); err == nil || !strings.Contains(err.Error(), x.want) || !strings.Contains(err.Error(), filepath.Base(x.path)) {
			t.Errorf("%s: %+v, %v", x.path, p, err)
		}
	}
}

// The licences of Go and of the modules in the cache are found; a module that is nowhere has none.
func TestModules(t *testing.T) {
	version := strings.Join(goCommand(t.Context(), "list", "-m", "-f", "{{.Version}}", "golang.org/x/mod"), "")
	info := &debug.BuildInfo{GoVersion: "go1.26.8 X:sample", Deps: []*debug.Module{
		{Path: "golang.org/x/mod", Version: version},
		{Path: "example.com/Upper", Version: "v1.0.0"},
		{Path: "example.com/replaced", Version: "v1.0.0", Replace: &debug.Module{Path: "../folder"}},
		{Path: "example.com/fork", Version: "v1.0.0", Replace: &debug.Module{Path: "golang.org/x/mod", Version: version}},
	}}
	var got []string
	for _, m := range modules(t.Context(), info) {
		found := "none"
		if len(m.licenses) > 0 {
			found = filepath.Base(m.licenses[0])
		}
		got = append(got, strings.Join([]string{m.name, m.folder, found}, "|"))
	}
	want := []string{
		"Go 1.26.8|go1.26.8|LICENSE", "golang.org/x/mod " + version + "|golang.org/x/mod@" + version + "|LICENSE", "example.com/Upper v1.0.0|example.com/Upper@v1.0.0|none",
		"example.com/replaced|example.com/replaced|none", "golang.org/x/mod " + version + "|golang.org/x/mod@" + version + "|LICENSE",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
