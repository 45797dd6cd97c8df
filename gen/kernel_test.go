package gen

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestKernels runs the cases below testdata/kernels: kernels.json is the list of
// kernels, then comes the file that it must give, or error.txt.
func TestKernels(t *testing.T) {
	paths, err := filepath.Glob("testdata/kernels/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			c := KernelConfig{Package: "kernels", ToolVersion: "v0.0.0-test"}
			d := json.NewDecoder(bytes.NewReader(archive.Files[0].Data))
			d.DisallowUnknownFields()
			if err := d.Decode(&c.Kernels); err != nil {
				t.Fatal(err)
			}
			got := []txtar.File{archive.Files[0]}
			files, err := Kernels(c)
			if err != nil {
				got = append(got, txtar.File{Name: "error.txt", Data: []byte(err.Error() + "\n")})
			}
			for _, f := range files {
				got = append(got, txtar.File{Name: f.Path, Data: f.Content})
			}
			if *update {
				archive.Files = got
				if err := os.WriteFile(path, txtar.Format(archive), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(archive.Files, got); diff != "" {
				t.Errorf("output differs from the case (-want +got); run with -update if it is meant to:\n%s", diff)
			}
		})
	}
}

func TestKernelErrorsHaveAPlace(t *testing.T) {
	_, err := Kernels(KernelConfig{Package: "kernels", Kernels: []Kernel{{
		Spec: "f(x: Tensor([n], float32))", Images: []string{"f.ptx"}, Grid: []string{"n", "m"}, Block: []string{"32"},
	}}})
	var e *KernelError
	if !errors.As(err, &e) || e.Kernel != 0 || e.Key != "grid" || e.Item != 1 {
		t.Errorf("%#v, want a KernelError of kernels[0].grid[1]", err)
	}
	if _, err := Kernels(KernelConfig{Package: "main"}); err == nil || !strings.Contains(err.Error(), "package: \"main\" cannot be") || !strings.Contains(err.Error(), "kernels: there are none") {
		t.Errorf("%v, want errors of package and kernels", err)
	}
}
