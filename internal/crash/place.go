//go:build linux && (amd64 || arm64) && !tvmffi_portable && !msan && !asan

package crash

import (
	"syscall"
	"unsafe"
)

// mapping is the line of /proc/self/maps that was read last.
var mapping struct {
	low, high, offset uintptr
	readable, code    bool
	path              [1 << 10]byte
	size              int // of the path
}

// image is the file of the mapping, and where its beginning is in memory.
var image struct {
	path [1 << 10]byte
	size int
	base uintptr
}

// lines is the buffer of /proc/self/maps.
var lines struct {
	file    int
	at, end int
	bytes   [4 << 10]byte
}

var mapsPath = [...]byte{'/', 'p', 'r', 'o', 'c', '/', 's', 'e', 'l', 'f', '/', 'm', 'a', 'p', 's', 0}

// openMaps begins to read the mappings, and reports whether it can.
//
//go:nosplit
//go:norace
//go:nocheckptr
func openMaps() bool {
	const here = ^uintptr(99) // AT_FDCWD
	image.size, image.base, lines.at, lines.end = 0, 0, 0, 0
	lines.file = system(syscall.SYS_OPENAT, here, uintptr(unsafe.Pointer(&mapsPath)), syscall.O_CLOEXEC, 0)
	return lines.file >= 0
}

//go:nosplit
//go:norace
//go:nocheckptr
func closeMaps() { system(syscall.SYS_CLOSE, uintptr(lines.file), 0, 0, 0) }

// next is the next byte, or -1.
//
//go:nosplit
//go:norace
//go:nocheckptr
func next() int {
	if lines.at == lines.end {
		lines.at = 0
		lines.end = max(system(syscall.SYS_READ, uintptr(lines.file), uintptr(unsafe.Pointer(&lines.bytes)), uintptr(len(lines.bytes)), 0), 0)
		if lines.end == 0 {
			return -1
		}
	}
	i := lines.at
	lines.at++
	return int(lines.bytes[i&(len(lines.bytes)-1)])
}

// number reads a hexadecimal number and the byte behind it.
//
//go:nosplit
//go:norace
//go:nocheckptr
func number() (v uintptr) {
	for {
		c := next()
		switch {
		case '0' <= c && c <= '9':
			v = v<<4 | uintptr(c-'0')
		case 'a' <= c && c <= 'f':
			v = v<<4 | uintptr(c-'a'+10)
		default:
			return v
		}
	}
}

// nextMapping reads a line such as "7f1c00-7f1d00 r-xp 00001000 08:01 1234   /path of the file".
//
//go:nosplit
//go:norace
//go:nocheckptr
func nextMapping() bool {
	mapping.low = number()
	mapping.high = number()
	if mapping.high == 0 {
		return false
	}
	mapping.readable = next() == 'r'
	next()
	mapping.code = next() == 'x'
	next()
	next()
	mapping.offset = number()
	mapping.size = 0
	inPath := false
	for {
		c := next()
		if c < 0 || c == '\n' {
			break
		}
		inPath = inPath || c == '/' || c == '['
		if inPath && mapping.size < len(mapping.path) {
			mapping.path[mapping.size&(len(mapping.path)-1)] = byte(c)
			mapping.size++
		}
	}
	if !sameFile() {
		image.size = mapping.size
		for i := 0; i < mapping.size && i < len(image.path); i++ {
			image.path[i] = mapping.path[i&(len(mapping.path)-1)]
		}
		image.base = mapping.low - mapping.offset
	}
	return true
}

// sameFile reports whether the mapping is of the file of the image.
//
//go:nosplit
//go:norace
//go:nocheckptr
func sameFile() bool {
	if image.size != mapping.size {
		return false
	}
	for i := 0; i < image.size && i < len(image.path); i++ {
		if image.path[i] != mapping.path[i&(len(mapping.path)-1)] {
			return false
		}
	}
	return true
}

// find makes the mapping with an address the last one that was read, and reports whether there is one.
//
//go:nosplit
//go:norace
//go:nocheckptr
func find(address uintptr) bool {
	if !openMaps() {
		return false
	}
	found := false
	for !found && nextMapping() {
		found = mapping.low <= address && address < mapping.high
	}
	closeMaps()
	return found
}

