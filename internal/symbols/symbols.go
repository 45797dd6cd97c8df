// Package symbols reads which TVM-FFI functions a shared library exports (ELF, Mach-O or PE). It
// loads nothing, and works for libraries of other platforms. The files may come from anywhere:
// every offset and count is checked.
package symbols

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/elfheader"
)

// Format is the format of a shared library.
type Format string

// The formats of shared libraries.
const (
	ELF   Format = "ELF"
	MachO Format = "Mach-O"
	PE    Format = "PE"
)

// File is what Read found in a shared library.
type File struct {
	// Name is the base name of the file.
	Name   string
	Format Format
	// GOOS and Archs say where the library runs, in Go's words: linux, darwin,
	// windows, amd64, arm64. Only a fat Mach-O file has several architectures;
	// its functions are those that every one of them exports.
	GOOS  string
	Archs []string
	// ID is the name the library has for others: SONAME, install name or DLL name.
	ID string
	// Needed lists the libraries that the loader loads with it, in its order.
	Needed []string
	// Folders lists the folders in which the loader looks for them first, as the file names them: $ORIGIN and @loader_path are
	// its own. Inherited says that the libraries that it needs look there, too. It is known for ELF and Mach-O.
	Folders   []string
	Inherited bool
	// Functions lists the exported TVM-FFI functions by name.
	Functions []Function
	// HasLibraryBin says that other modules are embedded in the library, and
	// HasLibraryContext that it takes the pointer of its module when loaded.
	HasLibraryBin, HasLibraryContext bool
	// Reserved lists the other symbols with the prefix __tvm_ffi__ that describe
	// no function of the library.
	Reserved []string
	// API lists the exported functions of the C API, which libtvm_ffi has.
	API []string
	// ImportsPython says that the library takes symbols of Python from the process, so that only
	// Python can load it. It is known for ELF and Mach-O.
	ImportsPython bool
	// CUDA lists the functions of the CUDA runtime that the library takes from the process. The order is that of the
	// file. It is known for ELF and Mach-O.
	CUDA []string

	importsFFI bool
}

// UsesFFI reports whether the library exports or imports symbols of TVM-FFI, or is linked with
// libtvm_ffi. Another one registers nothing when it is loaded.
func (f File) UsesFFI() bool {
	return f.importsFFI || f.HasLibraryBin || f.HasLibraryContext || len(f.Functions)+len(f.Reserved)+len(f.API) > 0 ||
		slices.ContainsFunc(f.Needed, func(name string) bool { return strings.Contains(name, "tvm_ffi") })
}

// Function is a function that a library exports as __tvm_ffi_<Name>.
type Function struct {
	Name string
	// HasMetadata and HasDoc say that the library also exports
	// __tvm_ffi__metadata_<Name> and __tvm_ffi__doc_<Name>.
	HasMetadata, HasDoc bool
}

// FunctionPrefix begins the symbol of an exported function.
const FunctionPrefix = "__tvm_ffi_"

const (
	reservedPrefix = "__tvm_ffi__"
	metadataPrefix = reservedPrefix + "metadata_"
	docPrefix      = reservedPrefix + "doc_"
	libraryBin     = reservedPrefix + "library_bin"
	libraryContext = reservedPrefix + "library_ctx"
	apiPrefix      = "TVMFFI"
)

// maxFileSize bounds the files that Read accepts; the largest known library,
// the TVM compiler, has 259 MB.
const maxFileSize = 16 << 30

// Read reads the exported TVM-FFI symbols of the shared library at path.
func Read(path string) (File, error) {
	f, err := read(path)
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func read(path string) (File, error) {
	info, err := os.Stat(path)
	if err != nil {
		var pathError *os.PathError
		if errors.As(err, &pathError) {
			err = pathError.Err // the caller names the path
		}
		return File{}, err
	}
	switch {
	case info.IsDir():
		return File{}, errors.New("this is a folder; name the library file in it")
	case !info.Mode().IsRegular():
		return File{}, errors.New("this is not a regular file")
	case info.Size() > maxFileSize:
		return File{}, fmt.Errorf("the file has %d bytes, the limit is %d", info.Size(), int64(maxFileSize))
	}
	file, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer file.Close()
	f, err := parse(image{io.NewSectionReader(file, 0, info.Size())})
	f.Name = filepath.Base(path)
	return f, err
}

// parse reads a library from any reader.
func parse(im image) (f File, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			f, err = File{}, p.error
		default: // the readers check what they use, so this is a second net
			f, err = File{}, fmt.Errorf("malformed file: %v", p)
		}
	}()
	if im.Size() == 0 {
		fail("%w: it is empty", ErrTruncated)
	}
	head := im.read("header", 0, min(im.size(), 64))
	switch text := string(head); {
	case strings.HasPrefix(text, elf.ELFMAG):
		return readELF(im), nil
	case strings.HasPrefix(text, "MZ"):
		return readPE(im), nil
	case machoOrder(head) != nil:
		return readMachO(im, machoOrder(head)), nil
	case isFat(head):
		return readFat(im), nil
	}
	return File{}, notALibrary(head)
}

