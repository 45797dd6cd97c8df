package nvrtc

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/wheel/sites"

	"github.com/ebitengine/purego"
)

// variable is the environment variable that names the file of NVRTC.
const variable = "TVMFFI_NVRTC_LIBRARY"

// library has the functions of the loaded NVRTC; it is written once, before load
// returns.
var library struct {
	major, minor int
	// size is that of the file, which distinguishes builds of one version.
	size int64

	version, errorString, create, destroy, compile, log, logSize, ptx, ptxSize, cubin, cubinSize, addName, lowered, numArchs, archs uintptr
}

var load = sync.OnceValue(func() error {
	h, name, err := open()
	if err != nil {
		return err
	}
	l := &library
	for symbol, at := range map[string]*uintptr{
		"nvrtcVersion": &l.version, "nvrtcGetErrorString": &l.errorString, "nvrtcCreateProgram": &l.create,
		"nvrtcDestroyProgram": &l.destroy, "nvrtcCompileProgram": &l.compile, "nvrtcGetProgramLog": &l.log,
		"nvrtcGetProgramLogSize": &l.logSize, "nvrtcGetPTX": &l.ptx, "nvrtcGetPTXSize": &l.ptxSize, "nvrtcGetCUBIN": &l.cubin,
		"nvrtcGetCUBINSize": &l.cubinSize, "nvrtcAddNameExpression": &l.addName, "nvrtcGetLoweredName": &l.lowered,
		"nvrtcGetNumSupportedArchs": &l.numArchs, "nvrtcGetSupportedArchs": &l.archs,
	} {
		if *at, err = h.Symbol(symbol); err != nil {
			return fmt.Errorf("%w: %s has no %s: NVRTC 11.2 or newer is needed", ErrUnavailable, name, symbol)
		}
	}
	var major, minor int32
	if err := status(call(l.version, uintptr(unsafe.Pointer(&major)), uintptr(unsafe.Pointer(&minor)))); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	l.major, l.minor = int(major), int(minor)
	if info, err := os.Stat(dynlib.File(l.version)); err == nil {
		l.size = info.Size()
	}
	return nil
})

// packages are the distributions that have NVRTC, newest first.
var packages = []struct{ distribution, file string }{
	{"nvidia-cuda-nvrtc", "nvidia/cu13/lib/libnvrtc.so.13"},
	{"nvidia-cuda-nvrtc-cu12", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"},
}

// candidates returns where NVRTC may be, in order, and why the cache is not searched.
func candidates() (files []string, refused []error) {
	if explicit := os.Getenv(variable); explicit != "" {
		return []string{explicit}, nil
	}
	if runtime.GOOS == "windows" {
		return []string{"nvrtc64_130_0.dll", "nvrtc64_120_0.dll", "nvrtc64_112_0.dll"}, nil
	}
	files = []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"}
	for _, p := range packages {
		cached, err := sites.Cached(p.distribution, p.file)
		if err != nil {
			refused = append(refused, err)
		}
		for _, found := range append(sites.Find(p.distribution, p.file), cached...) {
			files = append(files, found.File)
		}
	}
	return append(files, "/usr/local/cuda/lib64/libnvrtc.so"), refused
}

func open() (dynlib.Handle, string, error) {
	var tried []string
	files, refused := candidates()
	for _, name := range files {
		h, err := dynlib.Open(name)
		if err == nil {
			return h, name, nil
		}
		tried = append(tried, err.Error())
	}
	for _, err := range refused {
		tried = append(tried, err.Error())
	}
	remedy := "install the Python package nvidia-cuda-nvrtc or the CUDA toolkit, or set " + variable + " to the file of NVRTC"
	if os.Getenv(variable) != "" {
		remedy = "correct or unset " + variable
	}
	return 0, "", fmt.Errorf("%w; tried:\n  %s\n%s", ErrUnavailable, strings.Join(tried, "\n  "), remedy)
}

// call calls a function. Memory that is given as uintptr(unsafe.Pointer(x)) in the
// call itself is put on the heap and lives until it returns.
//
//go:uintptrescapes
func call(f uintptr, args ...uintptr) int32 {
	r, _, _ := purego.SyscallN(f, args...)
	return int32(r)
}

// status makes an error of a result.
func status(code int32) error {
	if code == 0 {
		return nil
	}
	text, _, _ := purego.SyscallN(library.errorString, uintptr(code))
	return &Error{Name: cString(text), Code: int(code)}
}

// cString copies a text of C.
func cString(at uintptr) string {
	if at == 0 {
		return ""
	}
	n := uintptr(0)
	for *capi.PointerTo[byte](at + n) != 0 {
		n++
	}
	return string(unsafe.Slice(capi.PointerTo[byte](at), n))
}
