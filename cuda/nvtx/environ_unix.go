//go:build linux || darwin

package nvtx

import (
	"os"
	"unsafe"

	"github.com/ebitengine/purego"
)

// environ returns the library of the profiler. It asks C: a profiler that was loaded before
// the program may have set the variable there, after Go has copied the environment.
func environ() string {
	get, err := purego.Dlsym(purego.RTLD_DEFAULT, "getenv")
	if err != nil {
		return os.Getenv(variable)
	}
	name := append([]byte(variable), 0)
	value, _, _ := purego.SyscallN(get, uintptr(unsafe.Pointer(unsafe.SliceData(name))))
	if value == 0 {
		return ""
	}
	n := 0
	for start := pointer(value); *(*byte)(unsafe.Add(start, n)) != 0; {
		n++
	}
	return string(unsafe.Slice((*byte)(pointer(value)), n))
}
