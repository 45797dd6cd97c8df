package nvrtc

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/toolkit"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"

	"github.com/ebitengine/purego"
)

// place says where NVRTC is.
var place = toolkit.Library{
	Name:     "NVRTC",
	Variable: "TVMFFI_NVRTC_LIBRARY",
	Windows:  []string{"nvrtc64_130_0.dll", "nvrtc64_120_0.dll", "nvrtc64_112_0.dll"},
	Others:   []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"},
	Packages: []toolkit.Package{
		{Distribution: "nvidia-cuda-nvrtc", File: "nvidia/cu13/lib/libnvrtc.so.13", DLL: "nvidia/cu13/bin/x86_64/nvrtc64_130_0.dll"},
		{Distribution: "nvidia-cuda-nvrtc-cu12", File: "nvidia/cuda_nvrtc/lib/libnvrtc.so.12", DLL: "nvidia/cuda_nvrtc/bin/nvrtc64_120_0.dll"},
	},
	File:        "libnvrtc.so",
	Unavailable: ErrUnavailable,
}

// library is a loaded NVRTC. It is written once, before load returns.
type library struct {
	version toolkit.Version
	file    string
	// size is that of the file, which distinguishes builds of one version.
	size  int64
	archs []cuda.Arch

	versionOf, errorString, create, destroy, compile, log, logSize, ptx, ptxSize, cubin, cubinSize, addName, lowered, numArchs, supported uintptr
	// These came later and may be 0.
	bundled, installBundled uintptr

	headers func() toolkit.Headers
}

// load loads each NVRTC of the machine, once. The newest is first.
var load = sync.OnceValues(func() ([]*library, error) {
	var libs []*library
	err := place.Open(func(h dynlib.Handle, file string) error {
		l := &library{file: file}
		if err := l.open(h); err != nil {
			return err
		}
		libs = append(libs, l)
		return nil
	})
	slices.SortStableFunc(libs, func(a, b *library) int { return b.version.Compare(a.version) })
	return libs, err
})

func (l *library) open(h dynlib.Handle) error {
	err := toolkit.Symbols(h, l.file, "NVRTC 11.2 or newer is needed", map[string]*uintptr{
		"nvrtcVersion": &l.versionOf, "nvrtcGetErrorString": &l.errorString, "nvrtcCreateProgram": &l.create,
		"nvrtcDestroyProgram": &l.destroy, "nvrtcCompileProgram": &l.compile, "nvrtcGetProgramLog": &l.log,
		"nvrtcGetProgramLogSize": &l.logSize, "nvrtcGetPTX": &l.ptx, "nvrtcGetPTXSize": &l.ptxSize, "nvrtcGetCUBIN": &l.cubin,
		"nvrtcGetCUBINSize": &l.cubinSize, "nvrtcAddNameExpression": &l.addName, "nvrtcGetLoweredName": &l.lowered,
		"nvrtcGetNumSupportedArchs": &l.numArchs, "nvrtcGetSupportedArchs": &l.supported,
	})
	if err != nil {
		return err
	}
	for symbol, at := range map[string]*uintptr{
		"nvrtcGetBundledHeadersInfo": &l.bundled, "nvrtcInstallBundledHeaders": &l.installBundled,
	} {
		if address, err := h.Symbol(symbol); err == nil {
			*at = address
		}
	}
	var major, minor, n int32
	if err := l.status(call(l.versionOf, uintptr(unsafe.Pointer(&major)), uintptr(unsafe.Pointer(&minor)))); err != nil {
		return fmt.Errorf("%s: %w", l.file, err)
	}
	l.version = toolkit.Version{Major: int(major), Minor: int(minor)}
	if err := l.status(call(l.numArchs, uintptr(unsafe.Pointer(&n)))); err != nil {
		return fmt.Errorf("%s: %w", l.file, err)
	}
	numbers := make([]int32, max(n, 1))
	if err := l.status(call(l.supported, uintptr(unsafe.Pointer(&numbers[0])))); err != nil {
		return fmt.Errorf("%s: %w", l.file, err)
	}
	for _, v := range numbers[:n] {
		l.archs = append(l.archs, cuda.Arch{Major: int(v) / 10, Minor: int(v) % 10})
	}
	if info, err := os.Stat(dynlib.File(l.versionOf)); err == nil {
		l.size = info.Size()
	}
	l.headers = sync.OnceValue(l.findHeaders)
	return nil
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
func (l *library) status(code int32) error {
	if code == 0 {
		return nil
	}
	text, _, _ := purego.SyscallN(l.errorString, uintptr(code))
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

// errMissing is the error of a function that an older NVRTC lacks.
var errMissing = errors.New("this NVRTC lacks the function")
