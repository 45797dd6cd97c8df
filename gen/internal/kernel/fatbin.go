package kernel

import (
	"encoding/binary"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// A fatbin is a header and then entries, each with a header and one image:
//
//	header  0 magic, 4 version, 6 size of the header, 8 size of all entries
//	entry   0 kind, 4 size of the header, 8 size of what follows, 16 compressed size,
//	        40 flags, 56 size before compression
//
// Numbers are little endian. The data after it is padded: the compressed size is that
// without the padding, and 0 if nothing is compressed.
const (
	fatMagic  = 0xBA55ED50
	fatHeader = 16
	fatEntry  = 64

	fatPTX   = 1
	fatCubin = 2

	fatLZ4  = 0x2000
	fatZstd = 0x8000

	// mostInflated is more than images have; a broken size is not allocated.
	mostInflated = 1 << 28
)

// fatbinEntries lists the kernels of all images in a fatbin, with those that several images have; not ok if one of them
// cannot be read. A device takes one image, and not each has to have every kernel,
// because a program may ask for the architecture. Every size is checked, because the
// file is foreign.
func fatbinEntries(data []byte) (entries []entry, ok bool) {
	le := binary.LittleEndian
	if len(data) < fatHeader || le.Uint32(data) != fatMagic {
		return nil, false
	}
	header, size := uint64(le.Uint16(data[6:])), le.Uint64(data[8:])
	if header < fatHeader || header > uint64(len(data)) || size != uint64(len(data))-header {
		return nil, false // cut off, or more than one fatbin
	}
	for data = data[header:]; len(data) > 0; {
		if len(data) < fatEntry {
			return nil, false
		}
		header, size := uint64(le.Uint32(data[4:])), le.Uint64(data[8:])
		if header < fatEntry || header > uint64(len(data)) || size > uint64(len(data))-header {
			return nil, false
		}
		image, ok := fatImage(data, data[header:header+size])
		if !ok {
			return nil, false
		}
		var found []entry
		switch kind := le.Uint16(data); kind {
		case fatPTX:
			found, ok = ptxEntries(image)
		case fatCubin:
			found, ok = cubinEntries(image)
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
		entries = append(entries, found...)
		data = data[header+size:]
	}
	return entries, true
}

// fatImage returns the image of an entry as it was before compression.
func fatImage(entry, payload []byte) (image []byte, ok bool) {
	le := binary.LittleEndian
	packed, flags, size := uint64(le.Uint32(entry[16:])), le.Uint64(entry[40:]), le.Uint64(entry[56:])
	if packed == 0 && flags&(fatLZ4|fatZstd) == 0 {
		return payload, true
	}
	if packed > uint64(len(payload)) || size > mostInflated {
		return nil, false
	}
	switch payload = payload[:packed]; flags & (fatLZ4 | fatZstd) {
	case fatLZ4:
		image = make([]byte, size)
		n, err := lz4.UncompressBlock(payload, image)
		return image, err == nil && uint64(n) == size
	case fatZstd:
		r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostInflated))
		if err != nil {
			return nil, false
		}
		defer r.Close()
		image, err = r.DecodeAll(payload, nil)
		return image, err == nil && uint64(len(image)) == size
	}
	return nil, false
}
