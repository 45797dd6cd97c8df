package elfheader_test

import (
	"debug/elf"
	"testing"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/elfheader"
)

// TestLoaded compares with debug/elf, which programs of users do not link.
func TestLoaded(t *testing.T) {
	for ours, theirs := range map[elfheader.Tag]elf.DynTag{
		elfheader.Null: elf.DT_NULL, elfheader.PLTRelSize: elf.DT_PLTRELSZ, elfheader.Hash: elf.DT_HASH, elfheader.Names: elf.DT_STRTAB, elfheader.Symbols: elf.DT_SYMTAB, elfheader.Rela: elf.DT_RELA,
		elfheader.NamesSize: elf.DT_STRSZ, elfheader.Rel: elf.DT_REL, elfheader.JmpRel: elf.DT_JMPREL, elfheader.GNUHash: elf.DT_GNU_HASH, elfheader.VerSym: elf.DT_VERSYM,
		elfheader.VerDef: elf.DT_VERDEF, elfheader.VerNeed: elf.DT_VERNEED,
	} {
		if ours != elfheader.Tag(theirs) {
			t.Errorf("%v is %#x, want %#x", theirs, ours, int(theirs))
		}
	}
	var header elf.Header64
	var segment elf.Prog64
	var s, theirs = elfheader.Symbol{}, elf.Sym64{}
	for _, c := range []struct {
		what       string
		have, want uintptr
	}{
		{"e_phoff", elfheader.SegmentsOffset, unsafe.Offsetof(header.Phoff)},
		{"e_ehsize", elfheader.SizesOffset, unsafe.Offsetof(header.Ehsize)},
		{"e_phnum", elfheader.SizesOffset + 4, unsafe.Offsetof(header.Phnum)},
		{"p_offset", elfheader.OffOffset, unsafe.Offsetof(segment.Off)},
		{"p_vaddr", elfheader.VaddrOffset, unsafe.Offsetof(segment.Vaddr)},
		{"PT_LOAD", elfheader.Load, uintptr(elf.PT_LOAD)},
		{"PT_DYNAMIC", elfheader.Dynamic, uintptr(elf.PT_DYNAMIC)},
		{"STT_FUNC", elfheader.Func, uintptr(elf.STT_FUNC)},
		{"STT_GNU_IFUNC", elfheader.IFunc, uintptr(elf.STT_GNU_IFUNC)},
		{"the size of a symbol", unsafe.Sizeof(s), elf.Sym64Size},
		{"SymbolSize", elfheader.SymbolSize, elf.Sym64Size},
		{"st_info", unsafe.Offsetof(s.Info), unsafe.Offsetof(theirs.Info)},
		{"st_shndx", unsafe.Offsetof(s.Shndx), unsafe.Offsetof(theirs.Shndx)},
		{"st_value", unsafe.Offsetof(s.Value), unsafe.Offsetof(theirs.Value)},
		{"st_size", unsafe.Offsetof(s.Size), unsafe.Offsetof(theirs.Size)},
	} {
		if c.have != c.want {
			t.Errorf("%s is %d, want %d", c.what, c.have, c.want)
		}
	}
}
