package project

import (
	"strings"
	"testing"
)

// TestLibraryProgram: go vet refuses an import that is not used, and an example of what another package has.
func TestLibraryProgram(t *testing.T) {
	for _, c := range []struct {
		data              Scaffold
		main, example, no string
	}{
		{Scaffold{Files: []string{"lib/a.so"}, Call: &Call{Func: "Adder", Args: []string{"1"}}},
			"result, err := garden.Adder(1)", "func ExampleAdder() {\n\tif err := garden.Load(tvmffi.WithFile(\"../lib/a.so\"))", "loaded"},
		{Scaffold{Call: &Call{Package: "bed", Import: "example.com/garden/bed", Func: "Size", Args: []string{"tvmffi.Of(1, 2)"}}},
			"\"example.com/garden/bed\"\n)", "func Example() {\n\tif err := garden.Load(); err", "loaded"},
		{Scaffold{Call: &Call{Package: "log", Import: "example.com/garden/log", Func: "Level"}}, "oflog \"example.com/garden/log\"", "oflog.Level()", "tvmffi"},
		{Scaffold{Files: []string{"./a.so", "/b.so"}}, "Load(\n\t\ttvmffi.WithFile(\"./a.so\"),\n\t\ttvmffi.WithFile(\"/b.so\"),\n\t)", "func Example() {", "Output"},
		{Scaffold{Output: "42", Call: &Call{Func: "Area"}}, "garden.Load()", "fmt.Println(result)\n\t// Output: 42\n", "runtime"},
		{Scaffold{Such: &Call{Package: "bed", Func: "Size"}}, "here, such as bed.Size.", "loaded", "tvmffi"},
		{Scaffold{Lacks: "libcuda.so.1"}, "garden.Load()", "garden.Load()", "Output"},
	} {
		c.data.Package, c.data.Import = "garden", "example.com/garden"
		files, err := LibraryProgram(c.data)
		if err != nil {
			t.Fatal(err)
		}
		main, example, test := string(files[MainName]), string(files[ExampleName]), string(files[TestName])
		if !strings.Contains(main, c.main) || !strings.Contains(example, c.example) || strings.Contains(main+example, c.no) {
			t.Errorf("%+v:\n%s\n%s", c.data, main, example)
		}
		if strings.Contains(test, `"libcuda.so.1"`) != (c.data.Lacks != "") || strings.Contains(test, "Load(") {
			t.Errorf("%+v:\n%s", c.data, test)
		}
	}
}
