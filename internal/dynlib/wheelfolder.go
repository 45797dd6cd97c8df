package dynlib

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// WheelFolders returns the folders with the libraries that a wheel for Windows brings for the library at path: NAME.libs,
// beside the packages of the wheel, where delvewheel puts them. Python's packages tell Windows about that folder when they are
// imported. A folder with many packages has many of these folders: the one counts whose RECORD lists the library. The search ends
// at the nearest folder of packages above the library, and never looks into the root of a drive, where anyone may make folders.
func WheelFolders(path string) (folders []string) {
	const most = 8 // folders between the library and the packages
	root := filepath.Dir(path)
	for range most {
		parent := filepath.Dir(root)
		entries, err := os.ReadDir(root)
		if err != nil || parent == root {
			return folders
		}
		packages := false
		for _, entry := range entries {
			packages = packages || filepath.Ext(entry.Name()) == ".dist-info"
			name, ok := strings.CutSuffix(entry.Name(), ".libs")
			if ok && entry.IsDir() && records(root, name, path) {
				folders = append(folders, filepath.Join(root, entry.Name()))
			}
		}
		if packages {
			return folders
		}
		root = parent
	}
	return folders
}

// records reports whether the distribution with that name in a folder of packages has the file.
func records(root, name, file string) bool {
	rel, err := filepath.Rel(root, file)
	if err != nil {
		return false
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return false
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), name+"-") || filepath.Ext(entry.Name()) != ".dist-info" {
			continue
		}
		record, err := os.ReadFile(filepath.Join(root, entry.Name(), "RECORD"))
		if err == nil && bytes.Contains(append([]byte("\n"), record...), []byte("\n"+filepath.ToSlash(rel)+",")) {
			return true
		}
	}
	return false
}
