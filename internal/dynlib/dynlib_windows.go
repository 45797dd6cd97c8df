package dynlib

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/windows"
)

func open(path string, _ bool) (Handle, error) {
	if h, err := loaded(path); err == nil {
		return h, nil // without a look at its folders
	}
	// Windows looks for the dependencies of the library in its folder, not in the
	// working directory or PATH. Under wine 8, a folder of AddDllDirectory comes before
	// that of the library. A name without a folder is of a library of the system: Windows
	// refuses to look in its folder.
	var folders []string
	flags := uintptr(windows.LOAD_LIBRARY_SEARCH_DEFAULT_DIRS)
	if filepath.IsAbs(path) {
		folders = WheelFolders(path)
		flags |= windows.LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR
	}
	for _, dir := range folders {
		text, err := windows.UTF16PtrFromString(dir)
		if err != nil {
			return 0, err
		}
		cookie, err := windows.AddDllDirectory(text)
		if err != nil {
			return 0, fmt.Errorf("the folder %s: %w", dir, err)
		}
		defer windows.RemoveDllDirectory(cookie)
	}
	h, err := windows.LoadLibraryEx(path, 0, flags)
	if errors.Is(err, windows.ERROR_MOD_NOT_FOUND) {
		err = notFound(path, folders, err)
	}
	return Handle(h), err
}

func loaded(name string) (Handle, error) {
	p, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return 0, err
	}
	var h windows.Handle
	if err := windows.GetModuleHandleEx(0, p, &h); err != nil {
		return 0, ErrNotLoaded
	}
	return Handle(h), nil
}

func symbol(h Handle, name string) (uintptr, error) {
	address, err := windows.GetProcAddress(windows.Handle(h), name)
	if err != nil { // its text does not name the symbol
		return 0, fmt.Errorf("symbol %s: %w", name, err)
	}
	return address, nil
}

func fileOf(address uintptr) string {
	const fromAddress = 0x4 | 0x2 // FROM_ADDRESS, UNCHANGED_REFCOUNT
	var h windows.Handle
	if address == 0 { // Windows would take the executable
		return ""
	}
	if err := windows.GetModuleHandleEx(fromAddress, (*uint16)(pointer(address)), &h); err != nil {
		return ""
	}
	return fileOfModule(h)
}

func fileOfModule(h windows.Handle) string {
	buf := make([]uint16, windows.MAX_LONG_PATH)
	n, err := windows.GetModuleFileName(h, &buf[0], uint32(len(buf)))
	if err != nil {
		return ""
	}
	return windows.UTF16ToString(buf[:n])
}

func saveSignalAction() (restore func()) { return func() {} }
