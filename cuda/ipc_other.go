//go:build !linux

package cuda

import (
	"os"
	"runtime"
)

func noFiles(what string) error {
	return valueError("%s: only Linux shares memory by files, this is %s", what, runtime.GOOS)
}

func newFile(name string, _ func() (uintptr, error)) (*os.File, error) { return nil, noFiles(name) }
