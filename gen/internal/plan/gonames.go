package plan

// A Meaning is a Go name that stands for another item than before.
type Meaning struct {
	Package string `json:"package"` // the directory below the output root, "." for the root
	GoName  string `json:"go_name"`
	Was     string `json:"was"` // the item, as in GoNames
	Now     string `json:"now"`
	// Gone is true if the library no longer has the item that the name stood for.
	Gone bool `json:"gone,omitempty"`
}
