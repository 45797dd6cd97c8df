package cuda

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"runtime"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// Module is code loaded on one device.
type Module struct {
	resource
	kinds map[string][]paramKind // of the parameters of kernels in PTX, as far as that says so
}

// ModuleOption changes how the driver compiles PTX.
type ModuleOption func(*jit)

// jit holds the options of cuModuleLoadDataEx.
type jit struct {
	n       int
	options [8]uint32
	values  [8]uintptr
	failure [8192]byte
	info    [64]byte // the driver wants it where there is the other one
}

// set adds an option, or changes it.
func (j *jit) set(option uint32, value uintptr) {
	at := j.n
	for i := range j.n {
		if j.options[i] == option {
			at = i
		}
	}
	j.options[at], j.values[at] = option, value
	j.n = max(j.n, at+1)
}

// newJIT returns options with room for the logs.
func newJIT(options []ModuleOption) *jit {
	j := new(jit)
	for _, o := range options {
		o(j)
	}
	j.set(driver.JITErrorLog, uintptr(unsafe.Pointer(&j.failure)))
	j.set(driver.JITErrorLogSize, uintptr(len(j.failure)))
	j.set(driver.JITInfoLog, uintptr(unsafe.Pointer(&j.info)))
	j.set(driver.JITInfoLogSize, uintptr(len(j.info)))
	return j
}

// log returns what the compiler or the linker wrote about a failure.
func (j *jit) log() string {
	text, _, _ := strings.Cut(string(j.failure[:]), "\x00")
	return text
}

// option returns a number as the driver takes it. A number beyond uint32 becomes the largest, which no option takes.
func option(n int) uintptr {
	if n < 0 || n > math.MaxUint32 {
		return math.MaxUint32
	}
	return uintptr(n)
}

// MaxRegisters limits the registers of a thread.
func MaxRegisters(n int) ModuleOption {
	return func(j *jit) { j.set(driver.JITMaxRegisters, option(n)) }
}

// OptimizationLevel sets how much the driver optimises, 0 to 4; 4 is what it does
// without the option.
func OptimizationLevel(n int) ModuleOption {
	return func(j *jit) { j.set(driver.JITOptimizationLevel, option(n)) }
}

// LineInfo keeps line numbers for profilers.
func LineInfo() ModuleOption { return func(j *jit) { j.set(driver.JITLineInfo, 1) } }

// DebugInfo keeps debug information.
func DebugInfo() ModuleOption { return func(j *jit) { j.set(driver.JITDebugInfo, 1) } }

// LoadModule loads a cubin, a fatbin or PTX text, from go:embed or a file. The
// driver keeps no reference to image. The caller closes the module. The
// messages of the compiler about broken PTX are in the Log of the error.
func (d Device) LoadModule(image []byte, options ...ModuleOption) (m *Module, err error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	if err := checkImage(image); err != nil {
		return nil, err
	}
	j := newJIT(options)
	// PTX ends with a NUL; for the other formats it does not count.
	text := append(bytes.Clone(image), 0)
	err = s.with(func(g *guard) error {
		back, err := g.relax()
		if err != nil {
			return err
		}
		defer back()
		err = g.callGo(driver.ModuleLoadDataEx, g.out(0), uintptr(unsafe.Pointer(unsafe.SliceData(text))), uintptr(j.n),
			uintptr(unsafe.Pointer(&j.options)), uintptr(unsafe.Pointer(&j.values)))
		runtime.KeepAlive(j)
		if e, ok := err.(*Error); ok {
			e.Item = moduleText(image) + " on " + d.String()
			if Code(e.Number) == ErrUnsupportedPTX {
				e.Item += ", whose driver is of CUDA " + driver.VersionText(driver.Version())
			}
			e.Log = j.log()
			return e
		}
		m = &Module{kinds: paramKinds(image)}
		m.open(s, "module on "+d.String(), g.result(0), modules, driver.ModuleUnload)
		return nil
	})
	return m, err
}

// ptxHead finds the version of PTX in a text, and what it is for.
var ptxHead = regexp.MustCompile(`(?m)^\s*\.version\s+(\d+\.\d+)(?:\s+\.target\s+(\w+))?`)

