package exportrt

import (
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/environment"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/libraries"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// symbols mirrors the struct of the same name in the C file of a shared library.
type symbols struct {
	// call is the safe call of all functions. It is set last, when everything is ready.
	call atomic.Uintptr
	// raise is void (*)(const char* kind, const char* message), or 0 if libtvm_ffi is
	// not loaded. problem is a C string that says why the functions cannot be called.
	raise   atomic.Uintptr
	problem atomic.Uintptr
	// environ is the environment of C, or 0.
	environ uintptr
	// object is the safe call of Function objects, and guarded the C function that goes on
	// to it. In a forked process, object and call refuse all calls. guarded is 0 on Windows.
	object  uintptr
	guarded uintptr
	// streams is environment.StreamFinder.
	streams uintptr
	// callback is callbacks.FlatCall.
	callback uintptr
	// deleter is that of the nodes of Go.
	deleter uintptr
	// count is the length of handles, which has call, metadata and doc of each function.
	count   uintptr
	handles [1]uintptr
}

// perFunction is the number of handles of a function.
const perFunction = 3

// reclaim sets Go's handler of SIGSEGV again; see Ready.
var reclaim func()

// Ready connects the exported symbols of a shared library with the functions of l that have
// the given names, in the order of the symbols. The constructor of the library calls Ready
// while the library is being loaded. If libtvm_ffi was loaded after that, the first call of
// a symbol calls Ready again.
//
// Everything that asks the loader happens here, on the thread that loads the library. An
// init function of Go runs on another thread at that time, and would wait forever for the
// lock of the loader, which this thread holds.
//
// Ready does not return an error of registration, because that would end the host. It keeps
// the error, and each symbol returns it. A symbol whose function does not exist returns an
// error too: an included package may have been generated again, but not this library.
//
// end is the C function that calls End. typed is Objects of package typed, in a library with values of any type.
func Ready(l *Exports, table, end uintptr, names []string, typed ...func(key string) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := capi.PointerTo[symbols](table)
	if s.call.Load() != 0 {
		return
	}
	if reclaim == nil {
		// The Go runtime is ready, and nothing has replaced its handler yet.
		reclaim = dynlib.KeepSignalAction()
		adoptEnvironment(s.environ)
		environment.EndWith(end)
		environment.StreamFinder = s.streams
		callbacks.FlatCall = s.callback
		s.deleter = objects.NodeDeleter()
		if s.guarded != 0 {
			s.object = callbacks.Guard(s.guarded)
		}
	}
	if why := attach(s); why != "" {
		s.problem.Store(cString(l.Name + ": " + why))
		return
	}
	// A libtvm_ffi that was loaded after this library has replaced the handler.
	reclaim()
	if l.Goexit {
		environment.ContainCallbacks()
	}
	err := l.register()
	handles := unsafe.Slice(&s.handles[0], s.count)
	var call uintptr
	functions := l.named()
	for _, f := range l.errorFunctions() {
		functions[f.Name] = &f
	}
	functions[typedName] = l.typed(functions, typed)
	for i, name := range names {
		f, err := functions[name], err
		if f == nil {
			f = &Function{Func: Ready} // it only returns err
			if err == nil {
				err = failure.Errorf(failure.KindRuntime, "%s: its Go packages have no function %s: run tvmffi-bind export again and rebuild the library", l.Name, name)
			}
		}
		for j, g := range [perFunction]func(*bindrt.Args) error{f.Call, f.returnMetadata, f.returnDoc} {
			if err != nil {
				g = func(*bindrt.Args) error { return err }
			}
			call, handles[perFunction*i+j] = callbacks.Export(g, f.origin(), f.about())
		}
	}
	s.call.Store(call)
}

// End is for the end of the host; see environment.End.
func End() { environment.End() }

// attach uses the libtvm_ffi of the host. It never loads another copy, which would have
// another registry.
func attach(s *symbols) (why string) {
	h, err := dynlib.Loaded(libraryName())
	if err != nil {
		return libraryName() + " is not loaded in this process: import tvm_ffi, or link with it, before using this library"
	}
	if f, err := h.Symbol("TVMFFIErrorSetRaisedFromCStr"); err == nil {
		s.raise.Store(f)
	}
	version, err := h.Symbol("TVMFFIGetVersion")
	if err != nil {
		return err.Error()
	}
	// The file is named explicitly, so that TVMFFI_LIBRARY of another program has no effect.
	if err := tvmffi.Load(tvmffi.WithLibrary(dynlib.File(version))); err != nil {
		return libraries.WithoutSetup(err) + `: in Python, run pip install "apache-tvm-ffi>=0.1.9,<0.2"; ` +
			"elsewhere, use the libtvm_ffi of such a release"
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

// cString copies s to memory that is never freed, because C may read it at any time.
func cString(s string) uintptr {
	b := append([]byte(strings.ReplaceAll(s, "\x00", " ")), 0)
	cStrings = append(cStrings, &b[0])
	return uintptr(unsafe.Pointer(&b[0]))
}

// cStrings keeps the strings of cString alive, to which only C refers. Heap memory does not
// move.
var cStrings []*byte

// adoptEnvironment sets the environment variables that the host has set since the process
// began. Go copied the environment at that moment.
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

func (f *Function) returnMetadata(a *bindrt.Args) error {
	_, metadata, err := f.describe()
	if err != nil {
		return err
	}
	return bindrt.Return(a, metadata)
}

func (f *Function) returnDoc(a *bindrt.Args) error { return bindrt.Return(a, f.Doc) }
