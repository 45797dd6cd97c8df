package refusal

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"testing"
)

// mapped is a library of any machine in memory, as the loader would place it. Its imports have addresses without memory.
type mapped struct {
	at        uint64
	memory    []byte
	names     map[string]uint64
	functions map[uint64]string
}

func mapLibrary(t *testing.T, path string) (*mapped, *elf.File) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	m := &mapped{at: 1 << 32, names: map[string]uint64{}, functions: map[uint64]string{}}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			m.memory = append(m.memory, make([]byte, max(0, int(p.Vaddr+p.Memsz)-len(m.memory)))...)
			if _, err := p.ReadAt(m.memory[p.Vaddr:p.Vaddr+p.Filesz], 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	address := func(i uint32) uint64 {
		if i == 0 {
			return 0
		}
		s := symbols[i-1]
		if s.Section == elf.SHN_UNDEF {
			return m.at + uint64(len(m.memory)) + 1<<20 + uint64(i)*16
		}
		return m.at + s.Value
	}
	for i, s := range symbols {
		m.names[s.Name] = address(uint32(i + 1))
	}
	if all, err := f.Symbols(); err == nil {
		for _, s := range all {
			if _, ok := m.names[s.Name]; !ok && s.Section != elf.SHN_UNDEF && s.Value != 0 {
				m.names[s.Name] = m.at + s.Value
			}
		}
	}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		data, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		for ; len(data) >= 24; data = data[24:] {
			offset, info, addend := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:]), binary.LittleEndian.Uint64(data[16:])
			to := m.memory[offset:]
			switch {
			case f.Machine == elf.EM_X86_64 && elf.R_X86_64(uint32(info)) == elf.R_X86_64_RELATIVE,
				f.Machine == elf.EM_AARCH64 && elf.R_AARCH64(uint32(info)) == elf.R_AARCH64_RELATIVE:
				binary.LittleEndian.PutUint64(to, m.at+addend)
			default:
				binary.LittleEndian.PutUint64(to, address(uint32(info>>32))+addend)
			}
		}
	}
	for _, name := range Names() {
		if a, ok := m.names[name]; ok {
			m.functions[a] = name
		}
	}
	return m, f
}

func (m *mapped) read(address uint64, b []byte) error {
	if end := m.at + uint64(len(m.memory)); address >= end+1<<20 && address < end+2<<20 {
		clear(b) // data of another library
		return nil
	}
	if address < m.at || address-m.at > uint64(len(m.memory)) || uint64(len(b)) > uint64(len(m.memory))-(address-m.at) {
		return errors.New("no memory is there")
	}
	copy(b, m.memory[address-m.at:])
	return nil
}
