package core

import "golang.org/x/sys/windows"

func findMalloc() uintptr { return windows.NewLazySystemDLL("ucrtbase.dll").NewProc("malloc").Addr() }
