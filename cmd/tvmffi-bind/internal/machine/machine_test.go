package machine

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/find"
)

func TestCached(t *testing.T) {
	const list = `100 libs found in cache
	libc.so.6 (libc6) => /lib/i386-linux-gnu/libc.so.6
	libc.so.6 (libc6,x32) => /libx32/libc.so.6
	libc.so.6 (libc6,x86-64, OS ABI: Linux 3.2.0) => /lib/x86_64-linux-gnu/libc.so.6
	libm.so.6 (libc6,AArch64) => /lib/aarch64-linux-gnu/libm.so.6
`
	for file, want := range map[string]string{
		"libc.so.6": "/lib/x86_64-linux-gnu/libc.so.6",
		"libm.so.6": "/lib/aarch64-linux-gnu/libm.so.6",
		"libm.so":   "",
	} {
		if got := cached(list, file); got != want {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
	}
}

// TestSystem looks at the machine that runs the test, whose programs need these libraries.
func TestSystem(t *testing.T) {
	for _, f := range System() {
		if f.Value == "" || strings.Contains(f.Value, "finds no libc.so.6") || f.Name == "C library" && !strings.HasPrefix(f.Value, "GLIBC_2.") {
			t.Errorf("%s: %q", f.Name, f.Value)
		}
	}
	if got := newest(filepath.Join(t.TempDir(), "none"), "GLIBC_"); got != "" {
		t.Errorf("got %q of no file", got)
	}
	for version, want := range map[string][]int{"3.4.30": {3, 4, 30}, "PRIVATE": nil, "": {0}, "99999999999": nil} {
		if got := numbers(version); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", version, got, want)
		}
	}
}

func TestVariables(t *testing.T) {
	got := Variables([]string{
		"TVMFFI_LIBRARY=/x/libtvm_ffi.so", "LD_LIBRARY_PATH=/y", "TVM_RPC_KEY=1234", "GOPROXY=https://me:1234@example.com",
		"GOFLAGS=-tags=a -ldflags=-X=main.password=1234", "TVM_SERVER=http://me:1234@example.com/x", "HOME=/z", "MY_TOKEN=1234",
		"GODEBUG=", "GOROOT=/go", "GOPRIVATE=example.com/mine", "http_proxy=http://1234", "CXXFLAGS=-DTOKEN=1234 -O2", "=C:=C:\\",
		"TVM_HEADER=Authorization: 1234",
	})
	const hidden = "(set; its value is not shown)"
	want := []Fact{
		{"CXXFLAGS", "-DTOKEN=... -O2"}, {"GOFLAGS", "-tags=a -ldflags=-X=main.password=..."}, {"GOPRIVATE", hidden}, {"GOPROXY", hidden},
		{"GOROOT", "/go"}, {"LD_LIBRARY_PATH", "/y"}, {"TVMFFI_LIBRARY", "/x/libtvm_ffi.so"}, {"TVM_HEADER", "Authorization: ..."},
		{"TVM_RPC_KEY", hidden}, {"TVM_SERVER", "http://...@example.com/x"}, {"http_proxy", hidden},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestHide(t *testing.T) {
	p := &Private{homes: []string{"/srv/people/rose", "/r"}}
	p.addName(`GARDEN\rose`)
	p.addName("root")
	p.addName("")
	users := filepath.Join(string(filepath.Separator), "home") + "/"
	for text, want := range map[string]string{
		"/srv/people/rose/x /srv/people/rose":    "~/x ~",
		"/srv/people/rosemary/x":                 "/srv/people/rosemary/x",
		"/r/x and /r2 and /a/r":                  "~/x and /r2 and /a/r",
		"/t/rose/libroses.so, rose: primrose":    "/t/USER/libroses.so, USER: primrose",
		users + "tulip/x " + users + "lily:root": users + "USER/x " + users + "USER:root",
		`C:\Users\Lily\x`:                        `C:\Users\USER\x`,
	} {
		if got := p.Hide(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	t.Setenv("HOME", "/srv/people/tulip")
	if got := NewPrivate().Hide("/srv/people/tulip/x"); got != "~/x" {
		t.Errorf("got %q", got)
	}
}

// TestBindings has a module with bindings of one library beside another file, and one that is nowhere.
func TestBindings(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":             "module example.com/app\n\ngo 1.26\n",
		"main.go":            "package main\n\nimport _ \"example.com/app/garden\"\n\nfunc main() {}\n",
		"garden/garden.go":   "package garden\n",
		"lib/libgarden.so":   "garden",
		"unused/none_gen.go": "package unused\n",
		"garden/library_gen.go": "package garden\n\n" + `/*
	{Name: "libgarden.so", SHA256: "00", Package: "plants", Version: "1.2", PathInPackage: "p/libgarden.so"},
	{Name: "libsoil.so", Dependency: true},
*/` + "\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	lib := filepath.Join(dir, "lib")
	t.Setenv("TVMFFI_LIBRARY_PATH", lib)
	t.Setenv("GOFLAGS", "")
	got, err := Bindings(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := find.HashFile(filepath.Join(lib, "libgarden.so"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Fact{
		{"example.com/app/garden", "libgarden.so of plants 1.2\n" + filepath.Join(lib, "libgarden.so") + "\nsha256 " + hash + " (the bindings are of 00)"},
		{"example.com/app/garden", "libsoil.so\nnot found without options of Load"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got, err := Bindings(context.Background(), t.TempDir()); err != nil || got != nil {
		t.Errorf("without a module: %v, %v", got, err)
	}
}
