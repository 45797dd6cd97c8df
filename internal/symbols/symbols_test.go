package symbols

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

// platforms are the wheels that the project pins, one for each format and
// architecture.
var platforms = []struct {
	goos, goarch string
	format       Format
	id           string
	needed       string // one of the needed libraries
	module       string // of Python, in the same wheel
}{
	{"linux", "amd64", ELF, "libtvm_ffi_testing.so", "libtvm_ffi.so", "core.cpython-312-x86_64-linux-gnu.so"},
	{"linux", "arm64", ELF, "libtvm_ffi_testing.so", "libtvm_ffi.so", "core.cpython-312-aarch64-linux-gnu.so"},
	{"darwin", "arm64", MachO, "@rpath/libtvm_ffi_testing.dylib", "@loader_path/libtvm_ffi.dylib", "core.cpython-312-darwin.so"},
	{"windows", "amd64", PE, "tvm_ffi_testing.dll", "tvm_ffi.dll", "core.cp312-win_amd64.pyd"},
}

func wheelFor(t testing.TB, goos, goarch string) wheel.Dir {
	t.Helper()
	spec, err := wheel.TVMFFI("", goos, goarch)
	if err != nil {
		t.Fatal(err)
	}
	return nativetest.Get(t, spec)
}

func mustRead(t testing.TB, path string) File {
	t.Helper()
	f, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestRealLibraries(t *testing.T) {
	for _, p := range platforms {
		t.Run(p.goos+"/"+p.goarch, func(t *testing.T) {
			dir := wheelFor(t, p.goos, p.goarch)
			f := mustRead(t, dir.TestingLibrary())
			want := []Function{{"testing_dll_schema_id_int", true, false}, {"testing_dll_test_add_with_docstring", true, true}}
			if !slices.Equal(f.Functions, want) {
				t.Errorf("functions %v, want %v", f.Functions, want)
			}
			if f.Name != filepath.Base(dir.TestingLibrary()) || f.Format != p.format || f.GOOS != p.goos || !slices.Equal(f.Archs, []string{p.goarch}) || f.ID != p.id {
				t.Errorf("got %+v", f)
			}
			if !slices.Contains(f.Needed, p.needed) {
				t.Errorf("needed %q, want %q in it", f.Needed, p.needed)
			}
			if python, err := Read(dir.Path("tvm_ffi/" + p.module)); err != nil || f.ImportsPython || python.ImportsPython != (p.goos != "windows") {
				t.Errorf("the module of Python: ImportsPython is %v, %v; of the library it is %v", python.ImportsPython, err, f.ImportsPython)
			}
			if f.HasLibraryBin || f.HasLibraryContext || len(f.Reserved) > 0 || !slices.Equal(f.API, []string{"TVMFFITestingDummyTarget"}) {
				t.Errorf("unexpected symbols: %+v", f)
			}
			core := mustRead(t, dir.Library())
			if len(core.Functions) != 0 || len(core.API) < 50 || !slices.Contains(core.API, "TVMFFIFunctionCall") {
				t.Errorf("libtvm_ffi: functions %v, API %v", core.Functions, core.API)
			}
			for _, other := range platforms {
				err := f.CheckHost(other.goos, other.goarch)
				if same := other.goos == p.goos && other.goarch == p.goarch; same != (err == nil) {
					t.Errorf("on %s/%s: %v", other.goos, other.goarch, err)
				} else if err != nil {
					for _, text := range []string{f.Name, p.goos + "/" + p.goarch, other.goos + "/" + other.goarch} {
						if !strings.Contains(err.Error(), text) {
							t.Errorf("%v does not name %s", err, text)
						}
					}
				}
			}
		})
	}
}

// The parsers of the standard library find the same names.
func TestAgreesWithStandardLibrary(t *testing.T) {
	for _, p := range platforms[:3] {
		dir := wheelFor(t, p.goos, p.goarch)
		for _, path := range []string{dir.Library(), dir.TestingLibrary()} {
			got := mustRead(t, path)
			var api, needed, folders []string
			if p.format == ELF {
				file, err := elf.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				defer file.Close()
				symbols, err := file.DynamicSymbols()
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range symbols {
					if s.Section != elf.SHN_UNDEF && strings.HasPrefix(s.Name, apiPrefix) {
						api = append(api, s.Name)
					}
				}
				if needed, err = file.ImportedLibraries(); err != nil {
					t.Fatal(err)
				}
				if folders, err = file.DynString(elf.DT_RUNPATH); err != nil {
					t.Fatal(err)
				}
			} else {
				file, err := macho.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				defer file.Close()
				for _, s := range file.Symtab.Syms {
					if s.Type == 0x0f && strings.HasPrefix(s.Name, "_"+apiPrefix) {
						api = append(api, s.Name[1:])
					}
				}
				if needed, err = file.ImportedLibraries(); err != nil {
					t.Fatal(err)
				}
				for _, load := range file.Loads {
					if rpath, ok := load.(*macho.Rpath); ok {
						folders = append(folders, rpath.Path)
					}
				}
			}
			slices.Sort(api)
			if !slices.Equal(got.API, slices.Compact(api)) {
				t.Errorf("%s: API %v, want %v", path, got.API, api)
			}
			if !slices.Equal(got.Needed, needed) {
				t.Errorf("%s: needed %v, want %v", path, got.Needed, needed)
			}
			if !slices.Equal(got.Folders, folders) {
				t.Errorf("%s: folders %v, want %v", path, got.Folders, folders)
			}
		}
	}
}

// RPATH has folders as RUNPATH does, and holds for what is needed, too. The loader reads only RUNPATH if a library has both.
func TestInherited(t *testing.T) {
	path := wheelFor(t, "linux", "amd64").TestingLibrary()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	data, dynamic := readBytes(t, path), file.Section(".dynamic")
	runpath := -1
	for at := int(dynamic.Offset); at < int(dynamic.Offset+dynamic.Size); at += 16 {
		if elf.DynTag(binary.LittleEndian.Uint64(data[at:])) == elf.DT_RUNPATH {
			runpath = at
		}
	}
	if runpath < 0 {
		t.Fatal("the library has no RUNPATH")
	}
	for _, tags := range [][2]elf.DynTag{{elf.DT_RUNPATH, elf.DT_SONAME}, {elf.DT_RPATH, elf.DT_SONAME}, {elf.DT_RPATH, elf.DT_RUNPATH}, {elf.DT_RUNPATH, elf.DT_RPATH}} {
		changed := bytes.Clone(data)
		next := runpath + 16 // the entry behind it has the same value
		if copy(changed[next+8:next+16], changed[runpath+8:]); next >= int(dynamic.Offset+dynamic.Size) {
			t.Fatal("there is nothing behind RUNPATH")
		}
		binary.LittleEndian.PutUint64(changed[runpath:], uint64(tags[0]))
		binary.LittleEndian.PutUint64(changed[next:], uint64(tags[1]))
		f, err := parse(image{io.NewSectionReader(bytes.NewReader(changed), 0, int64(len(changed)))})
		if err != nil {
			t.Fatal(err)
		}
		if inherited := tags == [2]elf.DynTag{elf.DT_RPATH, elf.DT_SONAME}; !slices.Equal(f.Folders, []string{"$ORIGIN"}) || f.Inherited != inherited {
			t.Errorf("%v: %q, %v", tags, f.Folders, f.Inherited)
		}
	}
}

func readBytes(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parseBytes(data []byte) (File, error) {
	return parse(image{io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))})
}

