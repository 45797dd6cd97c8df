package probe

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Sidecars returns the files beside a library of libs that a program loads for the devices of its machine, such as
// libtvm_runtime_cuda.so beside libtvm_runtime.so.
func Sidecars(libs []Library) (files []string) {
	for _, lib := range libs {
		end := filepath.Ext(lib.Path) // tvm_runtime.dll on Windows
		stem, ok := strings.CutSuffix(lib.Path, "_runtime"+end)
		if !ok || end == "" {
			continue
		}
		entries, _ := os.ReadDir(filepath.Dir(stem))
		for _, entry := range entries {
			file := filepath.Join(filepath.Dir(stem), entry.Name())
			if strings.HasPrefix(file, stem+"_runtime_") && filepath.Ext(file) == end && !slices.ContainsFunc(libs, func(l Library) bool { return l.Path == file }) {
				files = append(files, file)
			}
		}
	}
	return files
}
