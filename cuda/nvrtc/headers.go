package nvrtc

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/toolkit"
	"github.com/tvmffi-go/tvmffi/internal/find"
)

// findHeaders finds the CUDA headers for the library, once. Where a part of them is not on the
// machine, a newer NVRTC can unpack a copy of its own.
func (l *library) findHeaders() toolkit.Headers {
	h := toolkit.FindHeaders(l.version, l.file)
	if h.Complete() {
		return h
	}
	if dir, err := l.unpack(); err == nil {
		h.Add(dir)
		h.Add(filepath.Join(dir, "cccl"))
	}
	return h
}

// unpack puts the headers that the library carries into the cache of the project. NVRTC locks
// the folder against other processes and does nothing if they are there.
func (l *library) unpack() (string, error) {
	if l.bundled == 0 || l.installBundled == 0 {
		return "", errMissing
	}
	info := new(struct {
		available                int32
		compressed, uncompressed uintptr
		major, minor             int32
		files                    uint32
	})
	if err := l.status(call(l.bundled, uintptr(unsafe.Pointer(info)), 0)); err != nil || info.available == 0 {
		return "", errMissing
	}
	root, err := find.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "nvrtc", fmt.Sprintf("headers-%s-%d", l.version, l.size))
	if err := find.Private(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", err
	}
	text := append([]byte(dir), 0)
	return dir, l.status(call(l.installBundled, uintptr(unsafe.Pointer(&text[0])), 0, 0))
}

// missing finds in a log the header that was not found.
var missing = regexp.MustCompile(`(?:cannot|could not) open source file "([^"\n]+)"`)

// ofCUDA are the beginnings of names of CUDA headers.
var ofCUDA = regexp.MustCompile(`^(?:cuda|cub/|thrust/|nv/|crt/|cooperative_groups|mma\.h|vector_|device_|math_constants|sm_\d|cuComplex|builtin_types|driver_types)`)

// hint says what to do about an architecture that NVRTC does not know, or a header that was not found, "" if the log is
// about something else.
func (l *library) hint(log, arch string) string {
	if strings.Contains(log, "invalid value for --gpu-architecture") {
		return fmt.Sprintf("Arch is %q, and NVRTC %s compiles for %s to %s: see Architectures", arch, l.version, l.archs[0], l.archs[len(l.archs)-1])
	}
	m := missing.FindStringSubmatch(log)
	if m == nil {
		return ""
	}
	packages := strings.Join(toolkit.HeaderPackages(l.version, m[1]), " ")
	if !ofCUDA.MatchString(m[1]) {
		return fmt.Sprintf("%q is neither in Headers nor in a folder of an option -I. NVRTC has no headers of the host: use those of CUDA in their place, such as <cuda/std/cstdint> for <stdint.h>", m[1])
	}
	where := "no folder with CUDA headers was found"
	if dirs := l.headers().Folders; len(dirs) > 0 {
		where = "it is not in " + strings.Join(dirs, ", ")
	}
	return fmt.Sprintf("%q is a header of CUDA, and %s: run pip install %s, set CUDA_HOME to the folder of a CUDA toolkit %d, or add an option -I", m[1], where, packages, l.version.Major)
}
