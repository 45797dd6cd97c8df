package project

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// known has a folder for each known package: its configuration, the other files that a
// program with it needs, and the templates of a main and of a test.
//
//go:embed known
var known embed.FS

// KnownPackage is a Python package for which init has a program.
type KnownPackage struct{ files fs.FS }

// KnownNames lists the packages for which init has a program.
func KnownNames() []string { return entries(folder(".")) }

// Known returns the package with that name, or nil.
func Known(name string) *KnownPackage {
	if !slices.Contains(KnownNames(), name) {
		return nil
	}
	return &KnownPackage{files: folder(name)}
}

// folder returns a folder below known.
func folder(name string) fs.FS {
	f, err := fs.Sub(known, path.Join("known", name))
	if err != nil {
		panic(err) // the path is valid
	}
	return f
}

// Config returns the configuration that init writes.
func (k *KnownPackage) Config() (*Config, error) {
	data, err := fs.ReadFile(k.files, ConfigName)
	if err != nil {
		return nil, err
	}
	c, err := parseConfig(ConfigName, data)
	if err != nil {
		return nil, err
	}
	c.beside = k.files
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
		text, err := fs.ReadFile(k.files, entry)
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
