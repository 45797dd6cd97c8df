package cuda_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
)

// The kinds of images in a fatbin; fatIR is one that the driver does not load.
const (
	fatPTX   = 1
	fatCubin = 2
	fatIR    = 8
)

// fatImage is an image in a fatbin. zstd says that it counts as compressed, which it is not.
type fatImage struct {
	kind uint16
	arch uint32
	zstd bool
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
		if im.zstd {
			le.PutUint32(entry[16:], uint32(len(im.data)))
			le.PutUint64(entry[40:], 0x8011)
		}
		data = append(append(data, entry...), im.data...)
		data = append(data, make([]byte, size-len(im.data))...)
	}
	le.PutUint64(data[8:], uint64(len(data)-16))
	return data
}

func ptxOf(arch uint32, kernel, version string) fatImage {
	return fatImage{kind: fatPTX, arch: arch, data: fmt.Appendf(nil, ".version %s\n.target sm_%d\n.visible .entry %s(.param .u64 x) { ret; }\n", version, arch, kernel)}
}

// cubinOf makes a cubin with one kernel, which has no parameters: an ELF file with the section .nv.info.NAME.
func cubinOf(arch uint32, kernel string) fatImage {
	le := binary.LittleEndian
	names := "\x00.nv.info." + kernel + "\x00.shstrtab\x00"
	code := make([]byte, 64, 512)
	copy(code, "\x7fELF\x02\x01\x01\x00\x07")
	le.PutUint16(code[18:], 190)
	le.PutUint32(code[48:], arch)
	for at, v := range map[int]uint16{58: 64, 60: 3, 62: 2} { // the size, number and names of sections
		le.PutUint16(code[at:], v)
	}
	code = append(code, names...)
	code = append(code, make([]byte, -len(code)&15)...)
	le.PutUint64(code[40:], uint64(len(code)))
	sections := make([]byte, 3*64)
	le.PutUint32(sections[64:], 1)
	le.PutUint32(sections[64+4:], 0x70000000)
	le.PutUint64(sections[64+24:], 64)
	le.PutUint32(sections[128:], uint32(len(names)-len(".shstrtab\x00")))
	le.PutUint32(sections[128+4:], 3)
	le.PutUint64(sections[128+24:], 64)
	le.PutUint64(sections[128+32:], uint64(len(names)))
	return fatImage{kind: fatCubin, arch: arch, data: append(code, sections...)}
}

// TestFatbin_broken has fatbins of which the driver would read what is behind their end.
func TestFatbin_broken(t *testing.T) {
	f := load(t)
	code := cubinOf(90, "c90")
	whole := fatbin(ptxOf(70, "p70", "8.0"), code)
	m := must[*cuda.Module](t)(cuda.Device(0).LoadModule(whole))
	ok(t, m.Close())
	f.calls()
	second := 16 + 64 + (len(ptxOf(70, "p70", "8.0").data)+7)/8*8
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
