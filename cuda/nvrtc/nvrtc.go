// Package nvrtc compiles CUDA C++ while the program runs, to PTX or to a cubin
// that cuda.Device.LoadModule takes. It needs the library NVRTC, and neither a GPU nor a
// driver nor a toolkit.
//
//	code, err := nvrtc.CompileFor(device, nvrtc.Program{Source: text})
//	if err != nil {
//		return err // with the log of the compiler
//	}
//	module, err := device.LoadModule(code.Image)
//
// # The library
//
// Nothing happens at import. The first use loads the file that the environment variable
// TVMFFI_NVRTC_LIBRARY names. Without it, the first use loads each NVRTC that the loader of the
// system finds, that installed Python packages have (nvidia-cuda-nvrtc, nvidia-cuda-nvrtc-cu12),
// and that toolkits have (CUDA_HOME, CUDA_PATH, and on Linux /usr/local/cuda). Where there is
// none, each call with a valid program returns an error for which errors.Is(err,
// [ErrUnavailable]) holds.
//
// # Versions
//
// A driver loads cubins of compilers of its own major version of CUDA and of older ones, and PTX
// of compilers that are not newer than the driver, whatever their major version: this is what
// NVIDIA calls minor version compatibility. A driver of CUDA 12.4 loads a cubin of NVRTC 12.9,
// and neither PTX of 12.9 nor anything of 13.0. [CompileFor] takes the newest NVRTC whose result
// the driver loads on that device, and it is an error if there is none. [Compile] prefers it, if
// there are several and the machine has a driver; otherwise it takes the newest one that knows
// Arch, because the image may be for another machine.
//
// # Headers
//
// Folders of CUDA headers are added after those of the options -I, if a header is not found there, so that
// #include <cuda_fp16.h> and <cuda/std/array> work. They are those of a toolkit that
// CUDA_HOME or CUDA_PATH names, of the toolkit or the site-packages folder that has the NVRTC, of
// installed Python packages (nvidia-cuda-runtime, nvidia-cuda-cccl, nvidia-cuda-crt; for CUDA 12
// nvidia-cuda-runtime-cu12, nvidia-cuda-cccl-cu12, nvidia-cuda-nvcc-cu12), or of /usr/local/cuda,
// if their major version is that of NVRTC. Where something is missing, an NVRTC that carries a
// copy of the headers, as 13.5 does, unpacks it into the cache. The error for a header that was
// not found says what to install.
//
// # The cache
//
// Compiled programs are kept in the cache of the project (TVMFFI_CACHE, or the
// folder tvmffi in the user's cache) by the hash of all that went into it: the text, the options,
// the version of NVRTC, Headers, and every file that an #include may name. A header that has changed,
// that has gone, or that has appeared in a folder that is searched before, is seen. A program
// is compiled each time if what it reads is not known: it has an #include of a macro, __TIME__ or __DATE__,
// or an option for files such as --pch or one that this package does not know.
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
	"github.com/tvmffi-go/tvmffi/cuda/internal/toolkit"
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
	// For CompileFor it may be empty.
	Arch string
	// Options are those of NVRTC, such as "--std=c++20" and "-lineinfo". The
	// architecture is not among them. Those that make another form of code, such as "-dlto", are
	// an error.
	Options []string
	// Kernels are expressions whose lowered names are wanted, such as
	// "scale<float>": kernels that are templates, or are not extern "C".
	Kernels []string
}

// Code is a compiled program.
type Code struct {
	// Image is a cubin or text of PTX, which Kind tells. It is never empty.
	Image []byte
	Kind  cuda.ImageKind
	// Major and Minor are the version of the NVRTC that made it.
	Major, Minor int
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
	// Hint says what to do about a header that was not found, or an architecture that this NVRTC
	// does not know. It is "" for other errors.
	Hint string
}

// Error returns the name of the error, the log and the hint.
func (e *Error) Error() string {
	text := "nvrtc: "
	if e.Program != "" {
		text += "compile " + e.Program + ": "
	}
	text += fmt.Sprintf("%s (%d)", e.Name, e.Code)
	if e.Log != "" {
		text += ":\n" + e.Log
	}
	if e.Hint != "" {
		text += "\n" + e.Hint
	}
	return text
}

// Is reports whether target is tvmffi.ErrRuntime.
func (e *Error) Is(target error) bool { return target == tvmffi.ErrRuntime }

func valueError(format string, args ...any) error {
	return tvmffi.NewError("ValueError", "nvrtc: "+fmt.Sprintf(format, args...))
}

// Version returns the version of the newest NVRTC, such as 13 and 5.
func Version() (major, minor int, err error) {
	libs, err := load()
	if err != nil {
		return 0, 0, err
	}
	return libs[0].version.Major, libs[0].version.Minor, nil
}

// Architectures returns what the newest NVRTC compiles for.
func Architectures() ([]cuda.Arch, error) {
	libs, err := load()
	if err != nil {
		return nil, err
	}
	return slices.Clone(libs[0].archs), nil
}

// Compile compiles a program. The output of the compiler is in the Log of the [*Error].
// It may be called from any goroutine.
func Compile(p Program) (*Code, error) {
	t, err := p.prepare()
	if err != nil {
		return nil, err
	}
	libs, err := load()
	if err != nil {
		return nil, err
	}
	return p.on(forAny(libs, t), t)
}

