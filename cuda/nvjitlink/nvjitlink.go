// Package nvjitlink links CUDA code while the program runs: PTX, cubins, fatbins, object files,
// libraries, and LTO IR, which it optimises as a whole. It needs the library nvJitLink, and neither a
// GPU nor a driver nor a toolkit.
//
//	a, err := nvrtc.CompileFor(device, nvrtc.Program{Source: kernels, Options: []string{"-dlto"}})
//	b, err := nvrtc.CompileFor(device, nvrtc.Program{Source: functions, Options: []string{"-dlto"}})
//	linked, err := nvjitlink.LinkFor(device, nvjitlink.Program{Inputs: []cuda.LinkInput{{Data: a.Image}, {Data: b.Image}}})
//	module, err := device.LoadModule(linked.Image)
//
// Code other than LTO IR that calls functions of another input must have been compiled with -rdc=true.
//
// # The library
//
// Nothing happens at import. The first use loads the file that the environment variable
// TVMFFI_NVJITLINK_LIBRARY names. Without it, the first use loads each nvJitLink that the loader
// of the system finds, that installed Python packages have (nvidia-nvjitlink,
// nvidia-nvjitlink-cu12), and that toolkits have (CUDA_HOME, CUDA_PATH, and on Linux
// /usr/local/cuda). Where there is none, [Link] returns an error for which errors.Is(err,
// [ErrUnavailable]) holds, and [LinkFor] tries the linker in the driver. CUDA 11 has no
// nvJitLink.
//
// # Versions
//
// A driver loads the cubin of an nvJitLink of its own major version of CUDA or of an older one.
// nvJitLink must not be older than the compilers of its inputs, and LTO IR must come from a
// compiler of its own major version. [LinkFor] takes the newest nvJitLink whose cubin the driver
// loads. Where there is none, it tries the linker in the driver (cuda.Device.Link), which does
// not know LTO IR.
package nvjitlink

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/linkinput"
	"github.com/tvmffi-go/tvmffi/cuda/internal/toolkit"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// ErrUnavailable is the error where nvJitLink cannot be loaded and is needed.
var ErrUnavailable = errors.New("nvJitLink is not available")

// Program is what to link.
type Program struct {
	// Arch is what the result is for, such as "sm_90a". For LinkFor it may be empty.
	Arch string
	// Inputs are the parts, in order.
	Inputs []cuda.LinkInput
	// Options are those of nvJitLink, such as "-lineinfo" and "-maxrregcount=64". The
	// architecture is not among them, and -lto is added where an input is LTO IR. With "-ptx" the
	// result of LTO IR is PTX.
	Options []string
}

// Code is what was linked.
type Code struct {
	// Image is a cubin or text of PTX, which Kind says. It is never empty.
	Image []byte
	Kind  cuda.ImageKind
	// Major and Minor are the version of the nvJitLink that made it, 0 for the driver.
	Major, Minor int
	// Log has what the linker reported, for example with the option -verbose.
	Log string
}

// Error is a failure of nvJitLink. errors.Is(err, tvmffi.ErrRuntime) holds.
type Error struct {
	// Name is the number as a text, such as "NVJITLINK_ERROR_PTX_COMPILE".
	Name string
	Code int
	// Input is the name of the input that was refused, "" if it is about all of them.
	Input string
	// Log is the output of the linker.
	Log string
}

