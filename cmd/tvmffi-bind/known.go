package main

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"path"
	"slices"
	"text/template"

	"github.com/tvmffi-go/tvmffi/internal/bindtool/console"
)

//go:embed templates
var templates embed.FS

// knownPackage is a library of a Python package for which init has a program.
type knownPackage struct {
	name      string // of the Python package and the Go package
	version   string // the one that the program was tested with
	library   string // path in the package
	prefix    string
	templates string // folder with main.go and main_test.go
}

func knownPackages() []knownPackage {
	return []knownPackage{{
		name:      "xgrammar",
		version:   "0.2.8",
		library:   "xgrammar/libxgrammar_bindings.so",
		prefix:    "xgrammar.tvm_ffi_binding",
		templates: "templates/xgrammar",
	}}
}

func known(name string) *knownPackage {
	all := knownPackages()
	i := slices.IndexFunc(all, func(k knownPackage) bool { return k.name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

func knownNames() []string {
	var names []string
	for _, k := range knownPackages() {
		names = append(names, k.name)
	}
	return names
}

func (k *knownPackage) config() *config {
	return &config{
		Package: k.name, Out: "./" + k.name, dir: ".", file: configName,
		Libraries: []librarySpec{{Package: k.name, Version: k.version, Path: k.library}},
		Prefixes:  []string{k.prefix},
	}
}

// scaffold is what the templates of a new program see.
type scaffold struct {
	Runtime string // import path of package tvmffi
	Package string // name of the generated package
	Import  string // import path of the generated package
	File    string // the library, as the user named it; "" if it is in a Python package
	Call    *sampleCall
}

// render executes the template at a path and formats the Go file that comes out.
func render(name string, data scaffold) ([]byte, error) {
	t, err := template.New(path.Base(name)).Option("missingkey=error").ParseFS(templates, name)
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

// program writes main and its test.
func (s *start) program(b *bindings) (map[string][]byte, error) {
	data := scaffold{
		Runtime: console.ModulePath + "/runtime",
		Package: s.config.Package,
		Import:  b.importPath,
	}
	folder := "templates/library"
	if s.known != nil {
		folder = s.known.templates
	} else {
		call, err := chooseCall(b.files)
		if err != nil {
			return nil, err
		}
		data.File, data.Call = s.config.Libraries[0].File, call
	}
	files := map[string][]byte{}
	for _, name := range []string{mainName, testName} {
		text, err := render(path.Join(folder, name+".tmpl"), data)
		if err != nil {
			return nil, err
		}
		files[name] = text
	}
	return files, nil
}
