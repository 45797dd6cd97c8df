package symbols

import (
	"bytes"
	"debug/macho"
	"debug/pe"
	"encoding/binary"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var names = []string{"__tvm_ffi_scale", "__tvm_ffi__metadata_scale", "__tvm_ffi_main", "__tvm_ffi__library_bin", "TVMFFIExtra", "other"}

var wantSmall = []Function{{Name: "main"}, {Name: "scale", HasMetadata: true}}

// words writes numbers of 4 bytes.
func words(values ...uint32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

// smallMachO is a library whose only table is the symbol table.
func smallMachO(is64 bool, names ...string) []byte {
	magic, cpu, start, entry := uint32(macho.Magic32), uint32(macho.Cpu386), uint32(28), 12
	if is64 {
		magic, cpu, start, entry = macho.Magic64, uint32(macho.CpuAmd64), 32, 16
	}
	id := slices.Concat(words(loadIDDylib, 24+8, 24, 0, 0, 0), []byte("liba\x00\x00\x00\x00"))
	var data []byte
	strings := []byte{0}
	for _, n := range names {
		symbol := append(words(uint32(len(strings))), 0x0f, 1, 0, 0)
		data = append(data, append(symbol, make([]byte, entry-8)...)...)
		strings = append(append(append(strings, '_'), n...), 0)
	}
	private := append(words(1), 0x1f, 1, 0, 0)
	data = append(data, append(private, make([]byte, entry-8)...)...)
	tables := start + uint32(len(id)) + 24
	commands := slices.Concat(id, words(uint32(macho.LoadCmdSymtab), 24, tables, uint32(len(names)+1), tables+uint32(len(data)), uint32(len(strings))))
	head := words(magic, cpu, 0, uint32(macho.TypeDylib), 2, uint32(len(commands)), 0)
	if is64 {
		head = append(head, 0, 0, 0, 0)
	}
	return slices.Concat(head, commands, data, strings)
}

// smallPE is a DLL with one section, which holds the export directory.
func smallPE(is64 bool) []byte {
	machine, magic, directories := uint16(pe.IMAGE_FILE_MACHINE_I386), uint16(0x10b), 96
	if is64 {
		machine, magic, directories = pe.IMAGE_FILE_MACHINE_ARM64, 0x20b, 112
	}
	const address = 0x1000
	text := []byte("a.dll\x00")
	table := []byte{}
	count := uint32(len(names))
	for _, n := range names {
		table = append(table, words(address+40+4*count+uint32(len(text)))...)
		text = append(append(text, n...), 0)
	}
	section := slices.Concat(words(0, 0, 0, address+40+4*count, 1, 0, count, 0, address+40, 0), table, text)
	optional := make([]byte, directories+8)
	binary.LittleEndian.PutUint16(optional, magic)
	binary.LittleEndian.PutUint32(optional[directories-4:], 1)
	binary.LittleEndian.PutUint32(optional[directories:], address)
	head := make([]byte, 24)
	copy(head, "PE\x00\x00")
	binary.LittleEndian.PutUint16(head[4:], machine)
	binary.LittleEndian.PutUint16(head[6:], 1)
	binary.LittleEndian.PutUint16(head[20:], uint16(len(optional)))
	binary.LittleEndian.PutUint16(head[22:], pe.IMAGE_FILE_DLL)
	dos := make([]byte, 64)
	copy(dos, "MZ")
	dos[0x3c] = 64
	offset := uint32(64 + 24 + len(optional) + 40)
	header := slices.Concat([]byte(".edata\x00\x00"), words(uint32(len(section)), address, uint32(len(section)), offset, 0, 0, 0, 0))
	return slices.Concat(dos, head, optional, header, section)
}

// The real wheels have no library of 32 bits and no Mach-O file without a trie. A library of 32
// bits is recognised, and its symbols are not read, because no program of this module can load it.
func TestSmallImages(t *testing.T) {
	for _, c := range []struct {
		name, id, arch string
		data           []byte
	}{
		{"macho64", "liba", "amd64", smallMachO(true, names...)},
		{"macho32", "", "386", smallMachO(false, names...)},
		{"pe64", "a.dll", "arm64", smallPE(true)},
		{"pe32", "", "386", smallPE(false)},
	} {
		f, err := parseBytes(c.data)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if f.ID != c.id || !slices.Equal(f.Archs, []string{c.arch}) {
			t.Errorf("%s: %+v", c.name, f)
		}
		if c.id == "" {
			if len(f.Functions) > 0 || f.CheckHost("linux", "amd64") == nil {
				t.Errorf("%s: %+v", c.name, f)
			}
			continue
		}
		if !slices.Equal(f.Functions, wantSmall) || !f.HasLibraryBin || f.HasLibraryContext || !slices.Equal(f.API, []string{"TVMFFIExtra"}) {
			t.Errorf("%s: %+v", c.name, f)
		}
		for n := range c.data {
			if _, err := parseBytes(c.data[:n]); err == nil || strings.Contains(err.Error(), "runtime error") {
				t.Errorf("%s cut to %d bytes: %v", c.name, n, err)
			}
		}
	}
}

// Many symbols that share one long name must not be copied as often.
func TestSharedLongName(t *testing.T) {
	data := smallMachO(true, strings.Repeat("x", 1<<20))
	const symbols, tables = 1 << 16, 32 + 32 + 24
	symbol := data[tables : tables+16]
	data = slices.Concat(data[:tables], bytes.Repeat(symbol, symbols), data[tables+2*16:])
	binary.LittleEndian.PutUint32(data[tables-12:], symbols)
	binary.LittleEndian.PutUint32(data[tables-8:], tables+symbols*16)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if f, err := parseBytes(data); err != nil || len(f.Functions) > 0 {
		t.Errorf("%+v, %v", f, err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
		t.Errorf("a file of %d bytes takes %d bytes of memory", len(data), n)
	}
}

func FuzzRead(f *testing.F) {
	for _, is64 := range []bool{false, true} {
		f.Add(smallMachO(is64, names...))
		f.Add(smallPE(is64))
	}
	f.Add(fatFile(smallMachO(true, names...), smallMachO(false, names...)))
	f.Add([]byte("!<arch>\n"))
	for _, bits := range []string{"32", "64"} {
		for _, hash := range []string{"sysv", "gnu"} {
			if path, err := linkIn(f.TempDir(), bits, hash); err == nil {
				data, err := os.ReadFile(path)
				if err != nil {
					f.Fatal(err)
				}
				f.Add(data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lib, err := parseBytes(data)
		if err != nil {
			if strings.Contains(err.Error(), "malformed file: runtime error") {
				t.Fatal(err)
			}
			return
		}
		if len(lib.Archs) == 0 || lib.GOOS == "" || lib.Format == "" {
			t.Fatalf("incomplete: %+v", lib)
		}
		for _, fn := range lib.Functions {
			if fn.Name == "" || fn.Name[0] == '_' {
				t.Fatalf("bad name %q", fn.Name)
			}
		}
	})
}
