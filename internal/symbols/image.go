package symbols

import (
	"bytes"
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

// image is a file, or the part of a fat file for one architecture.
type image struct {
	r    io.ReaderAt
	base uint64
	size uint64
}

// read returns n bytes from an offset; all of them must lie in the image.
func (im image) read(offset, n uint64) ([]byte, error) {
	if offset > im.size || n > im.size-offset {
		return nil, fmt.Errorf("%w: %d bytes at offset %d of %d are missing", ErrTruncated, n, offset, im.size)
	}
	if n > maxTable {
		return nil, fmt.Errorf("a table has %d bytes, the limit is %d", n, maxTable)
	}
	b := make([]byte, n)
	if _, err := im.r.ReadAt(b, int64(im.base+offset)); err != nil { // the offset is within maxFileSize
		return nil, fmt.Errorf("read %d bytes at offset %d: %w", n, im.base+offset, err)
	}
	return b, nil
}

// part returns a part of the image.
func (im image) part(offset, n uint64) (image, error) {
	if offset > im.size || n > im.size-offset {
		return image{}, fmt.Errorf("%w: %d bytes at offset %d of %d are missing", ErrTruncated, n, offset, im.size)
	}
	return image{r: im.r, base: im.base + offset, size: n}, nil
}

// cstring returns the text at an offset of a string table, up to its zero byte.
func cstring(table []byte, offset uint64) (string, error) {
	if offset >= uint64(len(table)) {
		return "", fmt.Errorf("%w: a name lies outside its table", ErrTruncated)
	}
	b := table[offset:]
	end := bytes.IndexByte(b[:min(len(b), maxNameLen+1)], 0)
	switch {
	case end < 0 && len(b) > maxNameLen:
		return "", fmt.Errorf("a name is longer than %d bytes", maxNameLen)
	case end < 0:
		return "", fmt.Errorf("%w: a name has no end", ErrTruncated)
	case !utf8.Valid(b[:end]):
		return "", fmt.Errorf("the name %q is not valid UTF-8", b[:end])
	}
	return string(b[:end]), nil
}

// peek returns the start of the text at an offset, enough for wanted.
func peek(table []byte, offset uint64) string {
	if offset >= uint64(len(table)) {
		return ""
	}
	b := table[offset:]
	return string(b[:min(len(b), len(functionPrefix))])
}
