package shipment

import (
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/find"
)

// image is a program as it lies in memory before it runs.
type image struct {
	segments []segment
	needed   []string
}

// segment is a part of the file with its address. Variables are in writable ones.
type segment struct {
	address  uint64
	data     []byte
	writable bool
}

var le = binary.LittleEndian // of each platform that the runtime supports

// readImage reads the segments of a program.
func readImage(path string) (*image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 4)
	if _, err := io.ReadFull(f, head); err != nil {
		return nil, err
	}
	im := &image{}
	switch {
	case string(head) == elf.ELFMAG:
		err = im.readELF(f)
	case strings.HasPrefix(string(head), "MZ"):
		err = im.readPE(f)
	default:
		err = im.readMachO(f)
	}
	return im, err
}

func (im *image) add(address uint64, r io.Reader, writable bool) error {
	data, err := io.ReadAll(r)
	im.segments = append(im.segments, segment{address, data, writable})
	return err
}

func (im *image) readELF(r io.ReaderAt) error {
	f, err := elf.NewFile(r)
	if err != nil {
		return err
	}
	if f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB {
		return fmt.Errorf("a program for %v, %v, on which no library of TVM-FFI is supported", f.Class, f.Data)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			if err := im.add(p.Vaddr, p.Open(), p.Flags&elf.PF_W != 0); err != nil {
				return err
			}
		}
	}
	for _, s := range f.Sections { // a linker of C leaves addresses of a PIE to the loader
		if s.Type != elf.SHT_RELA {
			continue
		}
		table, err := s.Data()
		if err != nil {
			return err
		}
		for ; len(table) >= 24; table = table[24:] {
			kind := elf.R_TYPE64(le.Uint64(table[8:]))
			relative := f.Machine == elf.EM_X86_64 && kind == uint32(elf.R_X86_64_RELATIVE) || f.Machine == elf.EM_AARCH64 && kind == uint32(elf.R_AARCH64_RELATIVE)
			if word := im.at(le.Uint64(table), 8); relative && word != nil {
				copy(word, table[16:24])
			}
		}
	}
	im.needed, err = f.ImportedLibraries()
	return err
}

func (im *image) readMachO(r io.ReaderAt) error {
	f, err := macho.NewFile(r)
	if err != nil {
		return err
	}
	const write = 2
	for _, load := range f.Loads {
		if s, ok := load.(*macho.Segment); ok {
			if err := im.add(s.Addr, s.Open(), s.Prot&write != 0); err != nil {
				return err
			}
		}
	}
	im.needed, err = f.ImportedLibraries()
	return err
}

func (im *image) readPE(r io.ReaderAt) error {
	f, err := pe.NewFile(r)
	if err != nil {
		return err
	}
	head, ok := f.OptionalHeader.(*pe.OptionalHeader64)
	if !ok {
		return fmt.Errorf("a program of 32 bits, on which no library of TVM-FFI is supported")
	}
	for _, s := range f.Sections {
		if err := im.add(head.ImageBase+uint64(s.VirtualAddress), s.Open(), s.Characteristics&pe.IMAGE_SCN_MEM_WRITE != 0); err != nil {
			return err
		}
	}
	symbols, err := f.ImportedSymbols() // SYMBOL:LIBRARY
	for _, symbol := range symbols {
		if name := symbol[strings.LastIndexByte(symbol, ':')+1:]; !slices.Contains(im.needed, name) {
			im.needed = append(im.needed, name)
		}
	}
	return err
}

// at returns n bytes at an address, nil if the file does not have all of them.
func (im *image) at(address, n uint64) []byte {
	for _, s := range im.segments {
		if at := address - s.address; address >= s.address && at <= uint64(len(s.data)) && n <= uint64(len(s.data))-at {
			return s.data[at : at+n]
		}
	}
	return nil
}

// The layouts of what generated code declares, which a test compares: libraries.Library begins with a slice of find.File and an
// address, and the rest is zero until the program runs. A find.File is five strings and a bool.
const (
	word        = 8
	sizeLibrary = 13 * word
	sizeFile    = 11 * word
	mostFiles   = 64 // of one package
	mostName    = 4096
)

// libraries finds the descriptions of libraries in the variables of the program, each once.
func (im *image) libraries() (all []find.File) {
	for _, s := range im.segments {
		if !s.writable {
			continue
		}
		for at := int(-s.address % word); at+sizeLibrary <= len(s.data); at += word {
			v := s.data[at : at+sizeLibrary]
			n := le.Uint64(v[word:])
			if n == 0 || n > mostFiles || le.Uint64(v[2*word:]) != n || !zero(v[4*word:]) {
				continue
			}
			if like := le.Uint64(v[3*word:]); like != 0 && im.at(like, sizeLibrary) == nil {
				continue
			}
			files, ok := im.files(im.at(le.Uint64(v), n*sizeFile))
			for _, f := range files {
				if ok && !slices.ContainsFunc(all, func(have find.File) bool { return have.Name == f.Name }) {
					all = append(all, f)
				}
			}
		}
	}
	return all
}

// files reads an array of find.File, and reports false for anything else.
func (im *image) files(array []byte) (all []find.File, ok bool) {
	for ; len(array) > 0; array = array[sizeFile:] {
		var f find.File
		for i, to := range []*string{&f.Name, &f.SHA256, &f.Package, &f.Version, &f.PathInPackage} {
			address, n := le.Uint64(array[2*i*word:]), le.Uint64(array[(2*i+1)*word:])
			if n > mostName {
				return nil, false
			}
			text := im.at(address, n)
			if n > 0 && text == nil {
				return nil, false
			}
			*to = string(text[:n])
		}
		last := le.Uint64(array[10*word:])
		f.Dependency = last == 1
		if last > 1 || !fileName.MatchString(f.Name) || f.SHA256 != "" && !hash.MatchString(f.SHA256) || (f.Package == "") != (f.PathInPackage == "") {
			return nil, false
		}
		all = append(all, f)
	}
	return all, len(all) > 0
}

var (
	fileName = regexp.MustCompile(`^[^/\\\x00-\x1f]+\.[^/\\\x00-\x1f]+$`)
	hash     = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

func zero(data []byte) bool { return !slices.ContainsFunc(data, func(b byte) bool { return b != 0 }) }