// notALibrary returns an error that says what the file is, if it can be recognised.
func notALibrary(head []byte) error {
	text := string(head)
	for _, k := range []struct{ prefix, what string }{
		{"!<arch>\n", "this is a static archive or an import library; link it into a shared library, or name the .so, .dylib or .dll it belongs to"},
		{"!<thin>\n", "this is a static archive; link it into a shared library first"},
		{"PK\x03\x04", "this is a zip archive, perhaps a Python wheel; unpack it and name the library in it"},
		{"\x1f\x8b", "this is a gzip archive; unpack it and name the library in it"},
		{"\xca\xfe\xba\xbf\x00\x00\x00", "this is a fat Mach-O file of 64 bits; take the part of one architecture with lipo -thin"},
		{"\x00asm", "this is a WebAssembly module, which has no native code"},
		{"BC\xc0\xde", "this is LLVM bitcode; compile and link it into a shared library first"},
		{"#!", "this is a script, not a shared library"},
		{"#include", source},
		{"--- !tapi-tbd", "this is a text stub for a linker; name the .dylib it stands for"},
		{"/* GNU ld script", linkerScript}, {"INPUT", linkerScript}, {"GROUP", linkerScript},
		{"//", source}, {"/*", source},
	} {
		if strings.HasPrefix(text, k.prefix) {
			return errors.New(k.what)
		}
	}
	if isCOFFObject(head) {
		return errObject
	}
	return errors.New("this is not a shared library: it is neither ELF, Mach-O nor PE")
}

const source = "this is a source, not a shared library; compile it first, as \"tvmffi-bind build\" does"

const linkerScript = "this is a linker script; name the library it points to"

var (
	errObject     = errors.New("this is an object file; link it into a shared library first (for example with g++ -shared)")
	errExecutable = errors.New("this is an executable, not a shared library")
)

// ErrTruncated is the error for a file that lacks a part that its headers name.
var ErrTruncated = elfheader.ErrTruncated

// CheckHost returns an error if the library cannot be loaded by a program built
// for goos and goarch.
func (f File) CheckHost(goos, goarch string) error {
	osFits := f.GOOS == goos || f.GOOS == "linux" && goos == "android"
	if osFits && slices.Contains(f.Archs, goarch) {
		return nil
	}
	return fmt.Errorf("%s is built for %s/%s and cannot be loaded on %s/%s; get the library for %s/%s",
		f.Name, f.GOOS, strings.Join(f.Archs, "+"), goos, goarch, goos, goarch)
}

// need adds the name of a library that the loader loads too.
func (f *File) need(name string) {
	if f.Needed = append(f.Needed, name); len(f.Needed) > maxNeeded {
		fail("more than %d needed libraries", maxNeeded)
	}
}

// search adds folders in which the loader looks for needed libraries.
func (f *File) search(folders ...string) {
	if f.Folders = append(f.Folders, folders...); len(f.Folders) > maxNeeded {
		fail("more than %d folders of needed libraries", maxNeeded)
	}
}

// symbol is an exported symbol.
type symbol struct {
	name string
	data bool // known to be data, not code
}

// symbolList holds the exported symbols that matter here.
type symbolList []symbol

// add appends the symbol with the name at an offset of a string table, if it matters.
func (l *symbolList) add(table []byte, offset uint64, data bool) {
	start := table[min(offset, uint64(len(table))):]
	if !bytes.HasPrefix(start, []byte(FunctionPrefix)) && !bytes.HasPrefix(start, []byte(apiPrefix)) {
		return
	}
	const limit = 1 << 17
	if len(*l) == limit {
		fail("more than %d symbols of TVM-FFI", limit)
	}
	*l = append(*l, symbol{cstring(start, 0), data})
}

// imports notes that the library takes the symbol at an offset of a string table from another one. A weak one may be missing.
func (f *File) imports(table []byte, offset uint64, weak bool) {
	start := table[min(offset, uint64(len(table))):]
	name, _, _ := bytes.Cut(start[:min(len(start), maxNameLen)], []byte{0})
	f.importsFFI = f.importsFFI || bytes.HasPrefix(name, []byte(apiPrefix)) || bytes.Contains(name, []byte("3tvm3ffi"))
	f.ImportsPython = f.ImportsPython || bytes.HasPrefix(name, []byte("Py")) || bytes.HasPrefix(name, []byte("_Py"))
	if !weak && ofCUDARuntime(string(name)) && len(f.CUDA) < maxNeeded {
		f.CUDA = append(f.CUDA, string(name))
	}
}

// ofCUDARuntime reports whether a symbol is a function of libcudart, such as cudaMalloc or __cudaRegisterFatBinary. Those
// of the driver, such as cuInit, and of other libraries, such as cudnnCreate, are not.
func ofCUDARuntime(name string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(name, "_"), "cuda")
	return ok && rest != "" && 'A' <= rest[0] && rest[0] <= 'Z'
}

// collect sorts the symbols into f.
func (f *File) collect(symbols symbolList) {
	functions := map[string]*Function{}
	reserved := map[string]bool{}
	for _, s := range symbols {
		if name, ok := strings.CutPrefix(s.name, FunctionPrefix); ok && name != "" && name[0] != '_' && !s.data {
			functions[name] = &Function{Name: name}
		}
	}
	for _, s := range symbols {
		if strings.HasPrefix(s.name, apiPrefix) {
			f.API = append(f.API, s.name)
			continue
		}
		if !strings.HasPrefix(s.name, reservedPrefix) {
			continue
		}
		if fn := functions[strings.TrimPrefix(s.name, metadataPrefix)]; fn != nil {
			fn.HasMetadata = true
		} else if fn := functions[strings.TrimPrefix(s.name, docPrefix)]; fn != nil {
			fn.HasDoc = true
		} else if s.name == libraryBin {
			f.HasLibraryBin = true
		} else if s.name == libraryContext {
			f.HasLibraryContext = true
		} else {
			reserved[s.name] = true
		}
	}
	for _, fn := range functions {
		f.Functions = append(f.Functions, *fn)
	}
	slices.SortFunc(f.Functions, func(a, b Function) int { return strings.Compare(a.Name, b.Name) })
	for name := range reserved {
		f.Reserved = append(f.Reserved, name)
	}
	slices.Sort(f.Reserved)
	slices.Sort(f.API)
	f.API = slices.Compact(f.API)
}
