package symbols

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tvmffi-go/tvmffi/internal/elfheader"
)

// elfImage reads an ELF file by its program headers, like the loader, so
// that it also works where the section headers were stripped.
type elfImage struct {
	image
	order binary.ByteOrder
	is64  bool
	loads []elfheader.Segment
}

// word reads an address-sized number.
func (e *elfImage) word(b []byte) uint64 {
	if e.is64 {
		return e.order.Uint64(b)
	}
	return uint64(e.order.Uint32(b))
}

func readELF(im image) (File, error) {
	f := File{Format: ELF}
	h, err := elfheader.Read(im.r, im.size)
	if h == nil {
		return f, err
	}
	f.GOOS = elfOS(elf.OSABI(h.OSABI))
	f.Archs = []string{elfArch(elf.Machine(h.Machine), h.Is64, h.Order == binary.LittleEndian)}
	if err := checkELFType(elf.Type(h.Type)); err != nil {
		return f, err
	}
	if err != nil {
		return f, err
	}
	e := &elfImage{image: im, order: h.Order, is64: h.Is64}
	dynamic, err := e.dynamic(h.Segments)
	if err != nil {
		return f, err
	}
	d, err := e.readDynamic(dynamic)
	if err != nil {
		return f, err
	}
	if d.flags1&uint64(elf.DF_1_PIE) != 0 {
		return f, errExecutable
	}
	strings, err := e.at(d.strtab, d.strsz)
	if err != nil {
		return f, fmt.Errorf("string table: %w", err)
	}
	if f.Needed, f.ID, err = d.names(strings); err != nil {
		return f, err
	}
	symbols, err := e.symbols(d, strings)
	if err != nil {
		return f, fmt.Errorf("symbol table: %w", err)
	}
	f.collect(symbols)
	return f, nil
}

func checkELFType(t elf.Type) error {
	switch t {
	case elf.ET_DYN:
		return nil
	case elf.ET_REL:
		return errObject
	case elf.ET_EXEC:
		return errExecutable
	}
	return fmt.Errorf("this is an ELF file of type %v, not a shared library", t)
}

// dynamic keeps the segments that are mapped and returns the dynamic section.
func (e *elfImage) dynamic(segments []elfheader.Segment) (dynamic []byte, err error) {
	found := false
	for _, s := range segments {
		switch s.Kind {
		case elfheader.Load:
			e.loads = append(e.loads, s)
		case elfheader.Dynamic:
			if found {
				return nil, errors.New("it has two dynamic sections")
			}
			found = true
			if dynamic, err = e.read(s.Offset, s.Size); err != nil {
				return nil, fmt.Errorf("dynamic section: %w", err)
			}
		}
	}
	if !found {
		return nil, errors.New("it has no dynamic section, so it is not a shared library")
	}
	return dynamic, nil
}

// at reads n bytes at a virtual address.
func (e *elfImage) at(vaddr, n uint64) ([]byte, error) {
	for _, l := range e.loads {
		if delta := vaddr - l.Address; vaddr >= l.Address && delta <= l.Size && n <= l.Size-delta {
			return e.read(l.Offset+delta, n)
		}
	}
	return nil, fmt.Errorf("%w: %d bytes at address %#x are not in the file", ErrTruncated, n, vaddr)
}

type elfDynamic struct {
	needed                            []uint64
	soname, strtab, strsz, symtab     uint64
	hash, gnuHash, flags1             uint64
	hasSoname, hasHash, hasGNU, hasST bool
}

func (e *elfImage) readDynamic(b []byte) (elfDynamic, error) {
	var d elfDynamic
	word := 4
	if e.is64 {
		word = 8
	}
	for ; len(b) >= 2*word && elf.DynTag(e.word(b)) != elf.DT_NULL; b = b[2*word:] {
		value := e.word(b[word:])
		switch elf.DynTag(e.word(b)) {
		case elf.DT_NEEDED:
			if d.needed = append(d.needed, value); len(d.needed) > maxNeeded {
				return d, fmt.Errorf("more than %d needed libraries", maxNeeded)
			}
		case elf.DT_SONAME:
			d.soname, d.hasSoname = value, true
		case elf.DT_STRTAB:
			d.strtab = value
		case elf.DT_STRSZ:
			d.strsz = value
		case elf.DT_SYMTAB:
			d.symtab, d.hasST = value, true
		case elf.DT_HASH:
			d.hash, d.hasHash = value, true
		case elf.DT_GNU_HASH:
			d.gnuHash, d.hasGNU = value, true
		case elf.DT_FLAGS_1:
			d.flags1 = value
		}
	}
	if !d.hasST {
		return d, errors.New("the dynamic section names no symbol table")
	}
	return d, nil
}

