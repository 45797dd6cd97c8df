package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"golang.org/x/mod/modfile"
)

// importPath is the import path of the package in dir, which need not exist yet.
func importPath(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		data, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			if at == filepath.Dir(at) {
				return "", fmt.Errorf("the folder %s lies in no Go module: run \"go mod init NAME\" first", shown(dir))
			}
			continue
		}
		if err != nil {
			return "", err
		}
		module := modfile.ModulePath(data)
		if module == "" {
			return "", fmt.Errorf("%s names no module", shown(filepath.Join(at, "go.mod")))
		}
		rel, err := filepath.Rel(at, dir)
		if err != nil {
			return "", err
		}
		return path.Join(module, filepath.ToSlash(rel)), nil
	}
}
