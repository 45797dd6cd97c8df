package libraries

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/elfheader"
	"github.com/tvmffi-go/tvmffi/internal/find"
)

// attached holds the file of the libtvm_ffi of the process.
var attached struct {
	sync.Mutex
	path string
}

// CorePath returns the file of the loaded libtvm_ffi, "" if none is loaded.
func CorePath() string {
	attached.Lock()
	defer attached.Unlock()
	return attached.path
}

// VersionText returns a version of libtvm_ffi as text, such as "0.1.16".
func VersionText(v abi.Version) string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// opened holds the files of the libraries that open has loaded, and of modules that stay, once
// each. The Registry guards it.
var opened []string

// loadedFiles lists the files of all libraries in the process, however they were loaded.
func loadedFiles() []string { return append(slices.Clone(opened), dynlib.Images()...) }

// loadedCopy returns the file of a loaded library that is the file at path or a copy of
// it; "" if there is none.
func loadedCopy(path string) string {
	if slices.Contains(opened, path) {
		return path
	}
	files := loadedFiles()
	if slices.Contains(files, path) {
		return path
	}
	i := slices.IndexFunc(files, func(file string) bool { return sameContent(path, file) })
	if i < 0 {
		return ""
	}
	return files[i]
}

// loadedAs returns the file of the loaded library that the bindings of f use; "" if there
// is none. It has a name of f. The one that the bindings were made from goes before
// other versions.
func loadedAs(f find.File) string {
	var other string
	for _, file := range loadedFiles() {
		if !f.Called(filepath.Base(file)) {
			continue
		}
		if f.SHA256 != "" {
			if hash, err := hashOf(file); err == nil && hash == f.SHA256 {
				return file
			}
		}
		if other == "" && usesFFI(file) {
			other = file
		}
	}
	if other != "" {
		return other
	}
	for _, name := range f.Names() {
		if h, err := dynlib.Loaded(name); err == nil { // by its SONAME, or by a link
			return h.Path()
		}
	}
	return ""
}

// hashes are those of loaded files: each package of bindings on a library asks for it.
var hashes sync.Map // of paths to hashed

type hashed struct {
	info os.FileInfo
	hash string
}

// hashOf returns the hash of a file. It reads a file again only if that is another one, or was written since.
func hashOf(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if v, ok := hashes.Load(file); ok {
		if h := v.(hashed); os.SameFile(h.info, info) && h.info.Size() == info.Size() && h.info.ModTime().Equal(info.ModTime()) {
			return h.hash, nil
		}
	}
	hash, err := find.HashFile(file)
	if err == nil {
		hashes.Store(file, hashed{info, hash})
	}
	return hash, err
}

// sameContent reports whether two paths name the same file, or copies of it.
func sameContent(a, b string) bool {
	inA, err := os.Stat(a)
	if err != nil {
		return false
	}
	inB, err := os.Stat(b)
	if err != nil {
		return false
	}
	if os.SameFile(inA, inB) {
		return true
	}
	if inA.Size() != inB.Size() || !inA.Mode().IsRegular() || !inB.Mode().IsRegular() {
		return false
	}
	hash, err := find.HashFile(a)
	if err != nil {
		return false
	}
	other, err := find.HashFile(b)
	return err == nil && other == hash
}

// usesFFI reports whether the library at path may be one of TVM-FFI: it has the name of
// a C function or of libtvm_ffi in it. Another library may have the same name by chance.
func usesFFI(path string) bool {
	if _, err := os.Stat(path); err != nil {
		return true // it was removed since it was loaded
	}
	return fileContains(path, "TVMFFI", "tvm_ffi")
}

// fileContains reports whether one of the texts is among the names and the constants of the library at path. They are at most
// 64 bytes long.
func fileContains(path string, texts ...string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false
	}
	parts := []elfheader.Part{{Size: uint64(info.Size())}}
	if h, err := elfheader.Read(f, uint64(info.Size())); err == nil && len(h.Constants) > 0 {
		parts = h.Constants
	}
	return slices.ContainsFunc(parts, func(p elfheader.Part) bool {
		return contains(io.NewSectionReader(f, int64(p.Offset), int64(p.Size)), texts)
	})
}

// contains is fileContains of what a reader has.
func contains(in io.Reader, texts []string) bool {
	const longest = 64
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		part, err := r.Peek(r.Size())
		for _, text := range texts {
			if bytes.Contains(part, []byte(text)) {
				return true
			}
		}
		if err != nil {
			return false
		}
		_, _ = r.Discard(len(part) - longest + 1) // they are in the buffer
	}
}
