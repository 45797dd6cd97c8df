package probe

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/find"
)

// Sidecars returns the files beside a library of libs that a program loads for the devices of its machine, such as
// libtvm_runtime_cuda.so beside libtvm_runtime.so.
func Sidecars(libs []Library) (files []string) {
	for _, lib := range libs {
		if !TakesSidecars(lib) {
			continue
		}
		end := filepath.Ext(lib.Path)
		entries, _ := os.ReadDir(filepath.Dir(lib.Path))
		for _, entry := range entries {
			file := filepath.Join(filepath.Dir(lib.Path), entry.Name())
			if strings.HasPrefix(file, strings.TrimSuffix(lib.Path, end)+"_") && filepath.Ext(file) == end && !slices.ContainsFunc(libs, func(l Library) bool { return l.Path == file }) {
				files = append(files, file)
			}
		}
	}
	return files
}

// TakesSidecars reports whether a library is a runtime beside which libraries for devices may lie: libtvm_runtime.so,
// tvm_runtime.dll on Windows.
func TakesSidecars(lib Library) bool {
	end := filepath.Ext(lib.Path)
	return end != "" && strings.HasSuffix(lib.Path, "_runtime"+end)
}

// Brought returns the libraries that the wheels of libs bring for them in folders NAME.libs, on Windows: beside a copied library
// there is no such folder, and its own is the first in which Windows looks. Libraries of Linux name their folder themselves.
func Brought(libs []Library) (all []Library, err error) {
	for _, lib := range libs {
		if !strings.EqualFold(filepath.Ext(lib.Path), ".dll") {
			continue
		}
		for _, dir := range dynlib.WheelFolders(lib.Path) {
			entries, err := os.ReadDir(dir)
			if err != nil {
				return nil, err
			}
			for _, entry := range entries {
				file := filepath.Join(dir, entry.Name())
				known := func(l Library) bool { return l.Path == file }
				if !strings.EqualFold(filepath.Ext(file), ".dll") || slices.ContainsFunc(libs, known) || slices.ContainsFunc(all, known) {
					continue
				}
				identity := lib.Identity
				identity.File, identity.PathInPackage = entry.Name(), path.Join(filepath.Base(dir), entry.Name())
				if identity.SHA256, err = find.HashFile(file); err != nil {
					return nil, err
				}
				all = append(all, Library{Path: file, Identity: identity})
			}
		}
	}
	return all, nil
}
