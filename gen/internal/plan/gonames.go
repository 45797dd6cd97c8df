package plan

// GoNames says what the exported names of generated packages stand for.
type GoNames struct {
	// Root is the namespace of the root package.
	Root string `json:"root"`
	// Packages maps directories below the output root, "." for the root, and the Go names there to
	// items. A member is written as Type.Member. An item is the kind and the registry name, such as
	// "function:garden.water". What derives from it is "setter of field:garden.Rose.color".
	Packages map[string]map[string]string `json:"packages"`
}

// A Meaning is a Go name that stands for another item than before.
type Meaning struct {
	Package string `json:"package"` // the directory below the output root, "." for the root
	GoName  string `json:"go_name"`
	Was     string `json:"was"` // the item, as in GoNames
	Now     string `json:"now"`
	// Gone is true if the library no longer has the item that the name stood for.
	Gone bool `json:"gone,omitempty"`
}
