package symbols

import (
	"debug/macho"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/elfheader"
)

// Load commands that debug/macho does not name.
const (
	loadIDDylib         = 0xd
	loadWeakDylib       = 0x80000018
	loadReexportDylib   = 0x8000001f
	loadUpwardDylib     = 0x80000023
	loadDyldInfo        = 0x22
	loadDyldInfoOnly    = 0x80000022
	loadDyldExportsTrie = 0x80000033
	loadBuildVersion    = 0x32
	loadVersionMinIOS   = 0x25
)

const (
	maxCommands = 16 << 20 // bytes of load commands
	maxSlices   = 32
	magicFat64  = macho.MagicFat + 1
)

func isMachO(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	little, big := binary.LittleEndian.Uint32(head), binary.BigEndian.Uint32(head)
	return little == macho.Magic64 || little == macho.Magic32 || big == macho.Magic64 || big == macho.Magic32
}

func isFat(head []byte) bool {
	if len(head) < 8 {
		return false
	}
	magic, count := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:])
	// Java classes have the same magic; what follows is their version, 45 or more.
	return (magic == macho.MagicFat || magic == magicFat64) && count <= maxSlices
}

// readFat reads every architecture of a fat file. Except for the functions, it
// reports what the first one has.
func readFat(im image) (File, error) {
	head, err := im.read(0, 8)
	if err != nil {
		return File{}, err
	}
	count, entry := uint64(binary.BigEndian.Uint32(head[4:])), uint64(20)
	if binary.BigEndian.Uint32(head) == magicFat64 {
		entry = 32
	}
	if count == 0 {
		return File{}, errors.New("it is a fat Mach-O file without any architecture")
	}
	table, err := im.read(8, count*entry)
	if err != nil {
		return File{}, err
	}
	var out File
	for i := range int(count) {
		b := table[uint64(i)*entry:]
		offset, size := uint64(binary.BigEndian.Uint32(b[8:])), uint64(binary.BigEndian.Uint32(b[12:]))
		if entry == 32 {
			offset, size = binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])
		}
		part, err := im.part(offset, size)
		if err != nil {
			return File{}, fmt.Errorf("architecture %d: %w", i, err)
		}
		head, err := part.read(0, 4)
		if err != nil || !isMachO(head) {
			return File{}, fmt.Errorf("architecture %d is not a Mach-O library", i)
		}
		f, err := readMachO(part)
		if err != nil {
			return File{}, fmt.Errorf("architecture %d: %w", i, err)
		}
		if i == 0 {
			out = f
			continue
		}
		if f.GOOS != out.GOOS {
			return File{}, fmt.Errorf("it is for %s and for %s at once", out.GOOS, f.GOOS)
		}
		out.Archs = append(out.Archs, f.Archs...)
		out.Functions = slices.DeleteFunc(out.Functions, func(g Function) bool { return !slices.Contains(f.Functions, g) })
	}
	return out, nil
}

type machoImage struct {
	image
	order binary.ByteOrder
	is64  bool
}

func readMachO(im image) (File, error) {
	f := File{Format: MachO, GOOS: "darwin"}
	head, err := im.read(0, 28)
	if err != nil {
		return f, err
	}
	m := machoImage{image: im, order: binary.LittleEndian}
	if magic := binary.BigEndian.Uint32(head); magic == macho.Magic64 || magic == macho.Magic32 {
		m.order = binary.BigEndian
	}
	m.is64 = m.order.Uint32(head) == macho.Magic64
	f.Archs = []string{machoArch(macho.Cpu(m.order.Uint32(head[4:])))}
	if err := checkMachOType(m.order.Uint32(head[12:])); err != nil {
		return f, err
	}
	start := uint64(28)
	if m.is64 {
		start = 32
	}
	count, size := m.order.Uint32(head[16:]), uint64(m.order.Uint32(head[20:]))
	if size > maxCommands {
		return f, fmt.Errorf("the load commands have %d bytes, the limit is %d", size, maxCommands)
	}
	commands, err := im.read(start, size)
	if err != nil {
		return f, fmt.Errorf("load commands: %w", err)
	}
	tables, err := m.loadCommands(&f, commands, count)
	if err != nil {
		return f, err
	}
	symbols, err := m.symbols(tables)
	if err != nil {
		return f, fmt.Errorf("exported symbols: %w", err)
	}
	f.collect(symbols)
	return f, nil
}

