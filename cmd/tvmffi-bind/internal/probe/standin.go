package probe

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/child"
	"github.com/tvmffi-go/tvmffi/internal/find"
)

// To read what a library registers calls none of the functions that it imports from a driver.
// So the child that reads, and no other process, gives the loader an empty library in place of
// one that comes with a GPU or with PyTorch, where this machine lacks it.

// replaced lists how the names of such libraries begin. libcudart is not among them: the
// initialisers of every CUDA library call it.
var replaced = []string{"libcuda.so", "libcublas", "libcudnn", "libnvidia-ml.so", "libtorch", "libc10"}

// substitutes provides what libraries need and the loader lacks.
type substitutes struct {
	folder   string   // for the files of stand-ins
	standIns []string // the libraries that stand-ins replace
	lacks    string   // the last library that could not be provided
	asked    bool     // whether the loader has lacked a library
}

// provide is a [libraries.Provider]: it finds a library where the wheels of NVIDIA put it, or
// writes a stand-in.
func (s *substitutes) provide(needed string) (file string, hollow bool) {
	s.asked = true
	name := filepath.Base(needed)
	if file := find.OfNVIDIA(name); file != "" {
		return file, false
	}
	if s.folder == "" || !slices.ContainsFunc(replaced, func(start string) bool { return strings.HasPrefix(name, start) }) {
		s.lacks = name
		return "", false
	}
	data, err := standIn(name)
	if err == nil {
		file = filepath.Join(s.folder, name)
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil { // the loader's own error says which library is missing
		s.lacks = name
		return "", false
	}
	s.standIns = append(s.standIns, name)
	return file, true
}

// standIn returns an ELF library that has a name and nothing else. It is for the platform of this
// program, from whose file it takes the identification.
func standIn(soname string) ([]byte, error) {
	program, err := child.Program()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(program)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var h elf.Header64
	if err := binary.Read(f, binary.NativeEndian, &h); err != nil {
		return nil, err
	}
	if string(h.Ident[:4]) != elf.ELFMAG || elf.Class(h.Ident[elf.EI_CLASS]) != elf.ELFCLASS64 {
		return nil, fmt.Errorf("there are no stand-ins for libraries of %s", runtime.GOOS)
	}
	const (
		headers = 64 + 3*56
		entries = 6 * 16
		symbols = headers + entries // one, which is empty
		hash    = symbols + 24      // one bucket, one chain
		names   = hash + 16
	)
	size := uint64(names + 1 + len(soname) + 1)
	h.Ident[elf.EI_ABIVERSION] = 0
	h = elf.Header64{Ident: h.Ident, Type: uint16(elf.ET_DYN), Machine: h.Machine, Version: h.Version, Flags: h.Flags,
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 3, Shentsize: 64}
	var out bytes.Buffer
	for _, part := range []any{
		h,
		elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_W), Filesz: size, Memsz: size, Align: 1 << 16},
		elf.Prog64{Type: uint32(elf.PT_DYNAMIC), Flags: uint32(elf.PF_R | elf.PF_W), Off: headers, Vaddr: headers, Filesz: entries, Memsz: entries, Align: 8},
		// Without it the loader would make every stack of the process executable.
		elf.Prog64{Type: uint32(elf.PT_GNU_STACK), Flags: uint32(elf.PF_R | elf.PF_W), Align: 16},
		[]elf.Dyn64{
			{Tag: int64(elf.DT_SONAME), Val: 1},
			{Tag: int64(elf.DT_HASH), Val: hash},
			{Tag: int64(elf.DT_SYMTAB), Val: symbols},
			{Tag: int64(elf.DT_STRTAB), Val: names},
			{Tag: int64(elf.DT_STRSZ), Val: uint64(1 + len(soname) + 1)},
			{Tag: int64(elf.DT_NULL)},
		},
		elf.Sym64{},
		[]uint32{1, 1, 0, 0},
		[]byte("\x00" + soname + "\x00"),
	} {
		if err := binary.Write(&out, binary.NativeEndian, part); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
