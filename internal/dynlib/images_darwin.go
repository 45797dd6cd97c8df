package dynlib

import "github.com/ebitengine/purego"

// Images returns the files of all libraries in the process, and of the executable. The file
// of a path may have been removed or replaced since.
func Images() []string {
	count, err := purego.Dlsym(purego.RTLD_DEFAULT, "_dyld_image_count")
	if err != nil {
		return nil
	}
	name, err := purego.Dlsym(purego.RTLD_DEFAULT, "_dyld_get_image_name")
	if err != nil {
		return nil
	}
	n, _, _ := purego.SyscallN(count)
	files := make([]string, 0, uint32(n))
	for i := range uintptr(uint32(n)) {
		// It is 0 if the image has gone since.
		if text, _, _ := purego.SyscallN(name, i); text != 0 {
			files = append(files, cString(text))
		}
	}
	return files
}

// pathOf returns "": the loader does not say.
func pathOf(Handle) string { return "" }
