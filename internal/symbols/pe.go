package symbols

import (
	"debug/pe"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tvmffi-go/tvmffi/internal/elfheader"
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
	start, head, err := coffHeader(im)
	if err != nil {
		return f, err
	}
	machine, sections := le.Uint16(head), uint64(le.Uint16(head[2:]))
	optionalSize, characteristics := uint64(le.Uint16(head[16:])), le.Uint16(head[18:])
	arch := peArch(machine)
	if arch == "" {
		arch = fmt.Sprintf("machine %#x", machine)
	}
	f.Archs = []string{arch}
	if characteristics&pe.IMAGE_FILE_DLL == 0 {
		return f, errExecutable
	}
	start += coffSize
	optional, err := readOptional(im, start, optionalSize)
	if err != nil {
		return f, err
	}
	p := &peImage{image: im}
	if err := p.readSections(start+optionalSize, sections, optional.headerSize()); err != nil {
		return f, err
	}
	if f.Needed, err = p.imports(optional.directory(pe.IMAGE_DIRECTORY_ENTRY_IMPORT)); err != nil {
		return f, fmt.Errorf("import directory: %w", err)
	}
	var symbols []symbol
	if f.ID, symbols, err = p.exports(optional.directory(pe.IMAGE_DIRECTORY_ENTRY_EXPORT)); err != nil {
		return f, fmt.Errorf("export directory: %w", err)
	}
	f.collect(symbols)
	return f, nil
}

const coffSize = 20

// coffHeader finds the header behind the DOS program and the signature, and returns its offset too.
func coffHeader(im image) (start uint64, head []byte, err error) {
	dos, err := im.read(0, 64)
	if err != nil {
		return 0, nil, err
	}
	const signature = "PE\x00\x00"
	start = uint64(le.Uint32(dos[0x3c:]))
	head, err = im.read(start, uint64(len(signature)+coffSize))
	if err != nil {
		return 0, nil, err
	}
	if string(head[:len(signature)]) != signature {
		return 0, nil, errors.New("this is a DOS program, not a DLL")
	}
	return start + uint64(len(signature)), head[len(signature):], nil
}

// peOptional is the optional header, which every DLL has.
type peOptional struct {
	bytes       []byte
	directories int // where the addresses of the data directories begin
}

func readOptional(im image, start, size uint64) (peOptional, error) {
	var o peOptional
	var err error
	if o.bytes, err = im.read(start, size); err != nil {
		return o, fmt.Errorf("optional header: %w", err)
	}
	magic := uint16(0)
	if len(o.bytes) >= 2 {
		magic = le.Uint16(o.bytes)
	}
	switch magic {
	case 0x10b: // 32 bits
		o.directories = 96
	case 0x20b: // 64 bits
		o.directories = 112
	default:
		return o, fmt.Errorf("%w: unknown optional header", ErrTruncated)
	}
	if len(o.bytes) < o.directories {
		return o, fmt.Errorf("%w: the optional header has %d bytes", ErrTruncated, len(o.bytes))
	}
	return o, nil
}

// headerSize returns the number of bytes in front of the sections.
func (o peOptional) headerSize() uint64 { return uint64(le.Uint32(o.bytes[60:])) }

// directory returns the address of a data directory, 0 if there is none.
func (o peOptional) directory(i int) uint64 {
	count := int(min(le.Uint32(o.bytes[o.directories-4:]), 16))
	at := o.directories + 8*i
	if i >= count || at+8 > len(o.bytes) {
		return 0
	}
	return uint64(le.Uint32(o.bytes[at:]))
}

func (p *peImage) readSections(start, count, headerSize uint64) error {
	if count > maxSections {
		return fmt.Errorf("%d sections, the limit is %d", count, maxSections)
	}
	table, err := p.read(start, count*40)
	if err != nil {
		return fmt.Errorf("section headers: %w", err)
	}
	for ; len(table) > 0; table = table[40:] {
		raw, virtual := uint64(le.Uint32(table[16:])), uint64(le.Uint32(table[8:]))
		if virtual != 0 {
			raw = min(raw, virtual)
		}
		offset := uint64(le.Uint32(table[20:]))
		if raw > 0 {
			if err := elfheader.Holds(p.size, "sections", offset, raw); err != nil {
				return err
			}
		}
		p.sections = append(p.sections, peSection{address: uint64(le.Uint32(table[12:])), offset: offset, size: raw})
	}
	// The headers are in memory too, in front of the sections.
	p.sections = append(p.sections, peSection{size: min(headerSize, p.size)})
	return nil
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
	return nil, fmt.Errorf("%w: address %#x is not in the file", ErrTruncated, address)
}

// bytes returns n bytes at an address.
func (p *peImage) bytes(address, n uint64) ([]byte, error) {
	b, err := p.at(address)
	if err == nil && uint64(len(b)) < n {
		err = fmt.Errorf("%w: %d bytes at address %#x are not in the file", ErrTruncated, n, address)
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
			return nil, fmt.Errorf("%w: the table has no end", ErrTruncated)
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
