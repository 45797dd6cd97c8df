package libraries

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/registry"
)

// A type may have native hooks that hash and compare its objects as keys of maps: C
// function pointers in these attributes. Release 0.1.15 of apache-tvm-ffi changed what
// they return, from int64_t and bool to TVMFFIAny, without a mark on the pointer. So a
// library with such hooks fits only a libtvm_ffi from the same side of that release.
// Otherwise a map loses keys in silence, or the process ends.
//
// No version number shows the side: a library has none, and 0.1.14.post1 and 0.1.15 report
// the same C API. But 0.1.15 also began to write the types of functions as named_args. The
// code that writes them comes from the headers, like the code that calls the hooks.
var keyHooks = [...]string{"__any_hash__", "__any_equal__"}

// headers says with which headers of TVM-FFI a library was compiled.
type headers int

const (
	unknownHeaders headers = iota
	oldHeaders             // before 0.1.15
	newHeaders             // 0.1.15 or newer
)

// String names the releases that have the headers.
func (h headers) String() string {
	if h == oldHeaders {
		return "0.1.14.post1 or older"
	}
	return "0.1.15 or newer"
}

// release is the one to use for the headers. The wheel 0.1.15 was withdrawn.
func (h headers) release() string {
	if h == oldHeaders {
		return "0.1.14.post1"
	}
	return "0.1.15.post2"
}

// headersOf reads the metadata of a function.
func headersOf(metadata string) headers {
	switch {
	case strings.Contains(metadata, `\"named_args\":{`):
		return newHeaders
	case strings.Contains(metadata, `\"type\":\"ffi.Function\",\"args\":[`):
		return oldHeaders
	}
	return unknownHeaders
}

// Snapshot is what the registry held before a library was loaded.
type Snapshot struct {
	path      string // of the library
	loaded    bool   // the process had the library, which registers nothing more
	functions []string
	hooks     map[abi.TypeIndex]bool
}

// Registered takes a snapshot before the library at path is loaded. The caller holds the
// Registry.
func Registered(path string) Snapshot {
	if slices.Contains(opened, path) {
		return Snapshot{path: path, loaded: true}
	}
	names, _ := registry.GlobalFunctions() // without them no library is refused
	return Snapshot{path: path, functions: names, hooks: typesWithHooks()}
}

// Keep says that the library was loaded and stays until the process ends. It does nothing for
// a file that is not an image of the process, such as one that names other libraries.
func (s Snapshot) Keep() {
	if !s.loaded && slices.Contains(dynlib.Images(), s.path) {
		s.keep()
	}
}

func (s Snapshot) keep() {
	opened = append(opened, s.path)
	if fileContains(s.path, setsFunctions, setsTypes) {
		registering = append(registering, s)
	}
}

func typesWithHooks() map[abi.TypeIndex]bool {
	types := map[abi.TypeIndex]bool{}
	for _, name := range keyHooks {
		for _, index := range capi.TypesWithPointer(name) {
			types[index] = true
		}
	}
	return types
}

// misfits holds the files of libraries that do not fit. They are in the process for good,
// so they are refused each time. The Registry guards it.
var misfits = map[string]error{}

// allowMixed names the variable that lets a library load that does not fit.
const allowMixed = "TVMFFI_ALLOW_MIXED"

// mixedAllowed reads the variable.
func mixedAllowed() (bool, error) {
	text := os.Getenv(allowMixed)
	if text == "" {
		return false, nil
	}
	allowed, err := strconv.ParseBool(text) // so 0 and false do not allow it
	if err != nil {
		return false, failure.Errorf(failure.KindValue, "invalid %s %q: write 1 or 0", allowMixed, text)
	}
	return allowed, nil
}

// Fits returns an error if the library, which was loaded after the snapshot, was compiled for
// another libtvm_ffi in a way that makes it unsafe to use. The caller has held the Registry since
// the snapshot.
func (s Snapshot) Fits() error {
	misfit := s.misfit() // found out in any case, for the next time
	if allowed, err := mixedAllowed(); err != nil || allowed {
		return err
	}
	return misfit
}

// misfit is Fits without regard to the variable.
func (s Snapshot) misfit() error {
	if err := misfits[s.path]; err != nil || s.loaded {
		return err
	}
	hooks := typesWithHooks()
	maps.DeleteFunc(hooks, func(index abi.TypeIndex, _ bool) bool { return s.hooks[index] })
	if len(hooks) == 0 {
		return nil
	}
	loaded, of := headersOfCore(), s.headersOfNew()
	if loaded == unknownHeaders || of == unknownHeaders || loaded == of {
		return nil
	}
	key := capi.KeyOf(slices.Min(slices.Collect(maps.Keys(hooks))))
	misfits[s.path] = failure.NewFailure(failure.Failure{Kind: failure.KindRuntime, Message: fmt.Sprintf(
		"%s does not fit libtvm_ffi %s (%s): it was built with apache-tvm-ffi %v, this libtvm_ffi is %v, and the two call the native hooks %s of its type %s differently, so maps with such keys lose entries or end the process"+
			"\nrun \"go tool tvmffi-bind setup --version %s\" and set TVMFFI_LIBRARY to the path that it prints"+
			"\nor write \"- {package: apache-tvm-ffi, version: %[8]s, path: tvm_ffi/lib/%[9]s}\" under deps in tvmffi.yaml"+
			"\nor set %[10]s=1 to load it as it is",
		s.path, CorePath(), VersionText(capi.Version()), of, loaded, strings.Join(keyHooks[:], " and "), key, of.release(), find.CoreName(), allowMixed)})
	return misfits[s.path]
}

// headersOfCore returns the headers of the loaded libtvm_ffi.
func headersOfCore() headers {
	metadata, err := registry.GlobalMetadata(registry.MetadataFunction)
	if err != nil {
		return unknownHeaders
	}
	return headersOf(metadata)
}

// headersOfNew returns the headers behind the functions that were registered since. If they
// differ, several libraries were loaded, and it is not known whose the hooks are.
func (s Snapshot) headersOfNew() headers {
	before := map[string]bool{}
	for _, name := range s.functions {
		before[name] = true
	}
	names, _ := registry.GlobalFunctions()
	found := unknownHeaders
	for _, name := range names {
		if before[name] {
			continue
		}
		metadata, err := registry.GlobalMetadata(name)
		if err != nil {
			continue
		}
		switch of := headersOf(metadata); {
		case of == unknownHeaders || of == found:
		case found == unknownHeaders:
			found = of
		default:
			return unknownHeaders
		}
	}
	return found
}
