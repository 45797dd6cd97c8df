package archtest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestMistakes_compiler: who passes a slice or a map of Go where a container belongs
// reads what to do in the error of the compiler. Object types cannot be converted.
func TestMistakes_compiler(t *testing.T) {
	const text = `package mistakes

import (
	"%[1]s/generated/testing"
	tvmffi "%[1]s/runtime"
	"%[1]s/runtime/define"
)

func array(tvmffi.ArrayArg[int64])            {}
func objects(tvmffi.ArrayLike[*tvmffi.Tensor]) {}
func table(tvmffi.MapArg[string, int64])      {}
func shared(tvmffi.MapLike[string, any])      {}

func _() {
	array([]int64{1})
	objects([]*tvmffi.Tensor{})
	table(map[string]int64{})
	shared(map[string]any{})
	_ = (*tvmffi.Function)(new(tvmffi.Array[int64]))
	_ = (*tvmffi.Array[string])(new(tvmffi.Array[int64]))
	_ = (*tvmffi.Tensor)(new(testing.TestCompare))
	_ = (*testing.TestIntPair)(new(testing.TestCompare))
	_ = (*define.Instance[int])(new(define.Instance[string]))
	array(tvmffi.Of[int64](1))
	table(tvmffi.MapOf(map[string]int64{}))
}
`
	nativetest.StartsCompiler(t)
	root := repository(t)
	dir := t.TempDir()
	source, overlay := filepath.Join(dir, "mistakes.go"), filepath.Join(dir, "overlay.json")
	data, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, "internal", "archtest", "mistakes", "mistakes.go"): source}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{source: fmt.Sprintf(text, self), overlay: string(data)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "./internal/archtest/mistakes")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatal("slices and maps are taken for containers")
	}
	for _, want := range []string{
		"ArrayArg[int64] (missing method passSlicesWithOf)", "(missing method passSlicesByOf)",
		"MapArg[string, int64] (missing method passMapsWithMapOf)", "(missing method passMapsByMapOf)",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the compiler does not say %q:\n%s", want, out)
		}
	}
	if n := strings.Count(string(out), "cannot use"); n != 4 {
		t.Errorf("%d mistakes, want 4:\n%s", n, out)
	}
	if n := strings.Count(string(out), "cannot convert"); n != 5 {
		t.Errorf("%d refused conversions of object types, want 5:\n%s", n, out)
	}
}
