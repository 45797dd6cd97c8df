package probe

import (
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/symbols"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

func TestCompareVersions(t *testing.T) {
	sorted := []string{"0.1rc1", "0.1", "0.1.post1", "0.1.1", "0.1.9", "0.1.14", "0.1.14.post1", "0.1.14.post2", "0.2"}
	for i, a := range sorted {
		for j, b := range sorted {
			if got := compareVersions(a, b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%s, %s: %d", a, b, got)
			}
		}
	}
	if compareVersions("0.1", "0.1.0") != 0 {
		t.Error("0.1 is 0.1.0")
	}
}

func TestSatisfies(t *testing.T) {
	for _, c := range []struct {
		specifiers string
		fit        []string
	}{
		{"==0.1.12", []string{"0.1.12"}},
		{"==0.1.*", []string{"0.1.9", "0.1.12", "0.1.14.post1"}},
		{"!=0.1.*", []string{"0.2"}},
		{">=0.1.11,<0.1.13", []string{"0.1.12"}},
		{">0.1.12,<=0.2,!=0.1.14.post1", []string{"0.2"}},
		{"~=0.1.12", []string{"0.1.12", "0.1.14.post1"}},
		{"0.1.12", nil},
		{"=>0.1", nil},
	} {
		var fit []string
		for _, v := range []string{"0.1.9", "0.1.12", "0.1.14.post1", "0.2"} {
			if satisfies(v, c.specifiers) {
				fit = append(fit, v)
			}
		}
		if !slices.Equal(fit, c.fit) {
			t.Errorf("%s: %v, want %v", c.specifiers, fit, c.fit)
		}
	}
}

// TestCoreFor: of the known releases the newest that a wheel allows is taken, and none where it asks for none.
func TestCoreFor(t *testing.T) {
	t.Setenv("TVMFFI_CACHE", t.TempDir())
	for i, c := range []struct{ requires, version string }{
		{"", ""},
		{"Requires-Dist: numpy>=2\nRequires-Dist: apache-tvm-ffi\n", ""},
		{"Requires-Dist: Apache_TVM.ffi (>=0.1.2,<0.1.10)\n", "0.1.9"},
		{"Requires-Dist: apache-tvm-ffi>=0.1.2; extra == 'gpu'\n", ""},
		{"\nRequires-Dist: apache-tvm-ffi>=0.1.2,<0.1.10\n", ""}, // in the description
		{"Requires-Dist: apache-tvm-ffi>=0.1.2,<0.2\n", wheel.DefaultVersion},
	} {
		file := wheelFile(t, fmt.Sprintf("sample-1.%d-py3-none-any.whl", i), map[string]string{
			"sample.dist-info/METADATA": "Metadata-Version: 2.1\nName: sample\n" + c.requires})
		dir, err := wheel.Take(t.Context(), file, 0)
		if err != nil {
			t.Fatal(err)
		}
		version := ""
		versions, err := offline(io.Discard).coresFor(t.Context(), []wheel.Dir{dir})
		if len(versions) > 0 {
			version = versions[0]
		}
		if err != nil || version != c.version {
			t.Errorf("%q: %q, %v, want %q first", c.requires, versions, err, c.version)
		}
	}
}

// TestLibrariesIn_elsewhere: the error about a wheel for another platform says which one it is for.
func TestLibrariesIn_elsewhere(t *testing.T) {
	t.Setenv("TVMFFI_CACHE", t.TempDir())
	data, err := os.ReadFile(nativetest.Library(t))
	if err != nil {
		t.Fatal(err)
	}
	data[18], data[19] = byte(elf.EM_S390), 0 // the machine
	dir, err := wheel.Take(t.Context(), wheelFile(t, "sample-1.0-py3-none-any.whl", map[string]string{"sample/lib.so": string(data)}), 0)
	if err != nil {
		t.Fatal(err)
	}
	const want = "this wheel of sample 1.0 is for another platform: lib.so is built for linux/s390x and cannot be loaded on "
	if _, err := librariesIn(dir); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s...", err, want)
	}
}

// TestLibrariesIn_python: the error about a package without libraries names a document of this repository.
func TestLibrariesIn_python(t *testing.T) {
	t.Setenv("TVMFFI_CACHE", t.TempDir())
	dir, err := wheel.Take(t.Context(), wheelFile(t, "sample-1.0-py3-none-any.whl", map[string]string{"sample/kernels.py": "import cutlass\n"}), 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = librariesIn(dir)
	document := regexp.MustCompile(`docs/\w+\.md`).FindString(fmt.Sprint(err))
	if err == nil || !strings.Contains(err.Error(), " is Python without libraries: ") || document == "" {
		t.Fatal(err)
	}
	root, err := nativetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, document))
	if err != nil || !strings.Contains(string(text), "export_to_c") || !strings.Contains(string(text), "Triton") {
		t.Errorf("%s says nothing of such kernels: %v", document, err)
	}
}

// TestInOrder has a library that needs two others, one by its file name, and a circle.
func TestInOrder(t *testing.T) {
	lib := func(name, id string, needed ...string) foundLibrary {
		return foundLibrary{symbols.File{Name: name, ID: id, Needed: needed}, "lib/" + name}
	}
	all := []foundLibrary{
		lib("a.so", "", "libb.so.1", "c.so", "libc.so.6"), lib("b.so", "libb.so.1", "c.so"), lib("c.so", ""),
		lib("x.so", "", "y.so"), lib("y.so", "", "x.so"),
	}
	var names string
	for _, f := range inOrder(all) {
		names += f.Name + " "
	}
	if names != "c.so b.so a.so x.so y.so " {
		t.Error(names)
	}
}
