package elfheader

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// machine returns the number of this platform in ELF headers, 0 if it is not known here.
func machine() uint16 {
	switch runtime.GOARCH {
	case "amd64":
		return 62
	case "arm64":
		return 183
	case "riscv64":
		return 243
	case "ppc64le":
		return 21
	case "s390x":
		return 22
	case "loong64":
		return 258
	}
	return 0
}

// Check returns an error if the loader of this platform must not open the file at path: it is
// not a regular file, or it is shorter than its headers say. The loader of Linux maps a truncated
// library all the same, and the process dies by SIGBUS as soon as the missing part is used;
// those of macOS and Windows refuse it themselves. A file that is missing, that is for another
// platform, or that is not a library is left to the loader, which refuses it with a reason.
func Check(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil
	case info.IsDir():
		return errors.New("this is a folder; name the library file in it")
	case !info.Mode().IsRegular(): // to open a pipe would wait forever
		return errors.New("this is not a regular file")
	case info.Size() == 0:
		return fmt.Errorf("%w: it is empty", ErrTruncated)
	case runtime.GOOS == "darwin" || runtime.GOOS == "windows":
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	var start [len(magic)]byte
	if _, err := file.ReadAt(start[:], 0); err != nil || string(start[:]) != magic {
		return nil
	}
	h, err := Read(file, uint64(info.Size()))
	if !errors.Is(err, ErrTruncated) || h != nil && h.Machine != machine() {
		return nil
	}
	return err
}
