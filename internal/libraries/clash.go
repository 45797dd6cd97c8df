package libraries

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/dynlib"
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
	definesType   = "reflection9ObjectDefI" // followed by the rest of a mangled name
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
	if core := CorePath(); sizeOf(s.path) < 2*sizeOf(core) && fileContains(s.path, "ffi.Module.load_from_file.so\x00") {
		loaded = append(loaded, build{core, s.functions})
	}
	if len(loaded) == 0 {
		return nil
	}
	data, err := os.ReadFile(s.path)
	if err != nil {
		return nil //nolint:nilerr // the loader reports it
	}
	for _, l := range loaded {
		if sameContent(l.path, s.path) {
			continue // it was loaded by a link, or is the file of one
		}
		other, err := os.ReadFile(l.path)
		if err != nil {
			continue // it was removed since
		}
		sameName := filepath.Base(l.path) == filepath.Base(s.path)
		if name := registersAgain(data, other, l.names, sameName); name != "" {
			return failure.Errorf(failure.KindRuntime, "%s cannot be loaded: it registers %s, and so does another build of the library, %s, which the process has loaded: load one of the two",
				s.path, name, l.path)
		}
	}
	return nil
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
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
