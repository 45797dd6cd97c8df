package capi

import "golang.org/x/sys/windows"

// CFunction returns the address of a function of the C library.
func CFunction(name string) uintptr {
	return windows.NewLazySystemDLL("ucrtbase.dll").NewProc(name).Addr()
}
