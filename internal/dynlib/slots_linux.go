package dynlib

import (
	"bytes"
	"encoding/binary"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/internal/elfheader"
)

// maxSlots bounds the functions that a library imports.
const maxSlots = 1 << 16

// Slots returns the addresses at which the library keeps the functions that it calls, by name. If the library was opened
// lazily, a function that it has not called yet is not there.
func (h Handle) Slots(read func(address uint64, b []byte) error) map[uint64]string {
	const linkMapOf = 2 // RTLD_DI_LINKMAP
	out := new(uintptr)
	if f := dlinfo(); f == 0 {
		return nil
	} else if rc, _, _ := purego.SyscallN(f, uintptr(h), linkMapOf, uintptr(unsafe.Pointer(out))); int32(rc) != 0 {
		return nil
	}
	word := func(address uint64) uint64 {
		var b [8]byte
		if read(address, b[:]) != nil {
			return 0
		}
		return binary.LittleEndian.Uint64(b[:])
	}
	base := word(uint64(*out))           // struct link_map of link.h
	values := map[elfheader.Tag]uint64{} // of the dynamic section
	entry := word(uint64(*out) + 16)     // where that begins
	for tag := word(entry); tag != 0; entry, tag = entry+16, word(entry+16) {
		value := word(entry + 8)
		switch elfheader.Tag(tag) {
		case elfheader.JmpRel, elfheader.Symbols, elfheader.Names:
			if value < base {
				value += base // glibc has added it
			}
		}
		values[elfheader.Tag(tag)] = value
	}
	slots := map[uint64]string{}
	for i := range min(values[elfheader.PLTRelSize]/24, maxSlots) {
		at := values[elfheader.JmpRel] + 24*i
		symbol := values[elfheader.Symbols] + 24*(word(at+8)>>32)
		if name := text(read, values[elfheader.Names]+word(symbol)&0xffffffff); name != "" {
			slots[base+word(at)] = name
		}
	}
	return slots
}

// text reads a text that ends in a zero byte, or none if it is long.
func text(read func(uint64, []byte) error, address uint64) string {
	var b []byte
	for len(b) < 256 {
		at := address + uint64(len(b))
		part := make([]byte, 64-at%64) // does not cross the end of a page
		if read(at, part) != nil {
			return ""
		}
		if end := bytes.IndexByte(part, 0); end >= 0 {
			return string(append(b, part[:end]...))
		}
		b = append(b, part...)
	}
	return ""
}
