package symbols

import (
	"debug/pe"
	"encoding/binary"
	"errors"
	"fmt"
)

var le = binary.LittleEndian

const maxSections = 1 << 12

type peImage struct {
	image
	sections []peSection
	loaded   uint64 // bytes of sections read so far
}

type peSection struct {
	address, offset, size uint64
	data                  []byte // read at first use
}

// isCOFFObject recognises object files, which have no magic but begin with the
// machine.
func isCOFFObject(head []byte) bool {
	if len(head) < 20 {
		return false
	}
	if le.Uint16(head) == 0 && le.Uint16(head[2:]) == 0xffff { // big object
		return true
	}
	sections, optional := le.Uint16(head[2:]), le.Uint16(head[16:])
	return peArch(le.Uint16(head)) != "" && sections > 0 && sections < maxSections && optional == 0
}

func readPE(im image) (File, error) {
	f := File{Format: PE, GOOS: "windows"}
	dos, err := im.read(0, 64)
	if err != nil {
		return f, err
	}
	start := uint64(le.Uint32(dos[0x3c:]))
	head, err := im.read(start, 24)
	if err != nil {
		return f, err
	}
	if string(head[:4]) != "PE\x00\x00" {
		return f, errors.New("this is a DOS program, not a DLL")
	}
	machine, sections := le.Uint16(head[4:]), uint64(le.Uint16(head[6:]))
	optionalSize, characteristics := uint64(le.Uint16(head[20:])), le.Uint16(head[22:])
	arch := peArch(machine)
	if arch == "" {
		arch = fmt.Sprintf("machine %#x", machine)
	}
	f.Archs = []string{arch}
	if characteristics&pe.IMAGE_FILE_DLL == 0 {
		return f, errExecutable
	}
	optional, err := im.read(start+24, optionalSize)
	if err != nil {
		return f, fmt.Errorf("optional header: %w", err)
	}
	directories := 96
	if len(optional) >= 2 && le.Uint16(optional) == 0x20b {
		directories = 112
	} else if len(optional) < 2 || le.Uint16(optional) != 0x10b {
		return f, fmt.Errorf("%w: unknown optional header", errTruncated)
	}
	if len(optional) < directories {
		return f, fmt.Errorf("%w: the optional header has %d bytes", errTruncated, len(optional))
	}
	if sections > maxSections {
		return f, fmt.Errorf("%d sections, the limit is %d", sections, maxSections)
	}
	table, err := im.read(start+24+optionalSize, sections*40)
	if err != nil {
		return f, fmt.Errorf("section headers: %w", err)
	}
	p := &peImage{image: im}
	for ; len(table) > 0; table = table[40:] {
		raw, virtual := uint64(le.Uint32(table[16:])), uint64(le.Uint32(table[8:]))
		if virtual != 0 {
			raw = min(raw, virtual)
		}
		p.sections = append(p.sections, peSection{address: uint64(le.Uint32(table[12:])), offset: uint64(le.Uint32(table[20:])), size: raw})
	}
	// The headers are in memory too, in front of the sections.
	p.sections = append(p.sections, peSection{size: min(uint64(le.Uint32(optional[60:])), im.size)})
	// directory returns the address of a data directory, 0 if there is none.
	count := int(min(le.Uint32(optional[directories-4:]), 16))
	directory := func(i int) uint64 {
		at := directories + 8*i
		if i >= count || at+8 > len(optional) {
			return 0
		}
		return uint64(le.Uint32(optional[at:]))
	}
	if f.Needed, err = p.imports(directory(pe.IMAGE_DIRECTORY_ENTRY_IMPORT)); err != nil {
		return f, fmt.Errorf("import directory: %w", err)
	}
	var symbols []symbol
	if f.ID, symbols, err = p.exports(directory(pe.IMAGE_DIRECTORY_ENTRY_EXPORT)); err != nil {
		return f, fmt.Errorf("export directory: %w", err)
	}
	f.collect(symbols)
	return f, nil
}

// at returns what the file holds from an address to the end of its section.
func (p *peImage) at(address uint64) ([]byte, error) {
	for i := range p.sections {
		s := &p.sections[i]
		if address < s.address || address-s.address >= s.size {
			continue
		}
		if s.data == nil {
			if p.loaded += s.size; p.loaded > maxTable {
				return nil, fmt.Errorf("its tables have more than %d bytes", maxTable)
			}
			var err error
			if s.data, err = p.read(s.offset, s.size); err != nil {
				return nil, err
			}
		}
		return s.data[address-s.address:], nil
	}
	return nil, fmt.Errorf("%w: address %#x is not in the file", errTruncated, address)
}

// bytes returns n bytes at an address.
func (p *peImage) bytes(address, n uint64) ([]byte, error) {
	b, err := p.at(address)
	if err == nil && uint64(len(b)) < n {
		err = fmt.Errorf("%w: %d bytes at address %#x are not in the file", errTruncated, n, address)
	}
	if err != nil {
		return nil, err
	}
	return b[:n], nil
}

func (p *peImage) text(address uint64) (string, error) {
	b, err := p.at(address)
	if err != nil {
		return "", err
	}
	return cstring(b, 0)
}

func (p *peImage) imports(address uint64) ([]string, error) {
	if address == 0 {
		return nil, nil
	}
	table, err := p.at(address)
	if err != nil {
		return nil, err
	}
	var needed []string
	for ; ; table = table[20:] {
		if len(table) < 20 {
			return nil, fmt.Errorf("%w: the table has no end", errTruncated)
		}
		name := uint64(le.Uint32(table[12:]))
		if name == 0 {
			return needed, nil
		}
		text, err := p.text(name)
		if err != nil {
			return nil, err
		}
		if needed = append(needed, text); len(needed) > maxNeeded {
			return nil, fmt.Errorf("more than %d needed libraries", maxNeeded)
		}
	}
}

func (p *peImage) exports(address uint64) (id string, symbols []symbol, err error) {
	if address == 0 {
		return "", nil, nil
	}
	dir, err := p.bytes(address, 40)
	if err != nil {
		return "", nil, err
	}
	if name := uint64(le.Uint32(dir[12:])); name != 0 {
		if id, err = p.text(name); err != nil {
			return "", nil, err
		}
	}
	count := uint64(le.Uint32(dir[24:]))
	if count == 0 {
		return id, nil, nil
	}
	names, err := p.bytes(uint64(le.Uint32(dir[32:])), count*4)
	if err != nil {
		return "", nil, err
	}
	for ; len(names) > 0; names = names[4:] {
		b, err := p.at(uint64(le.Uint32(names)))
		if err != nil {
			return "", nil, err
		}
		if !wanted(peek(b, 0)) {
			continue
		}
		text, err := cstring(b, 0)
		if err != nil {
			return "", nil, err
		}
		if symbols, err = add(symbols, symbol{name: text}); err != nil {
			return "", nil, err
		}
	}
	return id, symbols, nil
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
