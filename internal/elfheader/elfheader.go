// Package elfheader reads the header and the program headers of ELF files, and says before a
// library is loaded whether its file is whole. It is part of every program, so it does not
// import debug/elf, which brings decompressors and DWARF. The files may come from anywhere:
// every offset and count is checked.
package elfheader

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Header is what the headers of an ELF file say.
type Header struct {
	Order    binary.ByteOrder
	Is64     bool
	OSABI    byte
	Type     uint16
	Machine  uint16
	Segments []Segment
}

// Segment is a program header.
type Segment struct {
	Kind                  uint32
	Offset, Address, Size uint64 // of the part in the file
}

// The kinds of segments that matter here.
const (
	Load    = 1 // is mapped
	Dynamic = 2
)

// ErrTruncated is the error for a file that lacks a part that its headers name.
var ErrTruncated = errors.New("the file is truncated or malformed")

const (
	magic       = "\x7fELF"
	maxSegments = 512
)

// Read reads the headers of an ELF file of the given size. If only the program headers are
// wrong, it returns what the header says, and the error.
func Read(r io.ReaderAt, size uint64) (*Header, error) {
	head, err := part(r, size, 0, 52)
	if err != nil {
		return nil, err
	}
	h := &Header{Order: binary.LittleEndian}
	switch data := head[5]; data {
	case 1:
	case 2:
		h.Order = binary.BigEndian
	default:
		return nil, fmt.Errorf("unknown ELF byte order %d", data)
	}
	switch class := head[4]; class {
	case 1:
	case 2:
		h.Is64 = true
		if head, err = part(r, size, 0, 64); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("unknown ELF class %d", class)
	}
	h.OSABI, h.Type, h.Machine = head[7], h.Order.Uint16(head[16:]), h.Order.Uint16(head[18:])
	return h, h.readSegments(r, size, head)
}

func (h *Header) readSegments(r io.ReaderAt, size uint64, head []byte) error {
	entry, want := h.Order.Uint16(head[42:]), uint16(32)
	count, offset := uint64(h.Order.Uint16(head[44:])), uint64(h.Order.Uint32(head[28:]))
	if h.Is64 {
		entry, want = h.Order.Uint16(head[54:]), 56
		count, offset = uint64(h.Order.Uint16(head[56:])), h.Order.Uint64(head[32:])
	}
	switch {
	case count == 0:
		return errors.New("it has no program headers, so it cannot be loaded")
	case count > maxSegments:
		return fmt.Errorf("%d program headers, the limit is %d", count, maxSegments)
	case entry != want:
		return fmt.Errorf("%w: program headers of %d bytes", ErrTruncated, entry)
	}
	table, err := part(r, size, offset, count*uint64(entry))
	if err != nil {
		return fmt.Errorf("program headers: %w", err)
	}
	h.Segments = make([]Segment, 0, count)
	for ; len(table) > 0; table = table[entry:] {
		s := Segment{h.Order.Uint32(table), uint64(h.Order.Uint32(table[4:])), uint64(h.Order.Uint32(table[8:])), uint64(h.Order.Uint32(table[16:]))}
		if h.Is64 {
			s = Segment{s.Kind, h.Order.Uint64(table[8:]), h.Order.Uint64(table[16:]), h.Order.Uint64(table[32:])}
		}
		if s.Kind == Load {
			if err := Holds(size, "segments", s.Offset, s.Size); err != nil {
				return err
			}
		}
		h.Segments = append(h.Segments, s)
	}
	return nil
}

// Holds returns an error if a file ends before a part of it that the loader maps: a program
// that reads such memory dies by SIGBUS.
func Holds(size uint64, parts string, offset, n uint64) error {
	if end := offset + n; end > size || end < n {
		return fmt.Errorf("%w: it has %d bytes, its %s need %d", ErrTruncated, size, parts, end)
	}
	return nil
}

func part(r io.ReaderAt, size, offset, n uint64) ([]byte, error) {
	if offset > size || n > size-offset {
		return nil, fmt.Errorf("%w: %d bytes at offset %d of %d are missing", ErrTruncated, n, offset, size)
	}
	b := make([]byte, n)
	if _, err := r.ReadAt(b, int64(offset)); err != nil {
		return nil, fmt.Errorf("read %d bytes at offset %d: %w", n, offset, err)
	}
	return b, nil
}
