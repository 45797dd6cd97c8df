package dynlib

import "golang.org/x/sys/windows"

// ThreadSelf returns the address of the C function, without arguments, that
// identifies the calling thread.
func ThreadSelf() (uintptr, error) {
	p := windows.NewLazySystemDLL("kernel32.dll").NewProc("GetCurrentThreadId")
	if err := p.Find(); err != nil {
		return 0, err
	}
	return p.Addr(), nil
}
