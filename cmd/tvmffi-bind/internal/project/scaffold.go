package project

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"go/format"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
)

//go:embed templates
var templates embed.FS

// templateEnd ends the names of templates.
const templateEnd = ".tmpl"

// The files of a program.
const (
	MainName = "main.go"
	TestName = "main_test.go"
	// ExampleName is the file of an example in the generated package.
	ExampleName = "example_test.go"
)

// Scaffold is the data for the templates of a new program.
type Scaffold struct {
	Package string   // name of the generated package
	Import  string   // import path of the generated package
	Files   []string // the libraries, as the user named them; none if they are in a Python package
	Call    *Call
	Such    *Call  // a function that could be called, if Call is nil
	Output  string // what the example prints, "" if that is not known
	Lacks   string // libraries that this machine lacks, so that the program cannot run here
}

// Runtime returns the import path of package tvmffi.
func (Scaffold) Runtime() string { return console.ModulePath + "/runtime" }

// Options returns the arguments of Load for a program that runs in a folder below the module.
func (s Scaffold) Options(up string) string {
	var options []string
	for _, file := range s.Files {
		if !filepath.IsAbs(file) {
			file = path.Join(up, file)
			if up == "" && !strings.HasPrefix(file, "../") {
				file = "./" + file
			}
		}
		options = append(options, fmt.Sprintf("tvmffi.WithFile(%q)", file))
	}
	if len(options) > 1 {
		return "\n" + strings.Join(options, ",\n") + ",\n"
	}
	return strings.Join(options, "")
}

// LibraryProgram returns a main for the bindings of any library, its test, and an example.
func LibraryProgram(data Scaffold) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range []string{MainName, TestName, ExampleName} {
		text, err := render(templates, "templates/library/"+name+templateEnd, data)
		if err != nil {
			return nil, err
		}
		files[name] = text
	}
	return files, nil
}

// DemoProgram returns the main of the demo.
func DemoProgram(data Scaffold) ([]byte, error) {
	return render(templates, "templates/demo/"+MainName+templateEnd, data)
}

// render executes the template at a path of files and formats the Go file that comes out.
func render(files fs.FS, name string, data Scaffold) ([]byte, error) {
	t, err := template.New(path.Base(name)).Option("missingkey=error").ParseFS(files, name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return nil, err
	}
	out, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", name, err)
	}
	return out, nil
}

// Call is a call of a generated function with sample arguments. The function returns a value and an error.
type Call struct {
	Package string   // the name of the Go package of the function, "" for the one of the program
	Import  string   // the import path of Package
	Func    string   // Go name
	Args    []string // Go expressions
	Comment string   // the first line of its doc comment
}

// Arguments returns the arguments as they are written in the call.
func (c *Call) Arguments() string { return strings.Join(c.Args, ", ") }

// UsesRuntime reports whether the call has names of package tvmffi.
func (c *Call) UsesRuntime() bool {
	return c != nil && slices.ContainsFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, "tvmffi.") })
}

// Callee returns the function as it is written in the call.
func (s Scaffold) Callee() string {
	return cmp.Or(s.Alias(), s.Call.Package, s.Package) + "." + s.Call.Func
}

// Hint names a function that could be called, "" if there is none.
func (s Scaffold) Hint() string {
	if s.Such == nil {
		return ""
	}
	return ", such as " + cmp.Or(s.Such.Package, s.Package) + "." + s.Such.Func
}

// Alias returns another name for the package of the call, if the program has something else of that name.
func (s Scaffold) Alias() string {
	if slices.Contains([]string{s.Package, "fmt", "log", "tvmffi", "main", "run", "err", "result"}, s.Call.Package) {
		return "of" + s.Call.Package
	}
	return ""
}