// CompileFor compiles a program for a device, by the newest NVRTC whose work the driver of this
// machine loads. If Arch is empty, the result is a cubin for the device, or, if no NVRTC knows
// the device, PTX for the newest architecture before it. It may be called from any goroutine.
func CompileFor(d cuda.Device, p Program) (*Code, error) {
	device, err := d.Arch()
	if err != nil {
		return nil, err
	}
	v, err := cuda.DriverVersion()
	if err != nil {
		return nil, err
	}
	given := p.Arch
	if given == "" {
		p.Arch = device.String()
	}
	t, err := p.prepare()
	if err != nil {
		return nil, err
	}
	libs, err := load()
	if err != nil {
		return nil, err
	}
	if given == "" {
		t.arch = cuda.Arch{}
	}
	driver := toolkit.VersionOf(v)
	l, t := forDevice(libs, t, device, driver)
	if l == nil {
		return nil, unsuited(p.Name, libs, t, d, driver)
	}
	return p.on(l, t)
}

// prepare completes and checks a program.
func (p *Program) prepare() (t target, err error) {
	if p.Name == "" {
		p.Name = "program.cu"
	}
	if p.Arch == "" {
		return t, valueError("compile %q: Arch is empty: name an architecture such as sm_90a or compute_80, or call CompileFor", p.Name)
	}
	t.kind = cuda.ImageCubin
	if strings.HasPrefix(p.Arch, "compute_") {
		t.kind = cuda.ImagePTX
	}
	if t.arch, err = cuda.ParseArch(p.Arch); err != nil {
		return t, err
	}
	return t, p.check()
}

// on compiles a program that is prepared, or takes it from the cache.
func (p *Program) on(l *library, t target) (*Code, error) {
	options := slices.Clone(p.Options)
	options = append(options, "--gpu-architecture="+t.option())
	if files := p.read(parse(options)); files.missing || files.problem != "" {
		for _, dir := range l.headers().Folders {
			options = append(options, "--include-path="+dir)
		}
	}
	key := p.key(l, options)
	if key != "" {
		if c, ok := cached(key); ok {
			return c, nil
		}
	}
	c, err := p.compile(l, options, t.kind)
	if err != nil {
		return nil, err
	}
	// A header may have changed in the meantime.
	if key != "" && p.key(l, options) == key {
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
	switch o := parse(p.Options); {
	case o.arch != "":
		return valueError("compile %q: the option %s: set Arch in place of it", p.Name, o.arch)
	case o.other != "":
		return valueError("compile %q: the option %s makes code for a linker or for OptiX, which no driver loads: leave it out", p.Name, o.other)
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

// compile calls NVRTC. All that it is given a pointer to is pinned until the end, and the
// program belongs to this call alone, all on one thread.
func (p *Program) compile(l *library, options []string, kind cuda.ImageKind) (_ *Code, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var pin pinned
	defer pin.Unpin()
	names := slices.Sorted(maps.Keys(p.Headers))
	headers := make([]string, len(names))
	for i, name := range names {
		headers[i] = p.Headers[name]
	}
	program := new(uintptr)
	pin.Pin(program)
	err = l.status(call(l.create, uintptr(unsafe.Pointer(program)), pin.text(p.Source), pin.text(p.Name),
		uintptr(len(names)), pin.list(headers), pin.list(names)))
	if err != nil {
		return nil, p.failed(err, "")
	}
	defer call(l.destroy, uintptr(unsafe.Pointer(program)))
	for _, k := range p.Kernels {
		if err := l.status(call(l.addName, *program, pin.text(k))); err != nil {
			return nil, p.failed(err, "the expression "+k)
		}
	}
	compiled := l.status(call(l.compile, *program, uintptr(len(options)), pin.list(options)))
	log, err := l.output(*program, l.logSize, l.log)
	c := &Code{Kind: kind, Major: l.version.Major, Minor: l.version.Minor, Names: map[string]string{}, Log: strings.TrimRight(string(log), "\x00\n")}
	if compiled != nil {
		err := p.failed(compiled, c.Log)
		if e, ok := err.(*Error); ok {
			e.Hint = l.hint(c.Log, p.Arch)
		}
		return nil, err
	}
	if err != nil {
		return nil, p.failed(err, "")
	}
	if c.Image, err = p.image(l, *program, kind); err != nil {
		return nil, p.failed(err, c.Log)
	}
	for _, k := range p.Kernels {
		name := new(uintptr)
		pin.Pin(name)
		if err := l.status(call(l.lowered, *program, pin.text(k), uintptr(unsafe.Pointer(name)))); err != nil {
			return nil, p.failed(err, "the expression "+k)
		}
		c.Names[k] = cString(*name)
	}
	return c, nil
}

// image takes what the compiler has made, which is not empty.
func (p *Program) image(l *library, program uintptr, kind cuda.ImageKind) ([]byte, error) {
	size, data := l.cubinSize, l.cubin
	if kind == cuda.ImagePTX {
		size, data = l.ptxSize, l.ptx
	}
	image, err := l.output(program, size, data)
	if err != nil {
		return nil, err
	}
	if kind == cuda.ImagePTX {
		image = []byte(strings.TrimRight(string(image), "\x00"))
	}
	if len(image) == 0 {
		return nil, valueError("compile %q: NVRTC %s made nothing of the form %s with the options %q: leave out those that ask for another form", p.Name, l.version, kind, p.Options)
	}
	return image, nil
}

// failed adds to an error which program it is about.
func (p *Program) failed(err error, log string) error {
	if e, ok := err.(*Error); ok {
		e.Program, e.Log = p.Name, log
	}
	return err
}

// output asks for the size of something and then for the thing.
func (l *library) output(program, size, data uintptr) ([]byte, error) {
	var n uintptr
	if err := l.status(call(size, program, uintptr(unsafe.Pointer(&n)))); err != nil {
		return nil, err
	}
	b := make([]byte, max(n, 1))
	if err := l.status(call(data, program, uintptr(unsafe.Pointer(&b[0])))); err != nil {
		return nil, err
	}
	return b[:n], nil
}
