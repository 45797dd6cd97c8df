package elfheader

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// machines has the numbers of architectures in ELF headers.
var machines = map[string]uint16{"386": 3, "arm": 40, "amd64": 62, "arm64": 183, "riscv64": 243, "ppc64le": 21, "s390x": 22, "loong64": 258}

// checkMachine returns an error if a library is for another machine. Some loaders say of such a
// file that there is none.
func checkMachine(h *Header) error {
	if here := machines[runtime.GOARCH]; here == 0 || h.Machine == here {
		return nil
	}
	for arch, number := range machines {
		if number == h.Machine {
			return fmt.Errorf("it is built for %s and cannot be loaded on %s; get the library for %[2]s", arch, runtime.GOARCH)
		}
	}
	return fmt.Errorf("it is built for the machine with the ELF number %d and cannot be loaded on %s; get the library for %[2]s", h.Machine, runtime.GOARCH)
}

// Check returns an error if the loader of this platform must not open the file at path: it is
// not a regular file, it is built for another machine, or it is shorter than its headers say. The loader of Linux maps a truncated
// library all the same, and the process dies by SIGBUS as soon as the missing part is used;
// the loaders of macOS and Windows refuse it themselves. A file that is missing, that is for another
// system, or that is not a library is left to the loader, which refuses it with a reason.
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
	if h != nil {
		if err := checkMachine(h); err != nil {
			return err
		}
	}
	if !errors.Is(err, ErrTruncated) {
		return nil
	}
	return err
}
