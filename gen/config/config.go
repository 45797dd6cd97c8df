// Package config holds what can be said about the bindings of a library. A key of tvmffi.yaml that changes what is
// generated is a field of [Choices] and of nothing else: package gen and its stages read the field, and package project of the
// command reads the key.
package config

import "github.com/tvmffi-go/tvmffi/schema/hints"

// Choices are what the user chooses. Their YAML keys are those of tvmffi.yaml.
type Choices struct {
	// Prefixes are namespaces to bind: "garden" stands for everything whose name
	// starts with "garden.".
	Prefixes []string `yaml:"prefixes,omitempty"`
	// Root is the namespace that becomes the root package. It defaults to the only
	// prefix or, if there are several, to the longest namespace that all bound items
	// have in common.
	Root string `yaml:"root,omitempty"`
	// Split says whether sub-namespaces become sub-packages; nil means that they do. Otherwise
	// everything is in one package, under longer names.
	Split *bool `yaml:"split,omitempty"`
	// Packages maps namespaces to folders below the output root, "." for the root
	// itself. A namespace below one of them has a folder below that folder. Several
	// namespaces may have one folder. A namespace that is not listed has the folder of
	// its name.
	Packages map[string]string `yaml:"packages,omitempty"`
	// Rename maps registry names to Go names: "garden.water" is a function,
	// "garden.Rose" a type and "garden.Rose.prune" a member. If two items have one
	// name, put the kind before it: "type:garden.Rose". An entry that matches
	// nothing is an error.
	Rename map[string]string `yaml:"rename,omitempty"`
	// Functions holds what the user knows about items, by registry names as in Rename or by
	// patterns in which * stands for any text: names, types and defaults of parameters, the
	// type of the result, enums, documentation, and a Go name. An entry that matches nothing, that does
	// not fit the signature, or that contradicts a type of the schema is an error.
	Functions map[string]hints.Item `yaml:"functions,omitempty"`
	// Enums is the enums that Functions mentions, by name. They precede enums of names files.
	Enums map[string]hints.Enum `yaml:"enums,omitempty"`
	// Skip lists the registry names to leave out, written as in Rename.
	Skip []string `yaml:"skip,omitempty"`
	// External maps the keys of types that other packages own to their import paths.
	// A dot and the Go name follow the path if the name is not the usual one. The key
	// "garden.*" stands for the types of a namespace and of those below it, and "*" for
	// all, as far as the package binds them. Then /... may follow the path, for the
	// packages below it.
	External map[string]string `yaml:"external,omitempty"`
}

// Splits reports whether sub-namespaces become sub-packages.
func (c *Choices) Splits() bool { return c.Split == nil || *c.Split }

// Config describes what to generate.
type Config struct {
	Choices

	// Package is the name of the root package.
	Package string
	// ImportPath is the import path of the output root.
	ImportPath string
	// Libraries are the libraries of the schema to bind, by file name, with their
	// module exports. If both Prefixes and Libraries are empty, the libraries with
	// the role bound are bound.
	Libraries []string
	// Names are names files. They say the same as Functions, which precedes them. Items,
	// names and types in them that do not fit are left out and reported. A default or an enum
	// that does not fit its parameter is an error.
	Names []hints.File
	// Imported maps the keys that External stands for to import paths with Go names, as
	// the function Imported of package gen returns them.
	Imported map[string]string
	// PackageNames maps import paths of External and Imported to package names, as the
	// function PackageNames of package gen returns them. An import of a package without an entry has an alias.
	PackageNames map[string]string
	// UserNames holds the names that the consumer declares, per directory below the
	// output root ("." for the root itself), in the form that the function UserNames
	// of package gen returns. They are not generated again.
	UserNames map[string][]string
	// ToolVersion is the version in the header of every file; it defaults to (devel).
	ToolVersion string
	// Before are the Go names of an earlier run, from its report. An item keeps its name, and no name
	// moves to another item as long as its own exists. Nil if there was none.
	Before *GoNames
}

// GoNames says what the exported names of generated packages stand for.
type GoNames struct {
	// Root is the namespace of the root package.
	Root string `json:"root"`
	// Packages maps directories below the output root, "." for the root, and the Go names there to
	// items. A member is written as Type.Member. An item is the kind and the registry name, such as
	// "function:garden.water". A setter, which derives from a field, is
	// "setter of field:garden.Rose.color".
	Packages map[string]map[string]string `json:"packages"`
}