// A cut file gives an error or, where only its end is gone, the same result.
func TestTruncated(t *testing.T) {
	for _, p := range platforms {
		data := readBytes(t, wheelFor(t, p.goos, p.goarch).TestingLibrary())
		whole, err := parseBytes(data)
		if err != nil {
			t.Fatal(err)
		}
		failed := 0
		lengths := []int{1, 2, 3, 4, 7, 19, 20, 51, 52, 63, 64, 100, 200, 300, 500, 1000, 4096}
		for n := 8192; n < len(data); n += len(data) / 50 {
			lengths = append(lengths, n)
		}
		for _, n := range lengths {
			f, err := parseBytes(data[:n])
			if err != nil {
				failed++
				if strings.Contains(err.Error(), "runtime error") {
					t.Errorf("%s/%s cut to %d: %v", p.goos, p.goarch, n, err)
				}
			} else if !reflect.DeepEqual(f, whole) {
				t.Errorf("%s/%s cut to %d: another result without an error", p.goos, p.goarch, n)
			}
		}
		if failed < len(lengths)*9/10 {
			t.Errorf("%s/%s: only %d of %d cuts were noticed", p.goos, p.goarch, failed, len(lengths))
		}
	}
}

// Flipped bytes in the headers must not panic; what they give does not matter.
func TestDamaged(t *testing.T) {
	for _, p := range platforms {
		if p.goarch == "arm64" && p.format == ELF {
			continue // the headers are like those for amd64
		}
		data := readBytes(t, wheelFor(t, p.goos, p.goarch).TestingLibrary())
		for i := range 1024 {
			old := data[i]
			for _, b := range []byte{0, 0xff, old ^ 0x80, old + 1} {
				if b == old {
					continue
				}
				data[i] = b
				if _, err := parseBytes(data); err != nil && strings.Contains(err.Error(), "malformed file: runtime error") {
					t.Fatalf("%s/%s byte %d = %#x: %v", p.goos, p.goarch, i, b, err)
				}
			}
			data[i] = old
		}
	}
}

