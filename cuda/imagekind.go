package cuda

import (
	"bytes"
	"encoding/binary"
)

// ImageKind is the form of compiled code.
type ImageKind int

// The forms of code. LoadModule takes PTX, cubins and fatbins, and no LTO IR: that is for a linker.
const (
	ImageUnknown ImageKind = iota
	ImagePTX               // text that the driver compiles
	ImageCubin             // machine code for one architecture
	ImageFatbin            // several cubins and PTX in one file
	ImageLTOIR             // code for optimisation by the linker
)

// String names the form for messages, with its article.
func (k ImageKind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		k = ImageUnknown
	}
	return kindNames[k]
}

var kindNames = [...]string{"code of an unknown form", "PTX", "a cubin", "a fatbin", "LTO IR"}

// The beginnings of files, by which their form is known.
var (
	elfMagic    = []byte("\x7fELF")
	fatbinMagic = []byte("\x50\xed\x55\xba")
	ltoMagic    = []byte("\xed\x43\x4e\x7f")
)

const machineCUDA = 190 // e_machine of a cubin

// KindOf returns the form of code, which it knows from its bytes. It does not check that they are complete.
func KindOf(image []byte) ImageKind {
	switch {
	case bytes.HasPrefix(image, elfMagic):
		if len(image) >= 20 && binary.LittleEndian.Uint16(image[18:]) == machineCUDA {
			return ImageCubin
		}
	case bytes.HasPrefix(image, fatbinMagic):
		return ImageFatbin
	case bytes.HasPrefix(image, ltoMagic):
		return ImageLTOIR
	case bytes.IndexByte(bytes.TrimRight(image, "\x00"), 0) < 0 && bytes.Contains(image, []byte(".version")):
		return ImagePTX
	}
	return ImageUnknown
}

// paramKind is what the code says of a parameter.
type paramKind uint8

const (
	paramOther paramKind = iota
	paramPointer
	paramFloat
	paramInt
)

// paramKinds returns what the parameters of kernels are, by the name of the kernel, where PTX says so. It marks pointers by .ptr if
// LLVM has made it; the compilers of NVIDIA do not.
func paramKinds(image []byte) map[string][]paramKind {
	if KindOf(image) != ImagePTX {
		return nil
	}
	kernels := map[string][]paramKind{}
	for {
		before, after, found := bytes.Cut(image, []byte(".entry"))
		if !found {
			return kernels
		}
		image = after
		line := before[bytes.LastIndexByte(before, '\n')+1:]
		name, rest, hasParams := bytes.Cut(after, []byte("("))
		params, _, ends := bytes.Cut(rest, []byte(")"))
		if !hasParams || !ends || bytes.Contains(line, []byte("//")) || bytes.ContainsAny(name, "{;/") || bytes.ContainsRune(params, '/') {
			continue // a kernel without parameters, or a comment
		}
		var kinds []paramKind
		for param := range bytes.SplitSeq(params, []byte(",")) {
			kind := paramOther
			for word := range bytes.FieldsSeq(param) {
				switch string(word) {
				case ".ptr":
					kind = paramPointer
				case ".f16", ".f32", ".f64":
					kind = paramFloat
				case ".u8", ".u16", ".u32", ".u64", ".s8", ".s16", ".s32", ".s64":
					if kind != paramPointer {
						kind = paramInt
					}
				}
			}
			if kind != paramPointer && bytes.IndexByte(param, '[') >= 0 {
				kind = paramOther // an array
			}
			kinds = append(kinds, kind)
		}
		kernels[string(bytes.TrimSpace(name))] = kinds
	}
}

const elfHeader = 64

// inside reports whether n bytes from at on are a part of data.
func inside(data []byte, at, n uint64) bool {
	size := uint64(len(data))
	return at <= size && n <= size-at
}

// wholeCubin reports whether the parts of a cubin are inside it.
func wholeCubin(image []byte) bool {
	const noBits = 8
	le := binary.LittleEndian
	if len(image) < elfHeader || !bytes.HasPrefix(image, elfMagic) {
		return false
	}
	segments, segment := le.Uint64(image[32:]), uint64(le.Uint16(image[54:]))
	for i := range uint64(le.Uint16(image[56:])) {
		p := segments + i*segment
		if segment < 56 || !inside(image, segments, (i+1)*segment) || !inside(image, le.Uint64(image[p+8:]), le.Uint64(image[p+32:])) {
			return false
		}
	}
	sections, section := le.Uint64(image[40:]), uint64(le.Uint16(image[58:]))
	for i := range uint64(le.Uint16(image[60:])) {
		p := sections + i*section
		if section < 64 || !inside(image, sections, (i+1)*section) {
			return false
		}
		if le.Uint32(image[p+4:]) != noBits && !inside(image, le.Uint64(image[p+24:]), le.Uint64(image[p+32:])) {
			return false
		}
	}
	return true
}

// wholeFatbin reports whether the images of a fatbin are inside it, and cubins that are not
// compressed are whole. The fatbin begins with the size of its header at 6 and that of all entries
// at 8. An entry begins with its kind, the size of its header at 4, that of its image at 8, and
// flags at 40.
func wholeFatbin(image []byte) bool {
	const header, entryHeader, cubin, compressed = 16, 64, 2, 0xa000
	le := binary.LittleEndian
	if len(image) < header || !inside(image, uint64(le.Uint16(image[6:])), le.Uint64(image[8:])) {
		return false
	}
	from := uint64(le.Uint16(image[6:]))
	if from < header {
		return false
	}
	for rest := image[from : from+le.Uint64(image[8:])]; len(rest) > 0; {
		if len(rest) < entryHeader {
			return false
		}
		at, size := uint64(le.Uint32(rest[4:])), le.Uint64(rest[8:])
		if at < entryHeader || !inside(rest, at, size) {
			return false
		}
		if le.Uint16(rest) == cubin && le.Uint64(rest[40:])&compressed == 0 && !wholeCubin(rest[at:at+size]) {
			return false
		}
		rest = rest[at+size:]
	}
	return true
}
