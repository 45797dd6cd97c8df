package project

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"io/fs"
	"path"
	"path/filepath"
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

// Call is a call of a generated function with sample arguments.
type Call struct {
	Func   string   // Go name
	Args   []string // Go expressions
	Makes  []Make   // the objects that the arguments need, in order
	Result bool     // it returns a value beside the error
	// Callable says that the value is a Go func, which fmt.Println would not call.
	Callable bool
	Comment  string // the first line of its doc comment
}

// Make is an object that an argument needs, made by its constructor.
type Make struct {
	Var  string
	Call *Call
}

// Arguments returns the arguments as they are written in the call.
func (c *Call) Arguments() string { return strings.Join(c.Args, ", ") }
