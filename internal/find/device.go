package find

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// Device returns an error if path does not lead to a file because Windows takes its name for a device. Such names are NUL, CON and
// on most systems aux.dll, in any folder. It is for a path that cannot be read, or whose file is not a regular one.
func Device(path string) error {
	base := filepath.Base(path)
	reserved := base != "." && base != ".." && base != `\` && !filepath.IsLocal(base)
	if runtime.GOOS == "windows" && (reserved || strings.HasPrefix(path, `\\.\`)) { // filepath.Abs writes the latter
		return fmt.Errorf("%s: Windows takes this name for a device: give the file another name", path)
	}
	return nil
}
