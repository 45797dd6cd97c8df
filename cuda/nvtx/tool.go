package nvtx

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/internal/dynlib"
)

// variable names the library of the profiler.
const variable = "NVTX_INJECTION64_PATH"

// A module is a table of functions by their numbers, which begin with 1.
const (
	core    = 1
	core2   = 5
	modules = 7
	most    = 16
)

// sizes are the numbers of functions of each module and 1: a profiler asks for those that
// this package does not call too.
var sizes = [modules]uint32{core: 16, 2: 9, 3: 15, 4: 7, core2: 16, 6: 7}

// The functions of module core.
const (
	markEx        = 1
	rangeStartEx  = 4
	rangeEnd      = 7
	rangePushEx   = 8
	rangePop      = 11
	nameCategoryA = 12
)

// The functions of module core2.
const (
	domainMarkEx        = 1
	domainRangeStartEx  = 2
	domainRangeEnd      = 3
	domainRangePushEx   = 4
	domainRangePop      = 5
	domainNameCategoryA = 8
	domainCreateA       = 12
	domainDestroy       = 14
)

// tables is what the profiler sees. It keeps the addresses and writes functions for as long
// as the process lives: a variable of a package neither moves nor ends, and the collector
// does not look for pointers in numbers. What the profiler may write at any time is read by
// sync/atomic.
var tables struct {
	functions [modules][most]uintptr
	pointers  [modules][most + 1]uintptr // the addresses of the functions, then 0
	callbacks struct{ size, table uintptr }
	version   struct {
		size              uintptr
		version, reserved uint32
		set               uintptr
	}
}

// The states of the search for a profiler.
const (
	unknown = iota
	absent
	present
)

var (
	state atomic.Uint32
	once  sync.Once
	tool  struct {
		path string
		err  error
	}
)

// listening reports whether a profiler listens, and looks for it on the first call.
func listening() bool {
	if s := state.Load(); s != unknown {
		return s == present
	}
	return look()
}

func look() bool {
	once.Do(func() {
		next := uint32(absent)
		if path := environ(); path != "" {
			tool.path = path
			if tool.err = load(path); tool.err == nil {
				next = present
			}
		}
		state.Store(next)
	})
	return state.Load() == present
}

// Tool returns the file that NVTX_INJECTION64_PATH names, "" if it names none, and an error if
// that file cannot be used as a profiler. Without a profiler the functions of this package do
// nothing.
func Tool() (path string, err error) {
	look()
	return tool.path, tool.err
}

// load loads the library of a profiler and lets it fill in the tables.
func load(path string) error {
	h, err := dynlib.Open(path)
	if err != nil {
		return fmt.Errorf("NVTX: %w: correct or unset %s", err, variable)
	}
	start, err := h.Symbol("InitializeInjectionNvtx2")
	if err != nil {
		return fmt.Errorf("NVTX: %s is not a profiler: it has no function InitializeInjectionNvtx2: correct or unset %s", path, variable)
	}
	fill()
	runtime.LockOSThread()
	rc, _, _ := purego.SyscallN(start, purego.NewCallback(exported))
	runtime.UnlockOSThread()
	if int32(rc) == 0 {
		return errors.New("NVTX: the profiler " + path + " has refused to start: read its own messages")
	}
	return nil
}

// fill makes the tables that a profiler asks for.
func fill() {
	for i := range tables.pointers {
		for j := uint32(1); j < sizes[i]; j++ {
			tables.pointers[i][j] = uintptr(unsafe.Pointer(&tables.functions[i][j]))
		}
	}
	const nvtxVersion = 3
	tables.callbacks.size = unsafe.Sizeof(tables.callbacks)
	tables.callbacks.table = purego.NewCallback(moduleTable)
	tables.version.size, tables.version.version = unsafe.Sizeof(tables.version), nvtxVersion
	tables.version.set = purego.NewCallback(func(uintptr) uintptr { return 0 }) // the version of the profiler
}

// exported is nvtxGetExportTable, which the profiler calls on any thread.
func exported(id uintptr) uintptr {
	switch uint32(id) {
	case 1:
		return uintptr(unsafe.Pointer(&tables.callbacks))
	case 3:
		return uintptr(unsafe.Pointer(&tables.version))
	}
	return 0
}

// moduleTable is GetModuleFunctionTable: it gives the addresses of the functions of a module.
// Both results may be left out.
func moduleTable(module, table, size uintptr) uintptr {
	m := uint32(module)
	if m >= modules || sizes[m] == 0 {
		return 0
	}
	if size != 0 {
		*(*uint32)(pointer(size)) = sizes[m]
	}
	if table != 0 {
		*(*uintptr)(pointer(table)) = uintptr(unsafe.Pointer(&tables.pointers[m]))
	}
	return 1
}

// pointer makes a pointer of an address in C memory.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// call calls a function of the profiler, 0 if it has none.
func call(module, function int, args ...uintptr) uintptr {
	f := atomic.LoadUintptr(&tables.functions[module][function])
	if f == 0 {
		return 0
	}
	a := arguments.Get().(*[3]uintptr)
	r, _, _ := purego.SyscallN(f, a[:copy(a[:], args)]...)
	arguments.Put(a)
	return r
}

// arguments are reused, so that a call allocates nothing.
var arguments = sync.Pool{New: func() any { return new([3]uintptr) }}

// attributes is nvtxEventAttributes_t.
type attributes struct {
	version, size uint16
	category      uint32
	colorType     int32
	color         uint32
	payloadType   int32
	_             int32
	payload       uint64
	messageType   int32
	_             int32
	message       uintptr
}

// frame is the memory of one call, reused. It is on the heap and so stays where it is.
type frame struct {
	attributes
	text []byte
}

var frames = sync.Pool{New: func() any { return new(frame) }}

// write copies a text and returns its address, for as long as the frame lives.
func (f *frame) write(text string) uintptr {
	f.text = append(append(f.text[:0], text...), 0)
	return uintptr(unsafe.Pointer(unsafe.SliceData(f.text)))
}

func withText(text string, use func(address uintptr) uintptr) uintptr {
	f := frames.Get().(*frame)
	defer frames.Put(f)
	r := use(f.write(text))
	runtime.KeepAlive(f)
	return r
}

// send hands an event to the function of the default domain or to that of the domain.
func (d *Domain) send(e *Event, plain, inDomain int) uintptr {
	f := frames.Get().(*frame)
	f.attributes = attributes{version: 3, size: uint16(unsafe.Sizeof(f.attributes)), category: e.Category, payloadType: e.Payload.kind, payload: e.Payload.bits}
	if e.Color != 0 {
		f.colorType, f.color = 1, uint32(e.Color)
	}
	if e.Message != "" {
		f.messageType, f.message = 1, f.write(e.Message)
	}
	at := uintptr(unsafe.Pointer(&f.attributes))
	var r uintptr
	if d == nil {
		r = call(core, plain, at)
	} else {
		r = d.call(inDomain, at, 0)
	}
	runtime.KeepAlive(f)
	frames.Put(f)
	return r
}
