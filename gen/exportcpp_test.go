package gen

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// form is the name of the header that all libraries share, by its text.
var form = regexp.MustCompile(`form_[0-9a-f]{8}`)

// TestExports_cpp compares the C++ face of a package with every form of func.
func TestExports_cpp(t *testing.T) {
	x, err := wide()
	if err != nil {
		t.Fatal(err)
	}
	c := ExportConfig{Prefix: "my.wide.", ToolVersion: "v0.0.0-test", Version: "1.2.3"}
	files, err := x.Cpp(c)
	if err != nil {
		t.Fatal(err)
	}
	got := &txtar.Archive{Comment: []byte("The C++ face of the package wide; go test ./gen -update writes it.\n")}
	for _, f := range files {
		if !IsGenerated(f.Content) {
			t.Errorf("%s does not say that it is generated", f.Path)
		}
		if f.Path == "include/tvmffi_go.hpp" { // the same for all libraries
			continue
		}
		got.Files = append(got.Files, txtar.File{Name: f.Path, Data: form.ReplaceAll(f.Content, []byte("form_x"))})
	}
	compareGolden(t, "wide.cpp.golden", got)
	again, err := x.Cpp(c)
	if err != nil || cmp.Diff(files, again) != "" {
		t.Error("the second run differs", err)
	}
	if _, err := x.Cpp(ExportConfig{Name: "a-b"}); err == nil || !strings.Contains(err.Error(), `name: "a-b" is not a valid library name`) {
		t.Error(err)
	}
}
