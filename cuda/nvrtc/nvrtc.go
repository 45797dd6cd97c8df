// Package nvrtc compiles CUDA C++ while the program runs, to PTX or to a cubin
// that cuda.Device.LoadModule takes. It needs the library NVRTC, and neither a GPU
// nor a driver nor a toolkit.
//
// # The library
//
// Nothing happens at import. The first use loads the file that the environment
// variable TVMFFI_NVRTC_LIBRARY names. Without it, the first use takes the NVRTC that
// the loader of the system finds, then that of an installed Python package
// (nvidia-cuda-nvrtc), then that of a toolkit in /usr/local/cuda. Where there is none, every function
// returns the same error, for which errors.Is(err, [ErrUnavailable]) holds.
//
// # The cache
//
// Compiled programs are kept in the cache of the project (TVMFFI_CACHE, or the
// folder tvmffi in the user's cache) by the hash of all that went into it. A program
// that may read files, by an option such as -I or by an #include that is not among its
// Headers, is compiled each time, because what lies there may change.
package nvrtc

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// ErrUnavailable is the error of every function where NVRTC cannot be loaded.
var ErrUnavailable = errors.New("NVRTC is not available")

// Program is a text in CUDA C++ and how to compile it.
type Program struct {
	// Name is the name of the file in messages; "" is "program.cu".
	Name string
	// Source is the text of the program, in CUDA C++.
	Source string
	// Headers are texts for #include, by the name in the #include.
	Headers map[string]string
	// Arch is what to compile for: "compute_90" gives PTX, which the driver compiles
	// for any device from there on; "sm_90a" gives a cubin. "90" and "9.0" mean sm_90.
	Arch string
	// Options are those of NVRTC, such as "--std=c++20" and "-lineinfo". The
	// architecture is not among them.
	Options []string
	// Kernels are expressions whose lowered names are wanted, such as
	// "scale<float>": kernels that are templates, or are not extern "C".
	Kernels []string
}

// Code is a compiled program.
type Code struct {
	// Image is a cubin, or text of PTX.
	Image []byte
	PTX   bool
	// Names has for each of Program.Kernels the name in the image.
	Names map[string]string
	// Log has the warnings of the compiler.
	Log string
	// Cached says that an earlier Compile, perhaps of another process, did the work.
	Cached bool
}

// Error is a failure of NVRTC. errors.Is(err, tvmffi.ErrRuntime) holds.
type Error struct {
	// Name is the number as a text, such as "NVRTC_ERROR_COMPILATION".
	Name string
	Code int
	// Program is the name of the program, "" if there is none.
	Program string
	// Log is the output of the compiler.
	Log string
}

// Error returns the name of the error and the log.
func (e *Error) Error() string {
	text := "nvrtc: "
	if e.Program != "" {
		text += "compile " + e.Program + ": "
	}
	text += fmt.Sprintf("%s (%d)", e.Name, e.Code)
	if e.Log != "" {
		text += ":\n" + e.Log
	}
	return text
}

// Is reports whether target is tvmffi.ErrRuntime.
func (e *Error) Is(target error) bool { return target == tvmffi.ErrRuntime }

func valueError(format string, args ...any) error {
	return tvmffi.NewError("ValueError", "nvrtc: "+fmt.Sprintf(format, args...))
}

// Version returns the version of NVRTC, such as 13 and 5.
func Version() (major, minor int, err error) {
	if err := load(); err != nil {
		return 0, 0, err
	}
	return library.major, library.minor, nil
}

// Architectures returns what the loaded NVRTC compiles for.
func Architectures() ([]cuda.Arch, error) {
	if err := load(); err != nil {
		return nil, err
	}
	var n int32
	if err := status(call(library.numArchs, uintptr(unsafe.Pointer(&n)))); err != nil {
		return nil, err
	}
	numbers := make([]int32, max(n, 1))
	if err := status(call(library.archs, uintptr(unsafe.Pointer(&numbers[0])))); err != nil {
		return nil, err
	}
	archs := make([]cuda.Arch, 0, n)
	for _, v := range numbers[:n] {
		archs = append(archs, cuda.Arch{Major: int(v) / 10, Minor: int(v) % 10})
	}
	return archs, nil
}

