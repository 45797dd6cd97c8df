package face

import "strings"

// A File is a file of a face. Path is relative to the folder of the face, with forward slashes.
type File struct {
	Path    string
	Content []byte
}

// Claim returns a name that is not in taken, and adds it there: underscores follow a name that is.
func Claim(taken map[string]bool, name string) string {
	for taken[name] {
		name += "_"
	}
	taken[name] = true
	return name
}

// Words returns the words of a text as a set.
func Words(text string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(text) {
		set[word] = true
	}
	return set
}
