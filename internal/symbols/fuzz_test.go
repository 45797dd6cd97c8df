package symbols

import (
	"debug/macho"
	"debug/pe"
	"encoding/binary"
	"os"
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

// smallMachO is a library whose only table is the symbol table (as old linkers
// wrote them), or the export trie.
func smallMachO(is64, trie bool) []byte {
	magic, cpu, start, entry := uint32(macho.Magic32), uint32(macho.Cpu386), uint32(28), uint32(12)
	if is64 {
		magic, cpu, start, entry = macho.Magic64, uint32(macho.CpuAmd64), 32, 16
	}
	id := slices.Concat(words(loadIDDylib, 24+8, 24, 0, 0, 0), []byte("liba\x00\x00\x00\x00"))
	tables := start + uint32(len(id)) + 24
	var commands, data []byte
	if trie {
		// One edge per name from the root, each to a leaf without children.
		root := []byte{0, byte(len(names))}
		size := 2
		for _, n := range names {
			size += len(n) + 2 + 2
		}
		var leaves []byte
		for _, n := range names {
			at := size + len(leaves)
			root = append(append(append(root, '_'), n...), 0, byte(at)|0x80, byte(at>>7))
			leaves = append(leaves, 2, 0, 0, 0)
		}
		data = append(root, leaves...)
		commands = slices.Concat(id, words(loadDyldExportsTrie, 24, tables, uint32(len(data)), 0, 0))
	} else {
		strings := []byte{0}
		for _, n := range names {
			symbol := append(words(uint32(len(strings))), 0x0f, 1, 0, 0)
			data = append(data, append(symbol, make([]byte, entry-8)...)...)
			strings = append(append(append(strings, '_'), n...), 0)
		}
		private := append(words(1), 0x1f, 1, 0, 0)
		data = append(data, append(private, make([]byte, entry-8)...)...)
		count := uint32(len(names) + 1)
		commands = slices.Concat(id, words(uint32(macho.LoadCmdSymtab), 24, tables, count, tables+uint32(len(data)), uint32(len(strings))))
		data = append(data, strings...)
	}
	head := words(magic, cpu, 0, uint32(macho.TypeDylib), 2, uint32(len(commands)), 0)
	if is64 {
		head = append(head, 0, 0, 0, 0)
	}
	return slices.Concat(head, commands, data)
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

// The real wheels have no library of 32 bits and no Mach-O file without a trie.
func TestSmallImages(t *testing.T) {
	for _, c := range []struct {
		name, id, arch string
		data           []byte
	}{
		{"macho64 symtab", "liba", "amd64", smallMachO(true, false)},
		{"macho64 trie", "liba", "amd64", smallMachO(true, true)},
		{"macho32 symtab", "liba", "386", smallMachO(false, false)},
		{"macho32 trie", "liba", "386", smallMachO(false, true)},
		{"pe64", "a.dll", "arm64", smallPE(true)},
		{"pe32", "a.dll", "386", smallPE(false)},
	} {
		f, err := parseBytes(c.data)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !slices.Equal(f.Functions, wantSmall) || !f.HasLibraryBin || f.HasLibraryContext || !slices.Equal(f.API, []string{"TVMFFIExtra"}) ||
			f.ID != c.id || !slices.Equal(f.Archs, []string{c.arch}) {
			t.Errorf("%s: %+v", c.name, f)
		}
		for n := range c.data {
			if _, err := parseBytes(c.data[:n]); err == nil || strings.Contains(err.Error(), "runtime error") {
				t.Errorf("%s cut to %d bytes: %v", c.name, n, err)
			}
		}
	}
}

// A trie that leads back to an earlier node must not be walked forever.
func TestTrieCycle(t *testing.T) {
	data := smallMachO(true, true)
	at := len(data) - 4*len(names) // the first leaf
	copy(data[at:], []byte{0, 1, 'x', 0})
	data[at+4] = 0 // its edge leads to the root
	if _, err := parseBytes(data); err == nil || !strings.Contains(err.Error(), "export trie") {
		t.Errorf("got %v", err)
	}
}

func FuzzRead(f *testing.F) {
	for _, is64 := range []bool{false, true} {
		f.Add(smallMachO(is64, false))
		f.Add(smallMachO(is64, true))
		f.Add(smallPE(is64))
	}
	f.Add(fatFile(macho.MagicFat, smallMachO(true, true), smallMachO(false, true)))
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
