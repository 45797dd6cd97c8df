package libraries

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/elfheader"
	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// A library that registers a name again ends the process while it is loaded. Its file does not
// say which names it registers, and a library that only uses a name contains it too. So only
// another build of a library is recognised: it contains all names that the library added to the
// registry, and defines the same types, by the symbols of their definitions. A library with
// hidden symbols and few names may pass, and no other one is refused.

// The marks of a file that registers functions or types, or looks functions up.
const (
	setsFunctions = "TVMFFIFunctionSetGlobal"
	setsTypes     = "TVMFFITypeRegister"
	getsFunctions = "TVMFFIFunctionGetGlobal"
	definesType   = "reflection9ObjectDefI" // in a mangled name, after namespace
	namespace     = "3ffi10"
)

// registering holds, for each library that was loaded and that registers something, what the
// registry held before. The Registry guards it.
var registering []Snapshot

// FileToLoad returns the file to load for the module at path: a loaded library of the same
// content, if loading it again would register its names again. The caller holds the Registry.
func FileToLoad(path string) (string, error) {
	if slices.Contains(opened, path) || !fileContains(path, setsFunctions, setsTypes) {
		return path, nil
	}
	if loaded := loadedCopy(path); loaded != "" {
		return loaded, nil
	}
	return path, Registered(path).clash()
}

// clash returns an error if the library is another build of a loaded one.
func (s Snapshot) clash() error {
	if s.loaded || !fileContains(s.path, setsFunctions, setsTypes) {
		return nil
	}
	type build struct {
		path  string
		names []string
	}
	var loaded []build
	after := s.functions
	for _, l := range slices.Backward(registering) {
		loaded = append(loaded, build{l.path, added(l.functions, after)})
		after = l.functions
	}
	for _, file := range dynlib.Images() { // those that other code has loaded
		known := file == s.path || slices.ContainsFunc(loaded, func(b build) bool { return b.path == file })
		if !known && filepath.Base(file) == filepath.Base(s.path) {
			loaded = append(loaded, build{file, added(nil, s.functions)})
		}
	}
	if core := CorePath(); mapped(s.path) < 2*mapped(core) && fileContains(s.path, "ffi.Module.load_from_file.so\x00") {
		loaded = append(loaded, build{core, s.functions})
	}
	var data []byte
	for _, l := range loaded {
		if here, there := mapped(s.path), mapped(l.path); max(here, there) > mostTimes*min(here, there) {
			continue
		}
		if sameContent(l.path, s.path) {
			continue // it was loaded by a link, or is the file of one
		}
		if data == nil {
			data = readMapped(s.path)
		}
		other := readMapped(l.path)
		if data == nil || other == nil {
			continue // it was removed since, or the loader reports it
		}
		sameName := filepath.Base(l.path) == filepath.Base(s.path)
		if name := registersAgain(data, other, l.names, sameName); name != "" {
			return failure.Errorf(failure.KindRuntime, "%s cannot be loaded: it registers %s, and so does another build of the library, %s, which the process has loaded: load one of the two",
				s.path, name, l.path)
		}
	}
	return nil
}

// mostTimes is how much larger one build of a library may be than another, because it is not
// optimised for example. The compiler of TVM has 77 times the size of TVM's runtime, and to read it
// takes 0.2 s and 250 MB.
const mostTimes = 8

// mapped returns the size of the part of a library that the loader maps, without what only debuggers
// read. It is 0 if there is none.
func mapped(path string) int64 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	if h, err := elfheader.Read(f, uint64(info.Size())); err == nil && h.Mapped > 0 {
		return int64(h.Mapped)
	}
	return info.Size()
}

// readMapped reads that part of a library. It returns nil if it cannot.
func readMapped(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	data := make([]byte, mapped(path))
	if _, err := io.ReadFull(f, data); err != nil {
		return nil
	}
	return data
}

// registersAgain returns the first name that both files register, "" if data is not another
// build of the library in the file loaded, which added the names to the registry.
func registersAgain(data, loaded []byte, names []string, sameName bool) (first string) {
	shared := 0
	for _, name := range names {
		switch text := []byte(name + "\x00"); {
		case bytes.Contains(data, text):
			if !bytes.Contains(loaded, text) {
				continue
			}
			if shared++; first == "" || name < first {
				first = name
			}
		case bytes.Contains(loaded, text):
			return ""
		}
	}
	types := 0
	for at := range indices(loaded, definesType) {
		if !bytes.HasSuffix(loaded[:at], []byte(namespace)) {
			continue // a library of Go has the mark among its constants
		}
		symbol, _, _ := bytes.Cut(loaded[at:], []byte{0})
		if !bytes.Contains(data, symbol) {
			return ""
		}
		if types++; first == "" {
			first = "the type of the symbol " + string(symbol)
		}
	}
	user := bytes.Contains(data, []byte(getsFunctions)) && !bytes.Contains(loaded, []byte(getsFunctions))
	if types == 0 && (user || shared < 2 && !sameName) {
		return ""
	}
	return first
}

// indices yields where text is in data.
func indices(data []byte, text string) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for at := 0; ; at++ {
			i := bytes.Index(data[at:], []byte(text))
			if i < 0 || !yield(at+i) {
				return
			}
			at += i
		}
	}
}

// added returns the names in after that are not in before.
func added(before, after []string) []string {
	known := make(map[string]bool, len(before))
	for _, name := range before {
		known[name] = true
	}
	return slices.DeleteFunc(slices.Clone(after), func(name string) bool { return known[name] || strings.HasPrefix(name, "ffi.") })
}
