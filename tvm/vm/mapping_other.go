//go:build !unix

package vm

import "os"

// mapFile reads a file.
func mapFile(path string) (*mapping, error) {
	b, err := os.ReadFile(path)
	return &mapping{bytes: b}, err
}
