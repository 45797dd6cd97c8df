//go:build linux && (amd64 || arm64) && !tvmffi_portable && !msan && !asan

package crash

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/elfheader"
)

// headers are of the image. bias is what the loader added to the addresses in the file.
var headers struct {
	bias, dynamic uintptr
}

// readHeaders reads the program headers of the image.
//
//go:nosplit
//go:norace
//go:nocheckptr
func readHeaders() {
	const magic = 0x464c457f
	headers.bias, headers.dynamic = image.base, 0
	if uint32(word(image.base)) != magic {
		return
	}
	table, counts := image.base+word(image.base+elfheader.SegmentsOffset), word(image.base+elfheader.SizesOffset)
	size, n := counts>>16&0xffff, counts>>32&0xffff
	for i := uintptr(0); i < min(n, 64); i++ {
		header := table + i*size
		address := word(header + elfheader.VaddrOffset)
		switch uint32(word(header)) {
		case elfheader.Load:
			if word(header+elfheader.OffOffset) == 0 {
				headers.bias = image.base - address
			}
		case elfheader.Dynamic:
			headers.dynamic = address
		}
	}
}

// tables are those of the names that the image exports. end is where the next table begins.
var tables struct {
	symbols, end, names, size uintptr
}

// findTables reads the dynamic section, and reports whether the image exports names.
//
//go:nosplit
//go:norace
//go:nocheckptr
func findTables() bool {
	tables.symbols, tables.names, tables.size, tables.end = 0, 0, 0, ^uintptr(0)
	if headers.dynamic == 0 {
		return false
	}
	start := headers.bias + headers.dynamic
	for entry := start; entry < start+16*256; entry += 16 {
		tag, value := elfheader.Tag(word(entry)), word(entry+8)
		if tag == elfheader.Null {
			break
		}
		if tag != elfheader.NamesSize && value < image.base { // musl leaves the addresses of the file
			value += headers.bias
		}
		switch tag {
		case elfheader.Symbols:
			tables.symbols = value
		case elfheader.Names:
			tables.names = value
		case elfheader.NamesSize:
			tables.size = value
		}
	}
	for entry := start; entry < start+16*256; entry += 16 {
		tag, value := elfheader.Tag(word(entry)), word(entry+8)
		if tag == elfheader.Null {
			break
		}
		if value < image.base {
			value += headers.bias
		}
		switch tag {
		case elfheader.Names, elfheader.Hash, elfheader.GNUHash, elfheader.VerSym, elfheader.VerNeed, elfheader.VerDef, elfheader.Rela, elfheader.Rel, elfheader.JmpRel:
			if value > tables.symbols {
				tables.end = min(tables.end, value)
			}
		}
	}
	return tables.symbols != 0 && tables.names != 0 && tables.end != ^uintptr(0)
}

// symbols is a part of the table of symbols.
var symbols [128]elfheader.Symbol

// nearest is the function that begins last at or before a place.
var nearest struct {
	known       bool
	name        uint32
	value, size uint64
}

// symbolize adds the function at an address of the image, as the file has it.
//
//go:nosplit
//go:norace
//go:nocheckptr
func symbolize(address uintptr) {
	nearest.known = false
	if !findTables() {
		return
	}
	for from := tables.symbols; from < tables.end; from += unsafe.Sizeof(symbols) {
		n := min(unsafe.Sizeof(symbols), tables.end-from) / elfheader.SymbolSize
		if n == 0 || !read(unsafe.Pointer(&symbols), from, n*elfheader.SymbolSize) {
			break
		}
		search(n, uint64(address))
	}
	if !nearest.known {
		return
	}
	Text(" (")
	distance := uint64(address) - nearest.value
	if nearest.size != 0 && distance >= nearest.size {
		Text("behind ")
	}
	name(tables.names + uintptr(nearest.name))
	char('+')
	Hex(uintptr(distance))
	char(')')
}

// search looks for a nearer function in the first n symbols.
//
//go:nosplit
//go:norace
//go:nocheckptr
func search(n uintptr, address uint64) {
	for i := uintptr(0); i < n && i < uintptr(len(symbols)); i++ {
		s := &symbols[i]
		kind := s.Info & 15
		if kind != elfheader.Func && kind != elfheader.IFunc || s.Shndx == 0 || s.Value > address || uintptr(s.Name) >= tables.size {
			continue
		}
		if !nearest.known || s.Value > nearest.value {
			nearest.known, nearest.name, nearest.value, nearest.size = true, s.Name, s.Value, s.Size
		}
	}
}

// letters is a part of a name.
var letters [16]byte

// name adds a name of the image, of which it writes 256 bytes at most.
//
//go:nosplit
//go:norace
//go:nocheckptr
func name(address uintptr) {
	for n := uintptr(0); n < 256; {
		part := uintptr(len(letters)) - address&uintptr(len(letters)-1) // does not cross the end of a page
		if !read(unsafe.Pointer(&letters), address, part) {
			return
		}
		for i := uintptr(0); i < part && i < uintptr(len(letters)); i++ {
			if letters[i] == 0 {
				return
			}
			char(letters[i])
		}
		n += part
		address += part
	}
	Text("...")
}
