package symbols

import (
	"debug/elf"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/elfheader"
)

func readELF(im image) File {
	h, err := elfheader.Read(im, im.size())
	if h == nil {
		check(err)
	}
	switch t := elf.Type(h.Type); t {
	case elf.ET_DYN:
		check(err)
	case elf.ET_REL:
		check(errObject)
	case elf.ET_EXEC:
		check(errExecutable)
	default:
		fail("this is an ELF file of type %v, not a shared library", t)
	}
	f := File{Format: ELF, GOOS: elfOS(elf.OSABI(h.OSABI)), Archs: []string{elfArch(h)}}
	if !h.Is64 {
		return f // no program of this module can load it
	}
	head := table[elf.Header64](im, "header", h.Order, 0, 1)[0]
	e := elfImage{im, h.Order, table[elf.Section64](im, "section headers", h.Order, head.Shoff, uint32(head.Shnum))}
	if len(e.sections) == 0 {
		fail("its section headers were removed, so its symbols cannot be found; name the library as the linker wrote it")
	}
	e.dynamic(&f)
	e.symbols(&f)
	return f
}

type elfImage struct {
	image
	order    binary.ByteOrder
	sections []elf.Section64
}

// elfSection reads the entries of the section of a kind, and the strings that they name.
func elfSection[T any](e elfImage, kind elf.SectionType, what string) (entries []T, strings []byte) {
	for _, s := range e.sections {
		if elf.SectionType(s.Type) != kind {
			continue
		}
		if s.Size > maxTable || s.Link >= uint32(len(e.sections)) {
			fail("%s: %w: it has %d bytes, and its names are in section %d of %d", what, ErrTruncated, s.Size, s.Link, len(e.sections))
		}
		link := e.sections[s.Link]
		n := uint32(s.Size) / uint32(binary.Size(*new(T)))
		return table[T](e.image, what, e.order, s.Off, n), e.read("string table", link.Off, link.Size)
	}
	fail("it has no %s, so it is not a shared library", what)
	return nil, nil
}

// dynamic reads the needed libraries and the soname.
func (e elfImage) dynamic(f *File) {
	entries, strings := elfSection[elf.Dyn64](e, elf.SHT_DYNAMIC, "dynamic section")
	own := false
	for _, d := range entries {
		switch elf.DynTag(d.Tag) {
		case elf.DT_NULL:
			return
		case elf.DT_NEEDED:
			f.need(cstring(strings, d.Val))
		case elf.DT_SONAME:
			f.ID = cstring(strings, d.Val)
		case elf.DT_RUNPATH: // takes the place of RPATH
			f.Folders, f.Inherited, own = nil, false, true
			f.search(splitPath(cstring(strings, d.Val))...)
		case elf.DT_RPATH:
			if !own {
				f.search(splitPath(cstring(strings, d.Val))...)
				f.Inherited = true
			}
		case elf.DT_FLAGS_1:
			if elf.DynFlag1(d.Val)&elf.DF_1_PIE != 0 {
				check(errExecutable)
			}
		}
	}
}

// splitPath divides a list of folders of ELF, which has colons on each system that reads it.
func splitPath(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ":"), func(dir string) bool { return dir == "" })
}

func (e elfImage) symbols(f *File) {
	entries, strings := elfSection[elf.Sym64](e, elf.SHT_DYNSYM, "symbol table")
	var list symbolList
	for _, s := range entries {
		bind, visible, kind := elf.ST_BIND(s.Info), elf.ST_VISIBILITY(s.Other), elf.ST_TYPE(s.Info)
		if elf.SectionIndex(s.Shndx) == elf.SHN_UNDEF {
			f.imports(strings, uint64(s.Name), bind == elf.STB_WEAK)
			continue
		}
		if visible == elf.STV_HIDDEN || visible == elf.STV_INTERNAL {
			continue
		}
		if bind == elf.STB_GLOBAL || bind == elf.STB_WEAK || bind == elf.STB_LOOS { // LOOS is GNU_UNIQUE
			list.add(strings, uint64(s.Name), kind == elf.STT_OBJECT || kind == elf.STT_TLS || kind == elf.STT_COMMON)
		}
	}
	f.collect(list)
}

func elfOS(abi elf.OSABI) string {
	if abi == elf.ELFOSABI_NONE {
		return "linux"
	}
	return strings.ToLower(strings.TrimPrefix(abi.String(), "ELFOSABI_"))
}

// elfArch returns the architecture in Go's words where Go has the platform.
func elfArch(h *elfheader.Header) string {
	m := elf.Machine(h.Machine)
	if h.Is64 {
		switch {
		case m == elf.EM_X86_64:
			return "amd64"
		case m == elf.EM_AARCH64 && h.Order == binary.LittleEndian:
			return "arm64"
		case m == elf.EM_RISCV:
			return "riscv64"
		case m == elf.EM_PPC64 && h.Order == binary.LittleEndian:
			return "ppc64le"
		case m == elf.EM_S390:
			return "s390x"
		case m == elf.EM_LOONGARCH:
			return "loong64"
		}
	}
	return strings.ToLower(strings.TrimPrefix(m.String(), "EM_")) // such as 386, arm, ppc64
}
