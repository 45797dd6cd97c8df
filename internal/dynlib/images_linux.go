package dynlib

import (
	"os"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Images returns the files of all shared libraries in the process, and of the executable.
// The file of a path may have been removed or replaced since.
// It returns nil where the system does not say.
func Images() []string {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil
	}
	return imagesIn(string(maps))
}

// imagesIn lists the files of the mappings that hold code. A line is
// "7f1c00-7f1d00 r-xp 00001000 08:01 1234   /path of the file".
func imagesIn(maps string) []string {
	var files []string
	for line := range strings.Lines(maps) {
		if fields := strings.Fields(line); len(fields) < 6 || !strings.Contains(fields[1], "x") {
			continue
		}
		at := strings.IndexByte(line, '/')
		if at < 0 {
			continue // [vdso]
		}
		file := strings.TrimSuffix(strings.TrimSuffix(line[at:], "\n"), " (deleted)")
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files
}

var dlinfo = sync.OnceValue(func() uintptr {
	address, _ := purego.Dlsym(purego.RTLD_DEFAULT, "dlinfo")
	return address
})

// linkMap is the beginning of struct link_map of link.h.
type linkMap struct{ _, name uintptr } // after the base address

// pathOf asks the loader under which path it has opened the library.
func pathOf(h Handle) string {
	const linkMapOf = 2 // RTLD_DI_LINKMAP
	f := dlinfo()
	if f == 0 {
		return ""
	}
	out := new(uintptr)
	if rc, _, _ := purego.SyscallN(f, uintptr(h), linkMapOf, uintptr(unsafe.Pointer(out))); int32(rc) != 0 || *out == 0 {
		return ""
	}
	// The entry is C memory that lives as long as the library, which h keeps.
	return cString((*(**linkMap)(unsafe.Pointer(out))).name)
}
