package dynlib

import (
	"errors"
	"os"
	"sort"
	"strconv"
	"strings"
	"unsafe"
)

var errNoMemory = errors.New("there is no readable memory")

// Memory returns a func that copies memory of the libraries that are loaded now, and of the data of the process. It
// returns an error, and no fault happens, if a part is not readable.
func Memory() (read func(address uint64, b []byte) error, err error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	parts := readable(string(maps))
	return func(address uint64, b []byte) error {
		for at, left := address, uint64(len(b)); left > 0; {
			n := parts.after(at)
			if n == 0 {
				return errNoMemory
			}
			n = min(n, left)
			at, left = at+n, left-n
		}
		from := uintptr(address)
		copy(b, unsafe.Slice(*(**byte)(unsafe.Pointer(&from)), len(b)))
		return nil
	}, nil
}

// memoryParts are the beginnings and ends of the memory that can be read.
type memoryParts [][2]uint64

// readable reads lines such as "7f1c00-7f1d00 r-xp 00001000 08:01 1234   /path of the file". The memory of devices
// is left out, because reading it may change it.
func readable(maps string) (parts memoryParts) {
	for line := range strings.Lines(maps) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !strings.HasPrefix(fields[1], "r") || len(fields) > 5 && (strings.HasPrefix(fields[5], "/dev/") || strings.HasPrefix(fields[5], "[vvar")) {
			continue
		}
		start, end, _ := strings.Cut(fields[0], "-")
		from, err := strconv.ParseUint(start, 16, 64)
		to, err2 := strconv.ParseUint(end, 16, 64)
		if err == nil && err2 == nil {
			parts = append(parts, [2]uint64{from, to})
		}
	}
	return parts
}

// after is how many bytes can be read from an address on.
func (p memoryParts) after(address uint64) uint64 {
	i := sort.Search(len(p), func(i int) bool { return address < p[i][1] }) // they are in order
	if i == len(p) || address < p[i][0] {
		return 0
	}
	return p[i][1] - address
}