// moduleText says for messages what an image is.
func moduleText(image []byte) string {
	text := fmt.Sprintf("a module of %d bytes", len(image))
	if m := ptxHead.FindSubmatch(image); m != nil && KindOf(image) == ImagePTX {
		text += " (PTX " + string(m[1])
		if len(m[2]) > 0 {
			text += " for " + string(m[2])
		}
		text += ")"
	}
	return text
}

// checkImage refuses an image that the driver would read beyond its end, because it
// receives no length.
func checkImage(image []byte) error {
	broken := func(text string) error {
		return &Error{Number: int(ErrInvalidImage), Name: names[ErrInvalidImage], Text: text, Call: driver.ModuleLoadDataEx.String(),
			Item: moduleText(image)}
	}
	size := uint64(len(image))
	switch {
	case size == 0:
		return broken("the image is empty: pass the bytes of a cubin, a fatbin or PTX")
	case bytes.HasPrefix(image, elfMagic):
		if KindOf(image) != ImageCubin || size < elfHeader || image[4] != 2 {
			return broken("the image is an ELF file and not a cubin: compile with nvcc -cubin")
		}
		if !wholeCubin(image) {
			return broken("the image is a cubin that was cut off: read or embed the whole file")
		}
	case bytes.HasPrefix(image, ltoMagic):
		return broken("the image is LTO IR, which the driver does not load: compile it without -dlto, or link it first")
	case bytes.HasPrefix(image, fatbinMagic):
		if !wholeFatbin(image) {
			return broken("the image is a fatbin that was cut off: read or embed the whole file")
		}
	case bytes.HasPrefix(image, []byte("\xb1\x43\x62\x46")):
		return broken("the image is the wrapper of a fatbin, which holds addresses: pass the fatbin itself")
	case bytes.IndexByte(bytes.TrimRight(image, "\x00"), 0) >= 0 || !bytes.Contains(image, []byte(".version")):
		return broken("the image is neither a cubin nor a fatbin nor PTX: pass one of these")
	}
	return nil
}

// Close waits for all work of the device and unloads the module: the code of a kernel that
// is queued must not go away. Its kernels must not be used any more, nor graphs that
// launch them. As with [Memory.Free], it is an error inside [Stream.Capture], and it first waits
// for the end of captures of other goroutines. If the wait fails and the device is not lost, Close
// can be called again. Otherwise a second call does nothing.
func (m *Module) Close() (err error) {
	if m == nil || m.handle.Load() == 0 {
		return nil
	}
	if err := outside("Close of a module", "close it after that"); err != nil {
		return err
	}
	return m.s.with(func(g *guard) error {
		h := m.handle.Swap(0)
		if h == 0 {
			return nil
		}
		called, err := m.s.gate.whenDone(g, func() error {
			m.s.live[m.kind].Add(-1)
			return about(g.call(m.close, h), "the %s", m.what)
		})
		if !called {
			m.handle.Store(h)
		}
		return about(err, "the %s", m.what)
	})
}

// Device returns the device of the module.
func (m *Module) Device() Device { return m.s.device }

func (m *Module) live() (uintptr, error) {
	if m == nil {
		return 0, aModule.none()
	}
	return m.get(aModule)
}

// find runs an operation on the device of the module that looks up a symbol. f gets the
// handle of the module and the name as a C string.
func (m *Module) find(name string, f func(g *guard, h uintptr, symbol *byte) error) error {
	h, err := m.live()
	if err != nil {
		return err
	}
	if strings.IndexByte(name, 0) >= 0 || name == "" {
		return valueError("%q cannot be the name of a symbol: pass the name of a kernel or a variable in the image", name)
	}
	return m.s.with(func(g *guard) error {
		back, err := g.relax() // the driver may load the code only now
		if err != nil {
			return err
		}
		defer back()
		return f(g, h, unsafe.SliceData(append([]byte(name), 0)))
	})
}

// Global returns a __device__ or __constant__ variable of the module as a view,
// which ends when the module is closed.
func (m *Module) Global(name string) (v *Memory, err error) {
	err = m.find(name, func(g *guard, h uintptr, symbol *byte) error {
		if err := g.callGo(driver.ModuleGetGlobal, g.out(0), g.out(1), h, uintptr(unsafe.Pointer(symbol))); err != nil {
			return about(err, "the variable %q", name)
		}
		v = &Memory{s: m.s, address: g.result(0), size: int64(g.result(1)), check: func() error { _, err := m.live(); return err }}
		return nil
	})
	return v, err
}
