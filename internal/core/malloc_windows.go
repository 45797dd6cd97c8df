package core

import "golang.org/x/sys/windows"

// cFunction returns the address of a function of the C library.
func cFunction(name string) uintptr {
	return windows.NewLazySystemDLL("ucrtbase.dll").NewProc(name).Addr()
}