func checkMachOType(t uint32) error {
	const dylibStub, dsym = 9, 10
	switch t {
	case uint32(macho.TypeDylib), uint32(macho.TypeBundle):
		return nil
	case uint32(macho.TypeObj):
		return errObject
	case uint32(macho.TypeExec):
		return errExecutable
	case dsym:
		return errors.New("this holds debug information only (dSYM); name the library it belongs to")
	case dylibStub:
		return errors.New("this is a stub for a linker; name the library it stands for")
	}
	return fmt.Errorf("this is a Mach-O file of type %d, not a shared library", t)
}

// machoTables says where the exported symbols are.
type machoTables struct {
	symtab []byte // the load command of the symbol table
	trie   []byte // begins with the offset and the size of the export trie
}

// loadCommands reads what the load commands say about the library into f.
func (m machoImage) loadCommands(f *File, commands []byte, count uint32) (machoTables, error) {
	var tables machoTables
	for i := range count {
		if len(commands) < 8 {
			return tables, fmt.Errorf("%w: load command %d is missing", ErrTruncated, i)
		}
		kind, size := m.order.Uint32(commands), uint64(m.order.Uint32(commands[4:]))
		if size < 8 || size > uint64(len(commands)) || size < minCommandSize(kind) {
			return tables, fmt.Errorf("%w: load command %d has %d bytes", ErrTruncated, i, size)
		}
		if err := m.loadCommand(f, &tables, kind, commands[:size]); err != nil {
			return tables, fmt.Errorf("load command %d: %w", i, err)
		}
		commands = commands[size:]
	}
	return tables, nil
}

// minCommandSize returns the size of the part of a load command that loadCommand reads.
func minCommandSize(kind uint32) uint64 {
	switch kind {
	case loadIDDylib, uint32(macho.LoadCmdDylib), loadWeakDylib, loadReexportDylib, loadUpwardDylib, loadBuildVersion:
		return 12
	case uint32(macho.LoadCmdSymtab):
		return 24
	case uint32(macho.LoadCmdSegment):
		return 56
	case uint32(macho.LoadCmdSegment64):
		return 72
	case loadDyldInfo, loadDyldInfoOnly:
		return 48
	case loadDyldExportsTrie:
		return 16
	}
	return 8
}

func (m machoImage) loadCommand(f *File, tables *machoTables, kind uint32, c []byte) (err error) {
	switch kind {
	case loadIDDylib:
		f.ID, err = cstring(c, uint64(m.order.Uint32(c[8:])))
	case uint32(macho.LoadCmdDylib), loadWeakDylib, loadReexportDylib, loadUpwardDylib:
		var name string
		name, err = cstring(c, uint64(m.order.Uint32(c[8:])))
		if f.Needed = append(f.Needed, name); len(f.Needed) > maxNeeded {
			err = fmt.Errorf("more than %d needed libraries", maxNeeded)
		}
	case uint32(macho.LoadCmdSegment):
		err = elfheader.Holds(m.size, "segments", uint64(m.order.Uint32(c[32:])), uint64(m.order.Uint32(c[36:])))
	case uint32(macho.LoadCmdSegment64):
		err = elfheader.Holds(m.size, "segments", m.order.Uint64(c[40:]), m.order.Uint64(c[48:]))
	case uint32(macho.LoadCmdSymtab):
		tables.symtab = c
	case loadDyldInfo, loadDyldInfoOnly:
		tables.trie = c[40:]
	case loadDyldExportsTrie:
		tables.trie = c[8:]
	case loadBuildVersion:
		f.GOOS = applePlatform(m.order.Uint32(c[8:]))
	case loadVersionMinIOS:
		f.GOOS = "ios"
	}
	return err
}

// symbols prefers the trie, because the loader uses it too.
func (m machoImage) symbols(t machoTables) ([]symbol, error) {
	switch {
	case t.trie != nil:
		return m.exports(uint64(m.order.Uint32(t.trie)), uint64(m.order.Uint32(t.trie[4:])))
	case t.symtab != nil:
		return m.symtab(t.symtab)
	}
	return nil, nil
}

// wantedPrefixes are the starts of the names to look for in the export trie;
// C names have an underscore in front.
var wantedPrefixes = []string{"_" + functionPrefix, "_" + apiPrefix}

// exports walks the trie in which the loader looks up exported symbols. A
// branch that cannot lead to a wanted name is left out.
func (m machoImage) exports(offset, size uint64) ([]symbol, error) {
	trie, err := m.read(offset, size)
	if err != nil || size == 0 {
		return nil, err
	}
	type node struct {
		offset uint64
		name   string
	}
	var out []symbol
	seen := map[uint64]bool{}
	for stack := []node{{}}; len(stack) > 0; {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if n.offset >= size || seen[n.offset] {
			return nil, fmt.Errorf("%w: the export trie has a bad node", ErrTruncated)
		}
		seen[n.offset] = true
		b := trie[n.offset:]
		terminal, k := binary.Uvarint(b)
		if k <= 0 || terminal >= uint64(len(b)-k) {
			return nil, fmt.Errorf("%w: the export trie has a bad node", ErrTruncated)
		}
		if name, ok := strings.CutPrefix(n.name, "_"); ok && terminal > 0 && wanted(name) {
			if out, err = add(out, symbol{name: name}); err != nil {
				return nil, err
			}
		}
		b = b[uint64(k)+terminal:]
		children := b[0]
		b = b[1:]
		for range children {
			edge, err := cstring(b, 0)
			if err != nil {
				return nil, fmt.Errorf("export trie: %w", err)
			}
			b = b[len(edge)+1:]
			child, k := binary.Uvarint(b)
			if k <= 0 {
				return nil, fmt.Errorf("%w: the export trie has a bad edge", ErrTruncated)
			}
			b = b[k:]
			name := n.name + edge
			if len(name) > maxNameLen {
				return nil, fmt.Errorf("a name is longer than %d bytes", maxNameLen)
			}
			if slices.ContainsFunc(wantedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) || strings.HasPrefix(p, name) }) {
				stack = append(stack, node{child, name})
			}
		}
	}
	return out, nil
}

// symtab reads the symbol table, for libraries so old that they have no trie.
func (m machoImage) symtab(c []byte) ([]symbol, error) {
	offset, count := uint64(m.order.Uint32(c[8:])), uint64(m.order.Uint32(c[12:]))
	entry := uint64(12)
	if m.is64 {
		entry = 16
	}
	table, err := m.read(offset, count*entry)
	if err != nil {
		return nil, err
	}
	names, err := m.read(uint64(m.order.Uint32(c[16:])), uint64(m.order.Uint32(c[20:])))
	if err != nil {
		return nil, err
	}
	const (
		stab, private, typeMask, external = 0xe0, 0x10, 0x0e, 0x01
		absolute, section                 = 0x02, 0x0e
	)
	var out []symbol
	for ; len(table) > 0; table = table[entry:] {
		name, kind := uint64(m.order.Uint32(table)), table[4]
		if kind&(stab|private) != 0 || kind&external == 0 || kind&typeMask != section && kind&typeMask != absolute {
			continue
		}
		if name >= uint64(len(names)) || names[name] != '_' || !wanted(peek(names, name+1)) {
			continue
		}
		text, err := cstring(names, name+1)
		if err != nil {
			return nil, err
		}
		if out, err = add(out, symbol{name: text}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func applePlatform(p uint32) string {
	switch p {
	case 1, 6: // macOS, Mac Catalyst
		return "darwin"
	case 2, 7: // iOS and its simulator
		return "ios"
	}
	return fmt.Sprintf("apple platform %d", p)
}

func machoArch(c macho.Cpu) string {
	switch c {
	case macho.CpuAmd64:
		return "amd64"
	case macho.CpuArm64:
		return "arm64"
	case macho.Cpu386:
		return "386"
	case macho.CpuArm:
		return "arm"
	}
	return fmt.Sprintf("cpu %#x", uint32(c))
}