// standardLibraries are the beginnings of the names of libraries of C and C++ that everybody uses. A fault there comes
// from a caller.
var standardLibraries = [...]string{"libc.", "libc-", "ld-", "libm.", "libstdc++.", "libc++", "libgcc_s.", "libpthread."}

// isStandard reports whether the image is one of them.
//
//go:nosplit
//go:norace
//go:nocheckptr
func isStandard() bool {
	base := 0
	for i := 0; i < image.size && i < len(image.path); i++ {
		if image.path[i] == '/' {
			base = i + 1
		}
	}
	for i := range standardLibraries {
		name, n := standardLibraries[i], 0
		for n < len(name) && base+n < image.size && image.path[(base+n)&(len(image.path)-1)] == name[n] {
			n++
		}
		if n == len(name) {
			return true
		}
	}
	return false
}

// Place adds to the report in which file an address is, and in which function. It is for the handler.
//
//go:nosplit
//go:norace
//go:nocheckptr
func Place(address uintptr) {
	if !find(address) || image.size == 0 {
		image.size = 0
		Hex(address)
		Text(" (in no file)")
		return
	}
	placing(address)
}

// place is Place for an address in the image.
//
//go:nosplit
//go:norace
//go:nocheckptr
func place(address uintptr) {
	for i := 0; i < image.size && i < len(image.path); i++ {
		char(image.path[i])
	}
	readHeaders()
	char('+')
	Hex(address - headers.bias)
	symbolizing(address - headers.bias)
}

// found are the places that callers has, and the parts of code in which they are. ofOne is how many of them may be of one
// part, because what earlier calls left must not hide the library that called.
var found struct {
	n      int
	places [4]uintptr
	parts  [4]int
}

const ofOne = 2

// code are the mappings with code of libraries that are not standard.
var code struct {
	n     int
	parts [512][2]uintptr
}

// stack is a part of the stack.
var stack [64]uintptr

// callers writes lines with the places in libraries that the stack names, from sp to end, or to the end of the mapping. Places
// in the program itself are passed over: the runtime works on this stack as well, and leaves them there.
//
//go:nosplit
//go:norace
//go:nocheckptr
func callers(sp, end uintptr) {
	low, _ := textRange()
	code.n, found.n = 0, 0
	if !openMaps() {
		return
	}
	for nextMapping() {
		if mapping.low <= sp && sp < mapping.high && (end < sp || end > mapping.high) {
			end = mapping.high
		}
		if mapping.code && mapping.size > 0 && mapping.path[0] == '/' && !isStandard() && code.n < len(code.parts) && (low < mapping.low || mapping.high <= low) {
			code.parts[code.n&(len(code.parts)-1)] = [2]uintptr{mapping.low, mapping.high}
			code.n++
		}
	}
	closeMaps()
	scan(sp&^7, min(end, sp+64<<10))
	for i := 0; i < found.n && i < len(found.places); i++ {
		Text("tvmffi: the stack names ")
		Place(found.places[i&(len(found.places)-1)])
		Text("\n")
		flush()
	}
}

// scan looks for places from sp to end.
//
//go:nosplit
//go:norace
//go:nocheckptr
func scan(sp, end uintptr) {
	for ; sp < end; sp += unsafe.Sizeof(stack) {
		if !read(unsafe.Pointer(&stack), sp, min(unsafe.Sizeof(stack), end-sp)) {
			return
		}
		for i := uintptr(0); i < uintptr(len(stack)) && sp+8*i < end; i++ {
			v := stack[i&uintptr(len(stack)-1)]
			if part := partOf(v); part >= 0 && afterCall(uint64(word(v-8))) && wanted(part) {
				if found.n == len(found.places) {
					return
				}
				found.places[found.n&(len(found.places)-1)] = v
				found.parts[found.n&(len(found.parts)-1)] = part
				found.n++
			}
		}
	}
}

// partOf is the part of code in which an address is, or -1.
//
//go:nosplit
//go:norace
//go:nocheckptr
func partOf(v uintptr) int {
	for i := 0; i < code.n && i < len(code.parts); i++ {
		if code.parts[i][0] <= v && v < code.parts[i][1] {
			return i
		}
	}
	return -1
}

// wanted reports whether one more place of a part is wanted.
//
//go:nosplit
//go:norace
//go:nocheckptr
func wanted(part int) bool {
	n := 0
	for i := 0; i < found.n && i < len(found.parts); i++ {
		if found.parts[i] == part {
			n++
		}
	}
	return n < ofOne
}
