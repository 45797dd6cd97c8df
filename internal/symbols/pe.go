package symbols

import (
	"debug/pe"
	"encoding/binary"
	"fmt"

	"github.com/tvmffi-go/tvmffi/internal/elfheader"
)

var le = binary.LittleEndian

// isCOFFObject recognises object files, which have no magic but begin with the
// machine.
func isCOFFObject(head []byte) bool {
	var h pe.FileHeader
	if _, err := binary.Decode(head, le, &h); err != nil {
		return false
	}
	bigObject := h.Machine == 0 && h.NumberOfSections == 0xffff
	return bigObject || peArch(h.Machine) != "" && h.NumberOfSections > 0 && h.SizeOfOptionalHeader == 0
}

func readPE(im image) File {
	const signature = "PE\x00\x00"
	at := uint64(table[uint32](im, "header", le, 0x3c, 1)[0])
	if string(im.read("signature", at, uint64(len(signature)))) != signature {
		fail("this is a DOS program, not a DLL")
	}
	at += uint64(len(signature))
	h := table[pe.FileHeader](im, "header", le, at, 1)[0]
	if h.Characteristics&pe.IMAGE_FILE_DLL == 0 {
		check(errExecutable)
	}
	f := File{Format: PE, GOOS: "windows", Archs: []string{peArch(h.Machine)}}
	if f.Archs[0] == "" {
		f.Archs[0] = fmt.Sprintf("machine %#x", h.Machine)
	}
	at += uint64(binary.Size(h))
	o := table[pe.OptionalHeader64](im, "optional header", le, at, 1)[0]
	switch o.Magic {
	case 0x10b: // 32 bits: no program of this module can load it
		return f
	case 0x20b:
	default:
		fail("%w: unknown optional header", ErrTruncated)
	}
	p := peImage{im, table[pe.SectionHeader32](im, "section headers", le, at+uint64(h.SizeOfOptionalHeader), uint32(h.NumberOfSections)), map[int][]byte{}, 0}
	for _, s := range p.sections {
		if s.SizeOfRawData > 0 {
			check(elfheader.Holds(im.size(), "sections", uint64(s.PointerToRawData), held(s)))
		}
	}
	if i := pe.IMAGE_DIRECTORY_ENTRY_IMPORT; o.NumberOfRvaAndSizes > uint32(i) {
		p.imports(&f, uint64(o.DataDirectory[i].VirtualAddress))
	}
	if i := pe.IMAGE_DIRECTORY_ENTRY_EXPORT; o.NumberOfRvaAndSizes > uint32(i) {
		p.exports(&f, uint64(o.DataDirectory[i].VirtualAddress))
	}
	return f
}

type peImage struct {
	image
	sections []pe.SectionHeader32
	data     map[int][]byte // of sections, by their index, read at first use
	loaded   uint64         // bytes of sections read so far
}

// held returns the number of bytes of a section that the file holds and the loader maps.
func held(s pe.SectionHeader32) uint64 {
	if s.VirtualSize != 0 {
		return uint64(min(s.SizeOfRawData, s.VirtualSize))
	}
	return uint64(s.SizeOfRawData)
}

// at returns the bytes from an address to the end of its section, at least n.
func (p *peImage) at(what string, address, n uint64) []byte {
	for i, s := range p.sections {
		start := uint64(s.VirtualAddress)
		if address < start || address-start >= held(s) || n > held(s)-(address-start) {
			continue
		}
		if p.data[i] == nil {
			if p.loaded += held(s); p.loaded > maxTable {
				fail("its tables have more than %d bytes", maxTable)
			}
			p.data[i] = p.read(what, uint64(s.PointerToRawData), held(s))
		}
		return p.data[i][address-start:]
	}
	fail("%s: %w: %d bytes at address %#x are not in the file", what, ErrTruncated, n, address)
	return nil
}

func (p *peImage) imports(f *File, address uint64) {
	const entry, nameAt = 20, 12
	for ; address != 0; address += entry {
		name := le.Uint32(p.at("import directory", address, entry)[nameAt:])
		if name == 0 {
			return
		}
		f.need(cstring(p.at("import directory", uint64(name), 1), 0))
	}
}

func (p *peImage) exports(f *File, address uint64) {
	if address == 0 {
		return
	}
	const what = "export directory"
	var d [10]uint32
	_, err := binary.Decode(p.at(what, address, uint64(binary.Size(d))), le, &d)
	check(err)
	name, count, names := uint64(d[3]), d[6], uint64(d[8])
	if name != 0 {
		f.ID = cstring(p.at(what, name, 1), 0)
	}
	if count == 0 {
		return
	}
	var list symbolList
	addresses := p.at(what, names, uint64(count)*4)
	for i := range count {
		list.add(p.at(what, uint64(le.Uint32(addresses[4*i:])), 1), 0, false)
	}
	f.collect(list)
}

func peArch(machine uint16) string {
	switch machine {
	case pe.IMAGE_FILE_MACHINE_AMD64:
		return "amd64"
	case pe.IMAGE_FILE_MACHINE_ARM64:
		return "arm64"
	case pe.IMAGE_FILE_MACHINE_I386:
		return "386"
	case pe.IMAGE_FILE_MACHINE_ARMNT:
		return "arm"
	}
	return ""
}
