package project

import (
	"slices"
)

// KnownPackage is a library of a Python package for which init has a program.
type KnownPackage struct {
	name      string // of the Python package and the Go package
	version   string // the one that the program was tested with
	library   string // path in the package
	prefix    string
	templates string // folder with main.go and main_test.go
}

func knownPackages() []KnownPackage {
	return []KnownPackage{{
		name:      "xgrammar",
		version:   "0.2.8",
		library:   "xgrammar/libxgrammar_bindings.so",
		prefix:    "xgrammar.tvm_ffi_binding",
		templates: "templates/xgrammar",
	}}
}

// Known returns the package with that name, or nil.
func Known(name string) *KnownPackage {
	all := knownPackages()
	i := slices.IndexFunc(all, func(k KnownPackage) bool { return k.name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// KnownNames lists the packages for which init has a program.
func KnownNames() []string {
	var names []string
	for _, k := range knownPackages() {
		names = append(names, k.name)
	}
	return names
}

// Config returns what init writes into tvmffi.yaml.
func (k *KnownPackage) Config() *Config {
	c := NewConfig(".", ConfigName)
	c.Package, c.Out = k.name, "./"+k.name
	c.Libraries = []LibrarySpec{{Package: k.name, Version: k.version, Path: k.library}}
	c.Prefixes = []string{k.prefix}
	return c
}

// Program returns a main for the bindings of k, and its test.
func (k *KnownPackage) Program(data Scaffold) (map[string][]byte, error) {
	return program(k.templates, data)
}
