package nvjitlink

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/toolkit"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"

	"github.com/ebitengine/purego"
)

// place says where nvJitLink is.
var place = toolkit.Library{
	Name:     "nvJitLink",
	Variable: "TVMFFI_NVJITLINK_LIBRARY",
	Windows:  []string{"nvJitLink_130_0.dll", "nvJitLink_120_0.dll"},
	Others:   []string{"libnvJitLink.so.13", "libnvJitLink.so.12"},
	Packages: []toolkit.Package{
		{Distribution: "nvidia-nvjitlink", File: "nvidia/cu13/lib/libnvJitLink.so.13", DLL: "nvidia/cu13/bin/x86_64/nvJitLink_130_0.dll"},
		{Distribution: "nvidia-nvjitlink-cu12", File: "nvidia/nvjitlink/lib/libnvJitLink.so.12", DLL: "nvidia/nvjitlink/bin/nvJitLink_120_0.dll"},
	},
	File:        "libnvJitLink.so",
	Unavailable: ErrUnavailable,
}

// library is a loaded nvJitLink. It is written once, before load returns.
type library struct {
	version toolkit.Version
	file    string

	versionOf, create, destroy, addData, complete, cubin, cubinSize, ptx, ptxSize, errorLog, errorLogSize, infoLog, infoLogSize uintptr
}

// load loads each nvJitLink of the machine, once. The newest is first.
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
	err := toolkit.Symbols(h, l.file, "nvJitLink 12.3 or newer is needed", map[string]*uintptr{
		"nvJitLinkVersion": &l.versionOf, "nvJitLinkCreate": &l.create, "nvJitLinkDestroy": &l.destroy,
		"nvJitLinkAddData": &l.addData, "nvJitLinkComplete": &l.complete,
		"nvJitLinkGetLinkedCubin": &l.cubin, "nvJitLinkGetLinkedCubinSize": &l.cubinSize,
		"nvJitLinkGetLinkedPtx": &l.ptx, "nvJitLinkGetLinkedPtxSize": &l.ptxSize,
		"nvJitLinkGetErrorLog": &l.errorLog, "nvJitLinkGetErrorLogSize": &l.errorLogSize,
		"nvJitLinkGetInfoLog": &l.infoLog, "nvJitLinkGetInfoLogSize": &l.infoLogSize,
	})
	if err != nil {
		return err
	}
	var major, minor uint32
	if rc := call(l.versionOf, uintptr(unsafe.Pointer(&major)), uintptr(unsafe.Pointer(&minor))); rc != 0 {
		return fmt.Errorf("%s: nvJitLinkVersion failed with %d", l.file, rc)
	}
	l.version = toolkit.Version{Major: int(major), Minor: int(minor)}
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

// results are the names of nvJitLinkResult.
var results = []string{"SUCCESS", "UNRECOGNIZED_OPTION", "MISSING_ARCH", "INVALID_INPUT", "PTX_COMPILE", "NVVM_COMPILE", "INTERNAL", "THREADPOOL",
	"UNRECOGNIZED_INPUT", "FINALIZE", "NULL_INPUT", "INCOMPATIBLE_OPTIONS", "INCORRECT_INPUT_TYPE", "ARCH_MISMATCH", "OUTDATED_LIBRARY", "MISSING_FATBIN",
	"UNRECOGNIZED_ARCH", "UNSUPPORTED_ARCH", "LTO_NOT_ENABLED"}

// resultName returns the name of a result. FINALIZE came with version 12.6, in front of others.
func resultName(v toolkit.Version, rc int32) string {
	const finalize = 9
	if v.Compare(toolkit.Version{Major: 12, Minor: 6}) < 0 && rc >= finalize {
		rc++
	}
	if rc <= 0 || int(rc) >= len(results) {
		return "NVJITLINK_ERROR"
	}
	return "NVJITLINK_ERROR_" + results[rc]
}

// inputTypes are the numbers of nvJitLinkInputType.
var inputTypes = map[cuda.ImageKind]uintptr{
	cuda.ImageCubin: 1, cuda.ImagePTX: 2, cuda.ImageLTOIR: 3, cuda.ImageFatbin: 4, cuda.ImageObject: 5, cuda.ImageLibrary: 6,
}

// output asks for the size of something and then for the thing. Without it the result is empty.
func (l *library) output(link, size, data uintptr) ([]byte, int32) {
	var n uintptr
	if rc := call(size, link, uintptr(unsafe.Pointer(&n))); rc != 0 || n == 0 {
		return nil, rc
	}
	b := make([]byte, n)
	rc := call(data, link, uintptr(unsafe.Pointer(&b[0])))
	return b, rc
}
