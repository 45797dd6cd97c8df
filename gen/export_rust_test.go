package gen

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestExports_Rust compares the crate for the package with every form of func.
func TestExports_Rust(t *testing.T) {
	x, err := wide()
	if err != nil {
		t.Fatal(err)
	}
	c := ExportConfig{Prefix: "my.wide.", ToolVersion: "v0.0.0-test", Version: "1.2rc3"}
	files, err := x.Rust(c)
	if err != nil {
		t.Fatal(err)
	}
	got := &txtar.Archive{Comment: []byte("The crate for the package wide, without src/library.rs; go test ./gen -update writes it.\n")}
	for _, f := range files {
		if f.Path != "src/library.rs" { // every crate has the same
			got.Files = append(got.Files, txtar.File{Name: f.Path, Data: f.Content})
		}
	}
	compareGolden(t, "wide.rust.golden", got)
	if again, err := x.Rust(c); err != nil || cmp.Diff(files, again) != "" {
		t.Error("the second run differs", err)
	}
	if _, err := x.Rust(ExportConfig{Name: "a-b"}); err == nil {
		t.Error("a name with a hyphen was accepted")
	}
}
