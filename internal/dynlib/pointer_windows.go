package dynlib

import "unsafe"

// pointer makes a pointer of an address in C memory.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }
