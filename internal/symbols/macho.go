package symbols

import (
	"debug/macho"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/elfheader"
)

// Load commands that debug/macho does not name.
const (
	loadIDDylib       = 0xd
	loadWeakDylib     = 0x80000018
	loadReexportDylib = 0x8000001f
	loadUpwardDylib   = 0x80000023
	loadRpath         = 0x8000001c
	loadBuildVersion  = 0x32
	loadVersionMinIOS = 0x25
)

const (
	maxCommands = 16 << 20 // bytes of load commands
	maxSlices   = 32
)

// machoOrder returns the byte order that the magic shows, nil if there is no magic.
func machoOrder(head []byte) binary.ByteOrder {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if len(head) >= 4 && (order.Uint32(head) == macho.Magic64 || order.Uint32(head) == macho.Magic32) {
			return order
		}
	}
	return nil
}

func isFat(head []byte) bool {
	// Java classes have the same magic; what follows is their version, 45 or more.
	return len(head) >= 8 && binary.BigEndian.Uint32(head) == macho.MagicFat && binary.BigEndian.Uint32(head[4:]) <= maxSlices
}

// readFat reads every architecture of a fat file. Except for the functions, it
// reports what the first one has.
func readFat(im image) (out File) {
	count := table[uint32](im, "header", binary.BigEndian, 4, 1)[0]
	if count == 0 {
		fail("it is a fat Mach-O file without any architecture")
	}
	for i, p := range table[macho.FatArchHeader](im, "architectures", binary.BigEndian, 8, count) {
		part := im.part(fmt.Sprintf("architecture %d", i), uint64(p.Offset), uint64(p.Size))
		if part.Size() < 4 || machoOrder(part.read("header", 0, 4)) == nil { // a fat file could contain itself
			fail("architecture %d is not a Mach-O library", i)
		}
		f, err := parse(part)
		switch {
		case err != nil:
			fail("architecture %d: %w", i, err)
		case i == 0:
			out = f
			continue
		case f.GOOS != out.GOOS:
			fail("it is for %s and for %s at once", out.GOOS, f.GOOS)
		}
		out.Archs = append(out.Archs, f.Archs...)
		out.Functions = slices.DeleteFunc(out.Functions, func(g Function) bool { return !slices.Contains(f.Functions, g) })
	}
	return out
}

func readMachO(im image, order binary.ByteOrder) File {
	h := table[macho.FileHeader](im, "header", order, 0, 1)[0]
	checkMachOType(h.Type)
	f := File{Format: MachO, GOOS: "darwin", Archs: []string{machoArch(h.Cpu)}}
	if h.Magic == macho.Magic32 {
		return f // no program of this module can load it
	}
	if h.Cmdsz > maxCommands {
		fail("the load commands have %d bytes, the limit is %d", h.Cmdsz, maxCommands)
	}
	const headerSize = 32
	commands := im.read("load commands", headerSize, uint64(h.Cmdsz))
	m := machoImage{image: im, order: order}
	for i := range h.Ncmd {
		size := uint32(0)
		if len(commands) >= 8 {
			size = order.Uint32(commands[4:])
		}
		if size < 8 || uint64(size) > uint64(len(commands)) {
			fail("%w: load command %d is not whole", ErrTruncated, i)
		}
		m.command(&f, commands[:size])
		commands = commands[size:]
	}
	m.symbols(&f)
	return f
}

func checkMachOType(t macho.Type) {
	const dylibStub, dsym = 9, 10
	switch t {
	case macho.TypeDylib, macho.TypeBundle:
	case macho.TypeObj:
		check(errObject)
	case macho.TypeExec:
		check(errExecutable)
	case dsym:
		fail("this holds debug information only (dSYM); name the library it belongs to")
	case dylibStub:
		fail("this is a stub for a linker; name the library it stands for")
	default:
		fail("this is a Mach-O file of type %d, not a shared library", t)
	}
}

type machoImage struct {
	image
	order  binary.ByteOrder
	symtab macho.SymtabCmd
}

// command reads what a load command says about the library into f.
func (m *machoImage) command(f *File, c []byte) {
	decode := func(v any) {
		if _, err := binary.Decode(c, m.order, v); err != nil {
			fail("%w: load command %#x has %d bytes", ErrTruncated, m.order.Uint32(c), len(c))
		}
	}
	var dylib macho.DylibCmd
	switch m.order.Uint32(c) {
	case loadIDDylib:
		decode(&dylib)
		f.ID = cstring(c, uint64(dylib.Name))
	case uint32(macho.LoadCmdDylib), loadWeakDylib, loadReexportDylib, loadUpwardDylib:
		decode(&dylib)
		f.need(cstring(c, uint64(dylib.Name)))
	case loadRpath:
		var rpath macho.RpathCmd
		decode(&rpath)
		f.search(cstring(c, uint64(rpath.Path)))
		f.Inherited = true
	case uint32(macho.LoadCmdSegment64):
		var s macho.Segment64
		decode(&s)
		check(elfheader.Holds(m.size(), "segments", s.Offset, s.Filesz))
	case uint32(macho.LoadCmdSymtab):
		decode(&m.symtab)
	case loadBuildVersion:
		var version [3]uint32
		decode(&version)
		f.GOOS = applePlatform(version[2])
	case loadVersionMinIOS:
		f.GOOS = "ios"
	}
}

func (m *machoImage) symbols(f *File) {
	if m.symtab.Cmd == 0 {
		fail("it has no symbol table; name the library as the linker wrote it")
	}
	const (
		stab, private, typeMask, external = 0xe0, 0x10, 0x0e, 0x01
		absolute, section                 = 0x02, 0x0e
	)
	names := m.read("string table", uint64(m.symtab.Stroff), uint64(m.symtab.Strsize))
	var list symbolList
	for _, s := range table[macho.Nlist64](m.image, "symbol table", m.order, uint64(m.symtab.Symoff), m.symtab.Nsyms) {
		if s.Type&(stab|private) != 0 || s.Type&external == 0 {
			continue
		}
		if s.Type&typeMask == 0 {
			f.imports(names, uint64(s.Name)+1, false)
		}
		if s.Type&typeMask != section && s.Type&typeMask != absolute {
			continue
		}
		// C names have an underscore in front.
		if uint64(s.Name) < uint64(len(names)) && names[s.Name] == '_' {
			list.add(names, uint64(s.Name)+1, false)
		}
	}
	f.collect(list)
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
	case macho.CpuAmd64, macho.CpuArm64, macho.Cpu386, macho.CpuArm:
		return strings.ToLower(strings.TrimPrefix(c.String(), "Cpu"))
	}
	return fmt.Sprintf("cpu %#x", uint32(c))
}
