package cuda

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// Module is code loaded on one device.
type Module struct{ resource }

// ModuleOption changes how the driver compiles PTX.
type ModuleOption func(*jit)

// The numbers of CUjit_option.
const (
	jitMaxRegisters      = 0
	jitInfoLog           = 3
	jitInfoLogSize       = 4
	jitErrorLog          = 5
	jitErrorLogSize      = 6
	jitOptimizationLevel = 7
	jitDebugInfo         = 11
	jitLineInfo          = 13
)

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

// MaxRegisters limits the registers of a thread.
func MaxRegisters(n int) ModuleOption {
	return func(j *jit) { j.set(jitMaxRegisters, uintptr(uint32(n))) }
}

// OptimizationLevel sets how much the driver optimises, 0 to 4; 4 is what it does
// without the option.
func OptimizationLevel(n int) ModuleOption {
	return func(j *jit) { j.set(jitOptimizationLevel, uintptr(uint32(n))) }
}

// LineInfo keeps line numbers for profilers.
func LineInfo() ModuleOption { return func(j *jit) { j.set(jitLineInfo, 1) } }

// DebugInfo keeps debug information.
func DebugInfo() ModuleOption { return func(j *jit) { j.set(jitDebugInfo, 1) } }

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
	j := new(jit)
	for _, o := range options {
		o(j)
	}
	j.set(jitErrorLog, uintptr(unsafe.Pointer(&j.failure)))
	j.set(jitErrorLogSize, uintptr(len(j.failure)))
	j.set(jitInfoLog, uintptr(unsafe.Pointer(&j.info)))
	j.set(jitInfoLogSize, uintptr(len(j.info)))
	// PTX ends with a NUL; for the other formats it does not count.
	text := append(bytes.Clone(image), 0)
	g, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	err = g.callGo(driver.ModuleLoadDataEx, g.out(0), uintptr(unsafe.Pointer(unsafe.SliceData(text))), uintptr(j.n),
		uintptr(unsafe.Pointer(&j.options)), uintptr(unsafe.Pointer(&j.values)))
	runtime.KeepAlive(j)
	if e, ok := err.(*Error); ok {
		e.Item = fmt.Sprintf("a module of %d bytes on %s", len(image), d)
		e.Log, _, _ = strings.Cut(string(j.failure[:]), "\x00")
		return nil, e
	}
	m = &Module{}
	m.open(s, "module on "+d.String(), g.result(0), modules, driver.ModuleUnload)
	return m, nil
}

// checkImage refuses an image that the driver would read beyond its end, because it
// receives no length.
func checkImage(image []byte) error {
	broken := func(format string, args ...any) error {
		return &Error{Number: int(ErrInvalidImage), Name: names[ErrInvalidImage], Text: fmt.Sprintf(format, args...), Call: driver.ModuleLoadDataEx.String(),
			Item: fmt.Sprintf("a module of %d bytes", len(image))}
	}
	size := uint64(len(image))
	u16 := func(at uint64) uint64 { return uint64(binary.LittleEndian.Uint16(image[at:])) }
	u64 := func(at uint64) uint64 { return binary.LittleEndian.Uint64(image[at:]) }
	inside := func(at, n uint64) bool { return at <= size && n <= size-at }
	switch {
	case size == 0:
		return broken("the image is empty: pass the bytes of a cubin, a fatbin or PTX")
	case bytes.HasPrefix(image, []byte("\x7fELF")):
		const header, machineCUDA, noBits = 64, 190, 8
		if size < header || image[4] != 2 || u16(18) != machineCUDA {
			return broken("the image is an ELF file but no cubin")
		}
		segments, segment, sections, section := u64(32), u16(54), u64(40), u16(58)
		for i := range u16(56) {
			if p := segments + i*segment; segment < 56 || !inside(segments, (i+1)*segment) || !inside(u64(p+8), u64(p+32)) {
				return broken("the image is a cubin that was cut off")
			}
		}
		for i := range u16(60) {
			p := sections + i*section
			if section < 64 || !inside(sections, (i+1)*section) || binary.LittleEndian.Uint32(image[p+4:]) != noBits && !inside(u64(p+24), u64(p+32)) {
				return broken("the image is a cubin that was cut off")
			}
		}
	case bytes.HasPrefix(image, []byte("\x50\xed\x55\xba")):
		if size < 16 || !inside(u16(6), u64(8)) {
			return broken("the image is a fatbin that was cut off")
		}
	case bytes.HasPrefix(image, []byte("\xb1\x43\x62\x46")):
		return broken("the image is the wrapper of a fatbin, which holds addresses: pass the fatbin itself")
	case bytes.IndexByte(bytes.TrimRight(image, "\x00"), 0) >= 0 || !bytes.Contains(image, []byte(".version")):
		return broken("the image is neither a cubin nor a fatbin nor PTX")
	}
	return nil
}

// Close unloads the module. Its kernels must not be used any more, nor graphs
// that launch them. A second call does nothing.
func (m *Module) Close() error {
	if m == nil {
		return nil
	}
	return m.shut()
}

// Device returns the device of the module.
func (m *Module) Device() Device { return m.s.device }

func (m *Module) live() (uintptr, error) {
	if m == nil {
		return 0, valueError("the module is nil")
	}
	return m.get()
}

// enter makes the device of the module current, to look up a symbol. It returns the
// handle of the module and the name as a C string.
func (m *Module) enter(name string) (g guard, h uintptr, symbol *byte, err error) {
	if h, err = m.live(); err != nil {
		return g, 0, nil, err
	}
	if strings.IndexByte(name, 0) >= 0 || name == "" {
		return g, 0, nil, valueError("%q cannot be the name of a symbol", name)
	}
	g, err = m.s.enter()
	return g, h, unsafe.SliceData(append([]byte(name), 0)), err
}

// Global returns a __device__ or __constant__ variable of the module as a view,
// which ends when the module is closed.
func (m *Module) Global(name string) (v *Memory, err error) {
	g, h, symbol, err := m.enter(name)
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	if err := g.callGo(driver.ModuleGetGlobal, g.out(0), g.out(1), h, uintptr(unsafe.Pointer(symbol))); err != nil {
		return nil, about(err, "the variable %q", name)
	}
	return &Memory{s: m.s, address: g.result(0), size: int64(g.result(1)), module: m}, nil
}
