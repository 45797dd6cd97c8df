package probe

import (
	"path/filepath"
	"slices"
	"strings"
)

// Sidecars returns the files beside a library of libs that a program loads for the devices of its machine, such as
// libtvm_runtime_cuda.so beside libtvm_runtime.so.
func Sidecars(libs []Library) (files []string) {
	for _, lib := range libs {
		stem, ok := strings.CutSuffix(lib.Path, "_runtime.so")
		if !ok {
			continue
		}
		found, _ := filepath.Glob(stem + "_runtime_*.so")
		for _, file := range found {
			if !slices.ContainsFunc(libs, func(l Library) bool { return l.Path == file }) {
				files = append(files, file)
			}
		}
	}
	return files
}