// names returns the needed libraries and the soname, which is empty if there is none.
func (d elfDynamic) names(strings []byte) (needed []string, soname string, err error) {
	for _, offset := range d.needed {
		name, err := cstring(strings, offset)
		if err != nil {
			return nil, "", fmt.Errorf("needed library: %w", err)
		}
		needed = append(needed, name)
	}
	if d.hasSoname {
		if soname, err = cstring(strings, d.soname); err != nil {
			return nil, "", fmt.Errorf("soname: %w", err)
		}
	}
	return needed, soname, nil
}

// symbolCount finds the number of dynamic symbols, which only the hash tables contain.
func (e *elfImage) symbolCount(d elfDynamic) (uint64, error) {
	if d.hasHash {
		b, err := e.at(d.hash, 8)
		if err != nil {
			return 0, err
		}
		return uint64(e.order.Uint32(b[4:])), nil
	}
	if !d.hasGNU {
		return 0, errors.New("it has no hash table")
	}
	b, err := e.at(d.gnuHash, 16)
	if err != nil {
		return 0, err
	}
	buckets, first, bloom := uint64(e.order.Uint32(b)), uint64(e.order.Uint32(b[4:])), uint64(e.order.Uint32(b[8:]))
	start := 16 + bloom*4
	if e.is64 {
		start += bloom * 4
	}
	table, err := e.at(d.gnuHash+start, buckets*4)
	if err != nil {
		return 0, err
	}
	last := uint64(0)
	for ; len(table) > 0; table = table[4:] {
		last = max(last, uint64(e.order.Uint32(table)))
	}
	if last < first {
		return first, nil // no exported symbol
	}
	// The chain of the last bucket ends with an odd value.
	const step = 1024
	for address := d.gnuHash + start + buckets*4 + (last-first)*4; ; address += step * 4 {
		n := uint64(step)
		chain, err := e.at(address, n*4)
		for err != nil && n > 1 {
			n /= 2
			chain, err = e.at(address, n*4)
		}
		if err != nil {
			return 0, err
		}
		for i := uint64(0); i < n; i++ {
			last++
			if e.order.Uint32(chain[i*4:])&1 != 0 {
				return last, nil
			}
		}
		address -= (step - n) * 4
	}
}

func (e *elfImage) symbols(d elfDynamic, strings []byte) ([]symbol, error) {
	count, err := e.symbolCount(d)
	if err != nil {
		return nil, err
	}
	entry := uint64(elf.Sym32Size)
	if e.is64 {
		entry = elf.Sym64Size
	}
	table, err := e.at(d.symtab, count*entry)
	if err != nil {
		return nil, err
	}
	var out []symbol
	for ; len(table) > 0; table = table[entry:] {
		name := uint64(e.order.Uint32(table))
		info, other, section := table[12], table[13], e.order.Uint16(table[14:])
		if e.is64 {
			info, other, section = table[4], table[5], e.order.Uint16(table[6:])
		}
		if elf.SectionIndex(section) == elf.SHN_UNDEF || !wanted(peek(strings, name)) {
			continue
		}
		switch elf.ST_BIND(info) {
		case elf.STB_GLOBAL, elf.STB_WEAK, elf.STB_LOOS: // LOOS is GNU_UNIQUE
		default:
			continue
		}
		if v := elf.ST_VISIBILITY(other); v == elf.STV_HIDDEN || v == elf.STV_INTERNAL {
			continue
		}
		text, err := cstring(strings, name)
		if err != nil {
			return nil, err
		}
		kind := elf.ST_TYPE(info)
		data := kind == elf.STT_OBJECT || kind == elf.STT_TLS || kind == elf.STT_COMMON
		if out, err = add(out, symbol{text, data}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func elfOS(abi elf.OSABI) string {
	switch abi {
	case elf.ELFOSABI_NONE, elf.ELFOSABI_LINUX:
		return "linux"
	case elf.ELFOSABI_FREEBSD:
		return "freebsd"
	case elf.ELFOSABI_NETBSD:
		return "netbsd"
	case elf.ELFOSABI_OPENBSD:
		return "openbsd"
	case elf.ELFOSABI_SOLARIS:
		return "solaris"
	}
	return abi.String()
}

func elfArch(m elf.Machine, is64, little bool) string {
	switch {
	case m == elf.EM_X86_64 && is64:
		return "amd64"
	case m == elf.EM_AARCH64 && is64 && little:
		return "arm64"
	case m == elf.EM_386:
		return "386"
	case m == elf.EM_ARM && little:
		return "arm"
	case m == elf.EM_RISCV && is64:
		return "riscv64"
	case m == elf.EM_PPC64 && little:
		return "ppc64le"
	case m == elf.EM_PPC64:
		return "ppc64"
	case m == elf.EM_S390 && is64:
		return "s390x"
	case m == elf.EM_LOONGARCH && is64:
		return "loong64"
	}
	return m.String()
}