// Error returns the name of the error, the input and the log.
func (e *Error) Error() string {
	text := "nvjitlink: "
	if e.Input != "" {
		text += e.Input + ": "
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
	return tvmffi.NewError("ValueError", "nvjitlink: "+fmt.Sprintf(format, args...))
}

// Version returns the version of the newest nvJitLink, such as 13 and 5.
func Version() (major, minor int, err error) {
	libs, err := load()
	if err != nil {
		return 0, 0, err
	}
	return libs[0].version.Major, libs[0].version.Minor, nil
}

// Link links a program by the newest nvJitLink, or, if the machine has several and a driver,
// by the newest whose result the driver loads. The output of the linker is in the Log of the
// [*Error]. It may be called from any goroutine.
func Link(p Program) (*Code, error) {
	if err := p.prepare(); err != nil {
		return nil, err
	}
	libs, err := load()
	if err != nil {
		return nil, err
	}
	l := libs[0]
	if len(libs) > 1 {
		if v, err := cuda.DriverVersion(); err == nil {
			if i := slices.IndexFunc(libs, func(l *library) bool { return p.loads(l, toolkit.VersionOf(v)) }); i >= 0 {
				l = libs[i]
			}
		}
	}
	return p.link(l)
}

// LinkFor links a program for a device, by the newest nvJitLink whose result the driver of this
// machine loads. Where there is none, the linker in the driver links if Arch is "", no input is
// LTO IR, and all options are among -maxrregcount=N, -lineinfo and -g; otherwise LinkFor returns
// an error. It may be called from any goroutine.
func LinkFor(d cuda.Device, p Program) (*Code, error) {
	device, err := d.Arch()
	if err != nil {
		return nil, err
	}
	v, err := cuda.DriverVersion()
	if err != nil {
		return nil, err
	}
	driver := toolkit.VersionOf(v)
	own := p.Arch == ""
	if own {
		p.Arch = device.String()
	}
	if err := p.prepare(); err != nil {
		return nil, err
	}
	libs, err := load()
	for _, l := range libs {
		if p.loads(l, driver) {
			return p.link(l)
		}
	}
	if err == nil {
		err = unsuited(libs, d, driver, p.ptx())
	}
	options, known := p.moduleOptions()
	if !own || !known || slices.ContainsFunc(p.Inputs, isLTOIR) {
		return nil, err
	}
	image, failed := d.Link(p.Inputs, options...)
	if failed != nil {
		return nil, failed
	}
	return &Code{Image: image, Kind: cuda.ImageCubin}, nil
}

func isLTOIR(in cuda.LinkInput) bool { return in.Kind == cuda.ImageLTOIR }

// unsuited is the error where no library suits the driver.
func unsuited(libs []*library, d cuda.Device, driver toolkit.Version, ptx bool) error {
	var have []string
	for _, l := range libs {
		have = append(have, fmt.Sprintf("\n  nvJitLink %s: %s", l.version, l.file))
	}
	return tvmffi.NewError("RuntimeError", fmt.Sprintf("nvjitlink: link for %s: no nvJitLink of this machine makes what the driver loads, which supports CUDA %s; there is:%s\n%s",
		d, driver, strings.Join(have, ""), remedy(driver, ptx)))
}

// remedy says what to do where no library suits the driver.
func remedy(driver toolkit.Version, ptx bool) string {
	if driver.Major < 12 {
		return "nvJitLink begins with CUDA 12: update the NVIDIA driver, or link inputs that are not LTO IR by cuda.Device.Link"
	}
	distribution := "nvidia-nvjitlink"
	if driver.Major == 12 {
		distribution = "nvidia-nvjitlink-cu12"
	}
	version := fmt.Sprintf("a version of CUDA %d", driver.Major)
	if ptx { // see toolkit.Version.PTX
		version = fmt.Sprintf("version %s or older", driver)
	}
	return fmt.Sprintf("install the Python package %s of %s, or update the NVIDIA driver", distribution, version)
}

// moduleOptions are the options for the linker in the driver, if it has all of them.
func (p *Program) moduleOptions() (options []cuda.ModuleOption, ok bool) {
	for _, o := range p.Options {
		var n int
		switch _, err := fmt.Sscanf(o, "-maxrregcount=%d", &n); {
		case err == nil:
			options = append(options, cuda.MaxRegisters(n))
		case o == "-lineinfo":
			options = append(options, cuda.LineInfo())
		case o == "-g":
			options = append(options, cuda.DebugInfo())
		default:
			return nil, false
		}
	}
	return options, true
}

// ptx reports whether the result is PTX.
func (p *Program) ptx() bool { return slices.Contains(p.Options, "-ptx") }

// loads reports whether a driver loads what the library makes of the program.
func (p *Program) loads(l *library, driver toolkit.Version) bool {
	if p.ptx() {
		return l.version.PTX(driver)
	}
	return l.version.Cubin(driver)
}

// prepare completes and checks a program.
func (p *Program) prepare() error {
	if p.Arch == "" {
		return valueError("Arch is empty: name an architecture such as sm_90a, or call LinkFor")
	}
	arch, err := cuda.ParseArch(p.Arch)
	if err != nil {
		return err
	}
	p.Arch = arch.String()
	if len(p.Inputs) == 0 {
		return valueError("there are no inputs")
	}
	p.Inputs, p.Options = slices.Clone(p.Inputs), slices.Clone(p.Options)
	lto := false
	for i, in := range p.Inputs {
		in.Name, in.Kind, err = linkinput.Complete(i, in.Name, in.Data, in.Kind, cuda.KindOf(in.Data))
		if err != nil {
			return err
		}
		p.Inputs[i] = in
		lto = lto || isLTOIR(p.Inputs[i])
	}
	for _, o := range p.Options {
		if strings.IndexByte(o, 0) >= 0 {
			return valueError("the option %q has a NUL byte: remove it", o)
		}
		if strings.HasPrefix(o, "-arch") {
			return valueError("the option %s: set Arch in place of it", o)
		}
	}
	if lto && !slices.Contains(p.Options, "-lto") {
		p.Options = append(p.Options, "-lto")
	}
	return nil
}

// link calls nvJitLink. All that it is given a pointer to is pinned or kept alive until the end,
// and the link belongs to this call alone. All calls for a link are on one thread: where the
// goroutine changed threads between them, one test in five crashed.
func (p *Program) link(l *library) (_ *Code, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var pin runtime.Pinner
	defer pin.Unpin()
	defer runtime.KeepAlive(p.Inputs) // nvJitLink may read them as late as in nvJitLinkComplete
	text := func(s string) uintptr {
		b := append([]byte(s), 0)
		pin.Pin(&b[0])
		return uintptr(unsafe.Pointer(&b[0]))
	}
	options := []uintptr{text("-arch=" + p.Arch)}
	for _, o := range p.Options {
		options = append(options, text(o))
	}
	pin.Pin(&options[0])
	link := new(uintptr)
	pin.Pin(link)
	rc := call(l.create, uintptr(unsafe.Pointer(link)), uintptr(len(options)), uintptr(unsafe.Pointer(&options[0])))
	// Also a link that could not be made has a log, and an end.
	if *link != 0 {
		defer call(l.destroy, uintptr(unsafe.Pointer(link)))
	}
	if rc != 0 {
		return nil, l.failed(rc, *link, "")
	}
	for _, in := range p.Inputs {
		// Without this check, the result would lack what was refused.
		if rc := call(l.addData, *link, inputTypes[in.Kind], uintptr(unsafe.Pointer(&in.Data[0])), uintptr(len(in.Data)), text(in.Name)); rc != 0 {
			return nil, l.failed(rc, *link, in.Name)
		}
	}
	if rc := call(l.complete, *link); rc != 0 {
		return nil, l.failed(rc, *link, "")
	}
	c := &Code{Kind: cuda.ImageCubin, Major: l.version.Major, Minor: l.version.Minor}
	size, data := l.cubinSize, l.cubin
	if p.ptx() {
		c.Kind, size, data = cuda.ImagePTX, l.ptxSize, l.ptx
	}
	if c.Image, rc = l.output(*link, size, data); rc != 0 {
		return nil, l.failed(rc, *link, "")
	}
	if p.ptx() {
		c.Image = []byte(strings.TrimRight(string(c.Image), "\x00"))
	}
	if len(c.Image) == 0 {
		return nil, valueError("nvJitLink %s made nothing of the form %s with the options %q", l.version, c.Kind, p.Options)
	}
	c.Log = l.log(*link, l.infoLogSize, l.infoLog)
	return c, nil
}

func (l *library) log(link, size, data uintptr) string {
	b, _ := l.output(link, size, data)
	return strings.TrimRight(string(b), "\x00\n")
}

// failed makes an error of a result.
func (l *library) failed(rc int32, link uintptr, input string) error {
	e := &Error{Name: resultName(l.version, rc), Code: int(rc), Input: input}
	if link != 0 {
		e.Log = l.log(link, l.errorLogSize, l.errorLog)
	}
	return e
}
