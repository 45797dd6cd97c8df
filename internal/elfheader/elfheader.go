// Package elfheader reads the header of ELF files, and says before a library is loaded whether
// its file is whole. It is part of every program, so it does not import debug/elf, which brings
// decompressors and DWARF. The files may come from anywhere: every offset and count is checked.
package elfheader

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Header is what the header of an ELF file says.
type Header struct {
	Order   binary.ByteOrder
	Is64    bool
	OSABI   byte
	Type    uint16
	Machine uint16
	Mapped  uint64 // where the last part ends that the loader maps, of a library of 64 bits
	// Constants are the parts that the loader maps in which names and other constants may be. That leaves the code out if the
	// linker has put constants beside it, into a segment of their own.
	Constants []Part
}

// Part is a part of a file.
type Part struct{ Offset, Size uint64 }

// ErrTruncated is the error for a file that lacks a part that its headers name.
var ErrTruncated = errors.New("the file is truncated or malformed")

const (
	magic       = "\x7fELF"
	maxSegments = 512
	segmentSize = 56
)

// Read reads the header of an ELF file of the given size, and checks that the file holds the
// segments of a library of 64 bits. If only the segments are wrong, it returns the header and the error.
func Read(r io.ReaderAt, size uint64) (*Header, error) {
	head, err := part(r, size, 0, 64)
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
	h.OSABI, h.Type, h.Machine = head[7], h.Order.Uint16(head[16:]), h.Order.Uint16(head[18:])
	switch class := head[4]; class {
	case 1:
		return h, nil
	case 2:
		h.Is64 = true
		return h, h.checkSegments(r, size, head)
	default:
		return nil, fmt.Errorf("unknown ELF class %d", class)
	}
}

func (h *Header) checkSegments(r io.ReaderAt, size uint64, head []byte) error {
	order := h.Order
	count := uint64(order.Uint16(head[56:]))
	switch entry := order.Uint16(head[54:]); {
	case count == 0:
		return errors.New("it has no program headers, so it cannot be loaded")
	case count > maxSegments:
		return fmt.Errorf("%d program headers, the limit is %d", count, maxSegments)
	case entry != segmentSize:
		return fmt.Errorf("%w: program headers of %d bytes", ErrTruncated, entry)
	}
	table, err := part(r, size, order.Uint64(head[32:]), count*segmentSize)
	if err != nil {
		return fmt.Errorf("program headers: %w", err)
	}
	var code []Part
	separate := false
	for ; len(table) > 0; table = table[segmentSize:] {
		if order.Uint32(table) == Load {
			offset, n := order.Uint64(table[8:]), order.Uint64(table[32:])
			if err := Holds(size, "segments", offset, n); err != nil {
				return err
			}
			h.Mapped = max(h.Mapped, offset+n)
			const executable, writable = 1, 2
			switch flags := order.Uint32(table[4:]); {
			case flags&executable != 0:
				code = append(code, Part{offset, n})
			default:
				separate = separate || flags&writable == 0
				h.Constants = append(h.Constants, Part{offset, n})
			}
		}
	}
	if !separate {
		h.Constants = append(code, h.Constants...)
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
