package project

import (
	"embed"
	"path"
	"strings"
)

// known has a folder for each known package: its configuration, the other files that a
// program with it needs, and the templates of a main and of a test.
//
//go:embed known
var known embed.FS

// KnownPackage is a Python package for which init has a program.
type KnownPackage struct{ name string }

// KnownNames lists the packages for which init has a program.
func KnownNames() []string {
	folders, err := known.ReadDir("known")
	if err != nil {
		panic(err) // it is part of this program
	}
	var names []string
	for _, f := range folders {
		names = append(names, f.Name())
	}
	return names
}

// Known returns the package with that name, or nil.
func Known(name string) *KnownPackage {
	for _, n := range KnownNames() {
		if n == name {
			return &KnownPackage{name: n}
		}
	}
	return nil
}

// Config returns the configuration that init writes.
func (k *KnownPackage) Config() (*Config, error) {
	data, err := known.ReadFile(path.Join("known", k.name, ConfigName))
	if err != nil {
		return nil, err
	}
	return parseConfig(ConfigName, data)
}

// FileNames lists what [KnownPackage.Files] returns.
func (k *KnownPackage) FileNames() []string {
	entries, err := known.ReadDir(path.Join("known", k.name))
	if err != nil {
		panic(err) // it is part of this program
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), templateEnd))
	}
	return names
}

// Files returns the files of a program for the bindings of k: the configuration and what
// belongs to it, a main and its test.
func (k *KnownPackage) Files(data Scaffold) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range k.FileNames() {
		file := path.Join("known", k.name, name)
		text, err := known.ReadFile(file)
		if err != nil {
			text, err = render(known, file+templateEnd, data)
		}
		if err != nil {
			return nil, err
		}
		files[name] = text
	}
	return files, nil
}