// Compile compiles a program. The output of the compiler is in the Log of the [*Error].
// It may be called from any goroutine.
func Compile(p Program) (*Code, error) {
	if p.Name == "" {
		p.Name = "program.cu"
	}
	ptx := strings.HasPrefix(p.Arch, "compute_")
	arch, err := cuda.ParseArch(p.Arch)
	if err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	if err := load(); err != nil {
		return nil, err
	}
	options := slices.Clone(p.Options)
	target := arch.String()
	if ptx {
		target = "compute_" + strings.TrimPrefix(target, "sm_")
	}
	options = append(options, "--gpu-architecture="+target)
	key := ""
	if !p.readsFiles() {
		key = p.key(options)
		if c, ok := cached(key); ok {
			return c, nil
		}
	}
	c, err := p.compile(options, ptx)
	if err != nil {
		return nil, err
	}
	if key != "" {
		c.store(key)
	}
	return c, nil
}

// check refuses what C strings cannot hold, and a second architecture.
func (p *Program) check() error {
	texts := append([]string{p.Name, p.Source}, p.Options...)
	texts = append(texts, p.Kernels...)
	for name, text := range p.Headers {
		texts = append(texts, name, text)
	}
	for _, s := range texts {
		if strings.IndexByte(s, 0) >= 0 {
			return valueError("compile %q: a text has a NUL byte: remove it", p.Name)
		}
	}
	for _, o := range p.Options {
		if name, _, _ := strings.Cut(strings.TrimLeft(o, "-"), "="); name == "gpu-architecture" || name == "arch" {
			return valueError("compile %q: the option %s: set Arch in place of it", p.Name, o)
		}
	}
	return nil
}

// pinned is memory for NVRTC, which stays where it is until Unpin.
type pinned struct{ runtime.Pinner }

// text returns a C string.
func (pin *pinned) text(s string) uintptr {
	b := append([]byte(s), 0)
	pin.Pin(&b[0])
	return uintptr(unsafe.Pointer(&b[0]))
}

// list returns an array of C strings, 0 for none.
func (pin *pinned) list(texts []string) uintptr {
	if len(texts) == 0 {
		return 0
	}
	l := make([]uintptr, len(texts))
	pin.Pin(&l[0])
	for i, s := range texts {
		l[i] = pin.text(s)
	}
	return uintptr(unsafe.Pointer(&l[0]))
}

// compile calls NVRTC.
func (p *Program) compile(options []string, ptx bool) (_ *Code, err error) {
	var pin pinned
	defer pin.Unpin()
	names := slices.Sorted(maps.Keys(p.Headers))
	headers := make([]string, len(names))
	for i, name := range names {
		headers[i] = p.Headers[name]
	}
	program := new(uintptr)
	pin.Pin(program)
	err = status(call(library.create, uintptr(unsafe.Pointer(program)), pin.text(p.Source), pin.text(p.Name),
		uintptr(len(names)), pin.list(headers), pin.list(names)))
	if err != nil {
		return nil, p.failed(err, "")
	}
	defer call(library.destroy, uintptr(unsafe.Pointer(program)))
	for _, k := range p.Kernels {
		if err := status(call(library.addName, *program, pin.text(k))); err != nil {
			return nil, p.failed(err, "the expression "+k)
		}
	}
	compiled := status(call(library.compile, *program, uintptr(len(options)), pin.list(options)))
	log, err := output(*program, library.logSize, library.log)
	c := &Code{PTX: ptx, Names: map[string]string{}, Log: strings.TrimRight(string(log), "\x00\n")}
	if compiled != nil {
		return nil, p.failed(compiled, c.Log)
	}
	if err != nil {
		return nil, p.failed(err, "")
	}
	size, data := library.cubinSize, library.cubin
	if ptx {
		size, data = library.ptxSize, library.ptx
	}
	if c.Image, err = output(*program, size, data); err != nil {
		return nil, p.failed(err, c.Log)
	}
	if ptx {
		c.Image = []byte(strings.TrimRight(string(c.Image), "\x00"))
	}
	for _, k := range p.Kernels {
		name := new(uintptr)
		pin.Pin(name)
		if err := status(call(library.lowered, *program, pin.text(k), uintptr(unsafe.Pointer(name)))); err != nil {
			return nil, p.failed(err, "the expression "+k)
		}
		c.Names[k] = cString(*name)
	}
	return c, nil
}

// failed adds to an error which program it is about.
func (p *Program) failed(err error, log string) error {
	if e, ok := err.(*Error); ok {
		e.Program, e.Log = p.Name, log
	}
	return err
}

// output asks for the size of something and then for the thing.
func output(program, size, data uintptr) ([]byte, error) {
	var n uintptr
	if err := status(call(size, program, uintptr(unsafe.Pointer(&n)))); err != nil {
		return nil, err
	}
	b := make([]byte, max(n, 1))
	if err := status(call(data, program, uintptr(unsafe.Pointer(&b[0])))); err != nil {
		return nil, err
	}
	return b[:n], nil
}