func TestOtherKindsOfFile(t *testing.T) {
	elfData := readBytes(t, wheelFor(t, "linux", "amd64").TestingLibrary())
	machoData := readBytes(t, wheelFor(t, "darwin", "arm64").TestingLibrary())
	peDir := wheelFor(t, "windows", "amd64")
	peData := readBytes(t, peDir.TestingLibrary())
	peAt := int(binary.LittleEndian.Uint32(peData[0x3c:]))
	patch := func(data []byte, at int, b ...byte) []byte {
		data = slices.Clone(data)
		copy(data[at:], b)
		return data
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i, c := range []struct {
		data []byte
		want string
	}{
		{nil, "it is empty"},
		{[]byte("hello, this is a text"), "neither ELF, Mach-O nor PE"},
		{[]byte("!<arch>\n"), "static archive or an import library; link it"},
		{readBytes(t, peDir.Path("tvm_ffi/lib/tvm_ffi.lib")), "import library"},
		{[]byte("PK\x03\x04...."), "a Python wheel; unpack it"},
		{[]byte("#!/bin/sh\n"), "a script"},
		{[]byte("#include <tvm/ffi/tvm_ffi.h>\n"), "a source, not a shared library; compile it first"},
		{[]byte("/*! A library. */\n"), "a source"},
		{[]byte("GROUP ( libc.so.6 )"), "linker script"},
		{[]byte("\xca\xfe\xba\xbe\x00\x00\x00\x34java class"), "neither ELF"},
		{patch(elfData, 16, 1, 0), "object file; link it into a shared library"},
		{patch(elfData, 16, 2, 0), "an executable, not a shared library"},
		{patch(elfData, 16, 4, 0), "ELF file of type ET_CORE"},
		{patch(elfData, elf.EI_CLASS, 9), "unknown ELF class 9"},
		{patch(elfData, elf.EI_DATA, 9), "unknown ELF byte order 9"},
		{patch(machoData, 12, 1), "object file"},
		{patch(machoData, 12, 2), "an executable"},
		{patch(machoData, 12, 10), "debug information only (dSYM)"},
		{readBytes(t, wheelFor(t, "darwin", "arm64").Path("tvm_ffi/lib/libtvm_ffi_testing.dylib.dSYM/Contents/Resources/DWARF/libtvm_ffi_testing.dylib")), "dSYM"},
		{patch(peData, peAt+23, 0), "an executable"},
		{patch(peData, peAt, 'N', 'E'), "a DOS program"},
		{patch(slices.Clone(peData[peAt+4:peAt+204]), 16, 0, 0), "object file"},
		{patch(elfData, 56, 0, 0), "no program headers"},
		{readBytes(t, program), "executable"},
	} {
		path := filepath.Join(dir, string(rune('a'+i))+".so")
		if err := os.WriteFile(path, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Read(path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%d: error %v, want %q and the path", i, err, c.want)
		}
		if !reflect.DeepEqual(f, File{}) {
			t.Errorf("%d: a result beside the error: %+v", i, f)
		}
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "this is a folder") {
		t.Errorf("folder: %v", err)
	}
	if _, err := Read(filepath.Join(dir, "none.so")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

// Neither the section headers nor the symbol table are needed by the loader, but here they are.
func TestStripped(t *testing.T) {
	data := readBytes(t, wheelFor(t, "linux", "amd64").TestingLibrary())
	clear(data[40:48]) // e_shoff
	clear(data[58:64]) // their size, number and names
	if _, err := parseBytes(data); err == nil || !strings.Contains(err.Error(), "section headers were removed") {
		t.Errorf("ELF: %v", err)
	}
	data = smallMachO(true, names...)
	data[32+32] = 0x99 // the kind of the command
	if _, err := parseBytes(data); err == nil || !strings.Contains(err.Error(), "no symbol table") {
		t.Errorf("Mach-O: %v", err)
	}
}

func TestFatMachO(t *testing.T) {
	slice := readBytes(t, wheelFor(t, "darwin", "arm64").TestingLibrary())
	thin, err := parseBytes(slice)
	if err != nil {
		t.Fatal(err)
	}
	other := slices.Clone(slice)
	binary.LittleEndian.PutUint32(other[4:], uint32(macho.CpuAmd64))
	fat := fatFile(slice, other)
	f, err := parseBytes(fat)
	if err != nil {
		t.Fatal(err)
	}
	want := thin
	want.Archs = []string{"arm64", "amd64"}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("got %+v, want %+v", f, want)
	}
	if f.CheckHost("darwin", "amd64") != nil || f.CheckHost("darwin", "arm64") != nil || f.CheckHost("linux", "arm64") == nil {
		t.Error("CheckHost of a fat file")
	}
	if _, err := parseBytes(fat[:len(fat)-1]); err == nil || !strings.Contains(err.Error(), "architecture 1") {
		t.Errorf("cut: %v", err)
	}
	if _, err := parseBytes(fatFile()); err == nil {
		t.Error("a fat file without architectures was accepted")
	}
	clear(fat[8+8 : 8+12]) // the offset of the first part
	if _, err := parseBytes(fat); err == nil || !strings.Contains(err.Error(), "architecture 0 is not a Mach-O library") {
		t.Errorf("a fat file that contains itself: %v", err)
	}
	fat[3]++ // the magic of fat files of 64 bits
	if _, err := parseBytes(fat); err == nil || !strings.Contains(err.Error(), "lipo -thin") {
		t.Errorf("a fat file of 64 bits: %v", err)
	}
}

func fatFile(parts ...[]byte) []byte {
	head := binary.BigEndian.AppendUint32(nil, macho.MagicFat)
	head = binary.BigEndian.AppendUint32(head, uint32(len(parts)))
	offset := 4096
	for _, p := range parts {
		head = append(head, 0, 0, 0, 0, 0, 0, 0, 0) // the architecture is read from the part
		head = binary.BigEndian.AppendUint32(head, uint32(offset))
		head = binary.BigEndian.AppendUint32(head, uint32(len(p)))
		head = append(head, 0, 0, 0, 0)
		offset += len(p)
	}
	return slices.Concat(head, make([]byte, 4096-len(head)), slices.Concat(parts...))
}

const assembly = `
.text
.globl __tvm_ffi_scale, __tvm_ffi_main, __tvm_ffi_hidden, __tvm_ffi__metadata_scale, __tvm_ffi__doc_scale
.globl __tvm_ffi__library_ctx, __tvm_ffi__library_bin, __tvm_ffi__metadata_gone, __tvm_ffi_data, TVMFFIExtra, other
.weak __tvm_ffi_weak
.hidden __tvm_ffi_hidden
.type __tvm_ffi_scale, @function
__tvm_ffi_scale:
__tvm_ffi_main:
__tvm_ffi_hidden:
__tvm_ffi_local:
__tvm_ffi_weak:
__tvm_ffi__metadata_scale:
__tvm_ffi__doc_scale:
__tvm_ffi__metadata_gone:
TVMFFIExtra:
other:
	ret
.globl __tvm_ffi_undefined_here
	call __tvm_ffi_undefined_here@PLT
.data
.type __tvm_ffi_data, @object
.type __tvm_ffi__library_bin, @object
__tvm_ffi_data:
__tvm_ffi__library_ctx:
__tvm_ffi__library_bin:
	.long 0
`

// linkIn builds a library from assembly: ELF of both classes, with every kind
// of hash table.
func linkIn(dir, bits, hash string) (string, error) {
	source, object, library := filepath.Join(dir, "a.s"), filepath.Join(dir, "a.o"), filepath.Join(dir, "liba.so")
	if err := os.WriteFile(source, []byte(assembly), 0o600); err != nil {
		return "", err
	}
	emulation := map[string]string{"64": "elf_x86_64", "32": "elf_i386"}[bits]
	for _, command := range []*exec.Cmd{
		exec.Command("as", "--"+bits, "-o", object, source),
		exec.Command("ld", "-m", emulation, "-shared", "--hash-style="+hash, "-soname", "liba.so.1", "-o", library, object),
	} {
		if out, err := command.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w: %s", command, err, out)
		}
	}
	return library, nil
}

func link(t testing.TB, bits, hash string) string {
	t.Helper()
	library, err := linkIn(t.TempDir(), bits, hash)
	if err != nil {
		t.Skipf("no x86 assembler or linker here, so unusual ELF tables cannot be made: %v", err)
	}
	return library
}

func TestAssembledELF(t *testing.T) {
	for _, bits := range []string{"64", "32"} {
		for _, hash := range []string{"sysv", "gnu", "both"} {
			t.Run(bits+hash, func(t *testing.T) {
				f := mustRead(t, link(t, bits, hash))
				want := File{
					Name: "liba.so", Format: ELF, GOOS: "linux", Archs: []string{"amd64"}, ID: "liba.so.1",
					Functions:     []Function{{Name: "main"}, {Name: "scale", HasMetadata: true, HasDoc: true}, {Name: "weak"}},
					HasLibraryBin: true, HasLibraryContext: true,
					Reserved: []string{"__tvm_ffi__metadata_gone"},
					API:      []string{"TVMFFIExtra"},
				}
				if bits == "32" {
					want = File{Name: "liba.so", Format: ELF, GOOS: "linux", Archs: []string{"386"}}
				}
				if !reflect.DeepEqual(f, want) {
					t.Errorf("got  %+v\nwant %+v", f, want)
				}
			})
		}
	}
	object := filepath.Join(filepath.Dir(link(t, "64", "gnu")), "a.o")
	if _, err := Read(object); err == nil || !strings.Contains(err.Error(), "object file") {
		t.Errorf("object file: %v", err)
	}
}
