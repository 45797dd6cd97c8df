//go:build darwin || linux

package dynlib

import (
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

func open(path string, lazily bool) (Handle, error) {
	binding := purego.RTLD_NOW
	if lazily {
		binding = purego.RTLD_LAZY
	}
	h, err := purego.Dlopen(path, binding|purego.RTLD_GLOBAL)
	return Handle(h), err
}

func loaded(name string) (Handle, error) {
	h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL|rtldNoLoad)
	if err != nil {
		return 0, ErrNotLoaded
	}
	return Handle(h), nil
}

func symbol(h Handle, name string) (uintptr, error) { return purego.Dlsym(uintptr(h), name) }

// dlInfo is Dl_info of dlfcn.h.
type dlInfo struct {
	file, base, symbolName, symbolAddress uintptr
}

var dladdr = sync.OnceValue(func() uintptr {
	address, _ := purego.Dlsym(purego.RTLD_DEFAULT, "dladdr")
	return address
})

func fileOf(address uintptr) string {
	f := dladdr()
	if f == 0 || address == 0 {
		return ""
	}
	info := new(dlInfo)
	if ok, _, _ := purego.SyscallN(f, address, uintptr(unsafe.Pointer(info))); int32(ok) == 0 || info.file == 0 {
		return ""
	}
	return cString(info.file)
}

// cString copies a text in C memory. The loader ends its texts with a zero byte.
func cString(address uintptr) string {
	var text []byte
	for at := *(*unsafe.Pointer)(unsafe.Pointer(&address)); *(*byte)(at) != 0; at = unsafe.Add(at, 1) {
		text = append(text, *(*byte)(at))
	}
	return string(text)
}
