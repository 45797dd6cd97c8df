package native_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/native"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestBuildObjects compiles without the linker, keeps the object files, and links them
// afterwards.
func TestBuildObjects(t *testing.T) {
	compiles(t)
	dir := t.TempDir()
	write := func(name, value string) string {
		t.Helper()
		file := filepath.Join(dir, name+".cc")
		if err := os.WriteFile(file, []byte(exporting("", name, value)), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	two, three, four := write("two", "2"), write("three", "3"), write("four", "4")
	build := func(c native.Code, want int) []string {
		t.Helper()
		var log bytes.Buffer
		c.Name, c.Log = "apart", &log
		paths, err := native.BuildObjects(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(log.String(), " -c "); got != want || strings.Contains(log.String(), "-shared") {
			t.Errorf("%d compilations, want %d and no linking:\n%s", got, want, &log)
		}
		return paths
	}
	code := native.Code{CPP: []string{exporting("", "one", "1")}, Files: []string{two, three}}
	objects := build(code, 3)
	if again := build(code, 0); !reflect.DeepEqual(again, objects) || len(objects) != 3 {
		t.Fatalf("objects %q, then %q", objects, again)
	}
	files := native.Code{Files: code.Files} // without the text, whose headers take long
	damaged := build(files, 2)
	if err := os.Truncate(damaged[0], 0); err != nil {
		t.Fatal(err)
	}
	build(files, 2)

	// An object file among the files is not compiled, and keeps its place.
	mixed := native.Code{Files: []string{four, objects[0], three, objects[1]}}
	some := build(mixed, 2)
	if len(some) != 4 || some[1] != objects[0] || some[3] != objects[1] {
		t.Errorf("objects %q, want %q second and %q last", some, objects[0], objects[1])
	}
	library, err := native.Build(t.Context(), native.Code{Name: "apart", Files: some})
	if err != nil {
		t.Fatal(err)
	}
	m, err := tvmffi.LoadModule(library)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	for i, name := range []string{"one", "two", "three", "four"} {
		if v := call(t, m, name); v != any(int64(i+1)) {
			t.Errorf("%s() is %v", name, v)
		}
	}
}
