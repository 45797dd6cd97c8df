package exportrt

import (
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// symbols mirrors the struct of the same name in the C file of a shared library.
type symbols struct {
	// call is the safe call of all functions; it is set last, when all is ready.
	call atomic.Uintptr
	// raise is void (*)(const char* kind, const char* message), 0 if there is no
	// libtvm_ffi, and problem why the functions cannot be called.
	raise   atomic.Uintptr
	problem atomic.Uintptr
	// environ is the environment of C, or 0.
	environ uintptr
	// count is the length of handles: call, metadata and doc of each function.
	count   uintptr
	handles [1]uintptr
}

// perFunction is the number of handles of a function.
const perFunction = 3

// reclaim puts Go's handler of SIGSEGV back; see Ready.
var reclaim func()

// Ready connects the exported symbols of a shared library with the functions of l
// that have these names, in the order of the symbols. The constructor
// of the library calls it while the library is being loaded, and the first call of
// a symbol does if that came too early: libtvm_ffi may have been loaded after it.
//
// Everything that asks the loader happens here, on the thread that loads: an init
// function of Go runs on a thread of its own meanwhile, and would wait for ever
// for the lock of the loader, which this thread holds.
//
// An error of registration does not leave it, because it would end the host: it is
// kept, and each symbol returns it. So does a symbol whose function is gone: an
// included package may have been generated anew, and this library not.
func Ready(l *Exports, table uintptr, names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := capi.PointerTo[symbols](table)
	if s.call.Load() != 0 {
		return
	}
	if reclaim == nil {
		// The Go runtime is ready, and nobody has come since: this is its own handler.
		reclaim = dynlib.KeepSignalAction()
		adoptEnvironment(s.environ)
	}
	if why := attach(s); why != "" {
		s.problem.Store(cString(l.Name + ": " + why))
		return
	}
	// A libtvm_ffi that was loaded after this library has taken the handler.
	reclaim()
	err := l.register()
	handles := unsafe.Slice(&s.handles[0], s.count)
	var call uintptr
	functions := l.named()
	for i, name := range names {
		f, err := functions[name], err
		if f == nil {
			f = &Function{Func: Ready} // nothing is behind it
			if err == nil {
				err = failure.Errorf(failure.KindRuntime, "%s: its Go packages have no function %s: run tvmffi-bind export again, and build the library", l.Name, name)
			}
		}
		for j, g := range [perFunction]func(*bindrt.Args) error{f.Call, f.tellMetadata, f.tellDoc} {
			if err != nil {
				g = func(*bindrt.Args) error { return err }
			}
			call, handles[perFunction*i+j] = core.Export(g, f.origin())
		}
	}
	s.call.Store(call)
}

// attach takes the libtvm_ffi of the host. It never loads one: a second copy would
// be another registry.
func attach(s *symbols) (why string) {
	h, err := dynlib.Loaded(libraryName())
	if err != nil {
		return libraryName() + " is not loaded in this process: import tvm_ffi, or link with it, before this library is used"
	}
	if f, err := h.Symbol("TVMFFIErrorSetRaisedFromCStr"); err == nil {
		s.raise.Store(f)
	}
	version, err := h.Symbol("TVMFFIGetVersion")
	if err != nil {
		return err.Error()
	}
	// Named explicitly, so that TVMFFI_LIBRARY has no say in another program.
	if err := tvmffi.Load(tvmffi.WithLibrary(dynlib.File(version))); err != nil {
		return err.Error()
	}
	return ""
}

func libraryName() string {
	switch runtime.GOOS {
	case "darwin":
		return "libtvm_ffi.dylib"
	case "windows":
		return "tvm_ffi.dll"
	}
	return "libtvm_ffi.so"
}

// cString copies text to memory that is never freed; C reads it at any time.
func cString(text string) uintptr {
	b := append([]byte(strings.ReplaceAll(text, "\x00", " ")), 0)
	kept = append(kept, &b[0])
	return uintptr(unsafe.Pointer(&b[0]))
}

// kept holds the texts of cString, which C knows by address. Heap memory does not
// move.
var kept []*byte

// adoptEnvironment gives os.Getenv what the host has set since the process began:
// Go took the environment of that moment.
func adoptEnvironment(environ uintptr) {
	if environ == 0 {
		return
	}
	for p := environ; *capi.PointerTo[uintptr](p) != 0; p += unsafe.Sizeof(p) {
		name, value, ok := strings.Cut(goString(*capi.PointerTo[uintptr](p)), "=")
		if old, found := os.LookupEnv(name); ok && name != "" && (!found || old != value) {
			_ = os.Setenv(name, value)
		}
	}
}

func goString(address uintptr) string {
	n := uintptr(0)
	for *capi.PointerTo[byte](address + n) != 0 {
		n++
	}
	return string(unsafe.Slice(capi.PointerTo[byte](address), n))
}

func (f *Function) tellMetadata(a *bindrt.Args) error {
	metadata, err := f.metadata()
	if err != nil {
		return err
	}
	return bindrt.Return(a, metadata)
}

func (f *Function) tellDoc(a *bindrt.Args) error { return bindrt.Return(a, f.Doc) }
