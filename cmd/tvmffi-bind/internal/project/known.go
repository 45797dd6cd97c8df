package project

import (
	"embed"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// known has a folder for each known package: its configuration, the other files that a
// program with it needs, and the templates of a main and of a test.
//
//go:embed known shared
var known embed.FS

// shared lists the names files to which the items of a file in the folder shared belong too: what several packages
// say alike stands once. Items that have a name with their kind, such as "type:x", stay in one file with "x".
var shared = map[string][]string{
	"tvm.json":         {"apache-tvm/names.json", "tilelang/names.json"},
	"tvm_tirx.json":    {"apache-tvm/names.json", "tilelang/names.json", "apache-tvm-tirx/names.json"},
	"tirx.json":        {"apache-tvm/names.json", "apache-tvm-tirx/names.json"},
	"tvm_runtime.json": {"apache-tvm/runtime.json", "tilelang/names.json"},
}

// KnownPackage is a Python package for which init has a program.
type KnownPackage struct {
	name  string
	files fs.FS
}

// KnownNames lists the packages for which init has a program.
func KnownNames() []string { return entries(folder("known")) }

// Known returns the package with that name, or nil.
func Known(name string) *KnownPackage {
	if !slices.Contains(KnownNames(), name) {
		return nil
	}
	return &KnownPackage{name, folder("known/" + name)}
}

// folder returns a folder that this program holds.
func folder(name string) fs.FS {
	f, err := fs.Sub(known, name)
	if err != nil {
		panic(err) // the path is valid
	}
	return f
}

// read reads a file of the package, a names file with what other packages have alike.
func (k *KnownPackage) read(name string) ([]byte, error) {
	data, err := fs.ReadFile(k.files, name)
	if err != nil {
		return nil, err
	}
	for file, users := range shared {
		if !slices.Contains(users, k.name+"/"+name) {
			continue
		}
		part, err := known.ReadFile("shared/" + file)
		if err != nil {
			return nil, err
		}
		if data, err = joinNames(data, part); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// joinNames adds the items of a names file to another.
func joinNames(own, part []byte) ([]byte, error) {
	a, err := hints.Decode(own)
	if err != nil {
		return nil, err
	}
	b, err := hints.Decode(part)
	if err != nil {
		return nil, err
	}
	maps.Copy(a.Items, b.Items)
	return a.Encode()
}

// Config returns the configuration that init writes.
func (k *KnownPackage) Config() (*Config, error) {
	data, err := k.read(ConfigName)
	if err != nil {
		return nil, err
	}
	c, err := parseConfig(ConfigName, data)
	if err != nil {
		return nil, err
	}
	c.beside = k.read
	return c, nil
}

// FileNames lists what [KnownPackage.Files] returns.
func (k *KnownPackage) FileNames() []string {
	var names []string
	for _, e := range entries(k.files) {
		names = append(names, strings.TrimSuffix(e, templateEnd))
	}
	return names
}

// Files returns the files of a program for the bindings of k: the configuration and what
// belongs to it, a main and its test.
func (k *KnownPackage) Files(data Scaffold) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, entry := range entries(k.files) {
		name, template := strings.CutSuffix(entry, templateEnd)
		text, err := k.read(entry)
		if template {
			text, err = render(k.files, entry, data)
		}
		if err != nil {
			return nil, err
		}
		files[name] = text
	}
	return files, nil
}

// entries lists a folder of this program.
func entries(folder fs.FS) []string {
	found, err := fs.ReadDir(folder, ".")
	if err != nil {
		panic(err) // this program holds it
	}
	var names []string
	for _, e := range found {
		names = append(names, e.Name())
	}
	return names
}
