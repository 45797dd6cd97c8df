package dynlib

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// Images returns the files of all libraries in the process, and of the executable.
func Images() []string {
	modules := make([]windows.Handle, 1024)
	var need uint32
	size := uint32(len(modules)) * uint32(unsafe.Sizeof(modules[0]))
	if err := windows.EnumProcessModules(windows.CurrentProcess(), &modules[0], size, &need); err != nil {
		return nil
	}
	var files []string
	for _, m := range modules[:min(need, size)/uint32(unsafe.Sizeof(modules[0]))] {
		if file := fileOfModule(m); file != "" {
			files = append(files, file)
		}
	}
	return files
}

func pathOf(h Handle) string { return fileOfModule(windows.Handle(h)) }
