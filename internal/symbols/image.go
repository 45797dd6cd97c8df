package symbols

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf8"
)

const (
	// maxNameLen bounds the names of symbols and libraries.
	maxNameLen = 4096
	// maxTable bounds one table that is read into memory.
	maxTable = 1 << 30
	// maxNeeded bounds the list of needed libraries.
	maxNeeded = 1 << 12
)

// image is a file, or the part of a fat file for one architecture. The functions that read it
// end by fail, and parse returns the error.
type image struct{ *io.SectionReader }

// failure is the panic of fail.
type failure struct{ error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// check fails if there is an error.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

func (im image) size() uint64 { return uint64(im.Size()) }

// part returns n bytes from an offset as an image; all of them must lie in the image.
func (im image) part(what string, offset, n uint64) image {
	if offset > im.size() || n > im.size()-offset {
		fail("%s: %w: %d bytes at offset %d of %d are missing", what, ErrTruncated, n, offset, im.size())
	}
	return image{io.NewSectionReader(im, int64(offset), int64(n))}
}

// read returns n bytes from an offset.
func (im image) read(what string, offset, n uint64) []byte {
	part := im.part(what, offset, n)
	if n > maxTable {
		fail("%s: it has %d bytes, the limit is %d", what, n, maxTable)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(part, b)
	check(err)
	return b
}

// table reads n structs of a format, as debug/elf, debug/macho or debug/pe declare them. Their
// parsers would copy the name of every symbol, also if many symbols share one long name.
func table[T any](im image, what string, order binary.ByteOrder, offset uint64, n uint32) []T {
	b := im.read(what, offset, uint64(n)*uint64(binary.Size(*new(T))))
	list := make([]T, n)
	_, err := binary.Decode(b, order, list)
	check(err)
	return list
}

// cstring returns the text at an offset of a string table, up to its zero byte.
func cstring(table []byte, offset uint64) string {
	b := table[min(offset, uint64(len(table))):]
	end := bytes.IndexByte(b[:min(len(b), maxNameLen+1)], 0)
	switch {
	case end < 0 && len(b) > maxNameLen:
		fail("a name is longer than %d bytes", maxNameLen)
	case end < 0:
		fail("%w: a name has no end", ErrTruncated)
	case !utf8.Valid(b[:end]):
		fail("the name %q is not valid UTF-8", b[:end])
	}
	return string(b[:end])
}
