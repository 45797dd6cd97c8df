package cuda_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
)

// The kinds of images in a fatbin.
const (
	fatPTX   = 1
	fatCubin = 2
)

// fatImage is an image in a fatbin.
type fatImage struct {
	kind uint16
	arch uint32
	data []byte
}

// fatbin assembles a fatbin, as fatbinary with --compress=false does.
func fatbin(images ...fatImage) []byte {
	le := binary.LittleEndian
	data := make([]byte, 16)
	copy(data, "\x50\xed\x55\xba\x01\x00\x10\x00")
	for _, im := range images {
		entry := make([]byte, 64)
		size := (len(im.data) + 7) / 8 * 8
		le.PutUint16(entry, im.kind)
		le.PutUint16(entry[2:], 0x101)
		le.PutUint32(entry[4:], uint32(len(entry)))
		le.PutUint64(entry[8:], uint64(size))
		le.PutUint32(entry[28:], im.arch)
		le.PutUint64(entry[40:], 0x11)
		data = append(append(data, entry...), im.data...)
		data = append(data, make([]byte, size-len(im.data))...)
	}
	le.PutUint64(data[8:], uint64(len(data)-16))
	return data
}

// smallCubin is an ELF file with the header of a cubin and two sections without names.
func smallCubin() []byte {
	elf := make([]byte, 256)
	copy(elf, "\x7fELF\x02\x01\x01")
	elf[18] = 190
	elf[40], elf[58], elf[60] = 128, 64, 2 // two sections of 64 bytes at 128
	return elf
}

// TestFatbin_broken has fatbins of which the driver would read what is behind their end.
func TestFatbin_broken(t *testing.T) {
	f := load(t)
	code, text := fatImage{fatCubin, 90, smallCubin()}, fatImage{fatPTX, 70, []byte(ptx)}
	whole := fatbin(text, code)
	m := must[*cuda.Module](t)(cuda.Device(0).LoadModule(whole))
	ok(t, m.Close())
	f.calls()
	second := 16 + 64 + (len(ptx)+7)/8*8
	change := func(at int, value uint64) []byte {
		data := slices.Clone(whole)
		binary.LittleEndian.PutUint64(data[at:], value)
		return data
	}
	short := slices.Clone(whole[:second+32])
	binary.LittleEndian.PutUint64(short[8:], uint64(len(short)-16))
	cut := code
	cut.data = cut.data[:len(cut.data)-16]
	for name, image := range map[string][]byte{
		"a size beyond the end":       change(16+8, uint64(len(whole))),
		"a huge size":                 change(second+8, 1<<64-1),
		"a header beyond the end":     change(second, 1<<62|fatCubin),
		"a header of no bytes":        change(second, fatCubin),
		"a tail without an image":     short,
		"a cubin that was cut off":    fatbin(cut),
		"a cubin that is not one":     fatbin(fatImage{kind: fatCubin, arch: 90, data: []byte("text of 16 bytes")}),
		"a header of the fatbin of 8": change(0, 0x0008_0001_ba55_ed50),
	} {
		_, err := cuda.Device(0).LoadModule(image)
		var e *cuda.Error
		if !errors.As(err, &e) || e.Number != int(cuda.ErrInvalidImage) || !strings.Contains(err.Error(), "the image is a fatbin that was cut off") {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.expect() // none of them reached the driver
}
