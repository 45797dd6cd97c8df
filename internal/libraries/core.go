package libraries

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/find"

	"github.com/ebitengine/purego"
)

// OpenCore loads libtvm_ffi, once. Once it is loaded, a call that names another file fails.
func OpenCore(o *find.Options) error {
	if err := openCore(o); err != nil {
		return err
	}
	if o.LightCalls {
		ccall.StartLight()
	}
	return nil
}

func openCore(o *find.Options) error {
	attached.Lock()
	defer attached.Unlock()
	if capi.Attached() {
		return sameCore(o.Core)
	}
	if err := EnvironmentLimit(); err != nil {
		return err
	}
	name := find.CoreName()
	if h, err := dynlib.Loaded(name); err == nil {
		if err := attach(h, name); err != nil {
			return err
		}
		return sameCore(find.ExplicitCore(o))
	}
	s := find.Search{File: find.Core(), Options: o}
	for c, err := range find.Candidates(s.File, o) {
		var h dynlib.Handle
		if err == nil {
			if h, err = openRegular(c.Path); err == nil {
				return attach(h, c.Path)
			}
			s.Remedy = cmp.Or(s.Remedy, remedyForFile(c.Path, err))
		}
		if s.Miss(c, err, failure.Message(err)) {
			break
		}
	}
	return failure.NewFailure(failure.Failure{Kind: failure.KindLibrary, Message: s.Message()})
}

// openRegular opens the library at path if that is a file.
func openRegular(path string) (dynlib.Handle, error) {
	if err := loadable(path); err != nil {
		return 0, err
	}
	return dynlib.Open(path)
}

// sameCore refuses a second libtvm_ffi.
func sameCore(want string) error {
	if want == "" {
		return nil
	}
	if full, err := filepath.Abs(want); err == nil && full == filepath.Clean(attached.path) {
		return nil // the file may have been removed since
	}
	if _, err := os.Stat(want); err != nil {
		return failure.Errorf(failure.KindLibrary, "libtvm_ffi %s: %w", want, err)
	}
	if _, err := os.Stat(attached.path); err != nil {
		return failure.Errorf(failure.KindRuntime, "the process has already loaded libtvm_ffi from %s, which cannot be compared with %s now (%w): name the first one everywhere", attached.path, want, err)
	}
	if !sameContent(want, attached.path) {
		return failure.Errorf(failure.KindRuntime, "the process has already loaded libtvm_ffi from %s and cannot load another one from %s: name one of them everywhere", attached.path, want)
	}
	return nil
}

// oldestPatch is the oldest 0.1.x whose C functions this package knows to work.
const oldestPatch = 9

// setup is the remedy in the errors about libtvm_ffi.
const setup = "; run \"go tool tvmffi-bind setup\""

// WithoutSetup returns the text of an error of Load without the remedy, which only the
// author of a Go program can follow.
func WithoutSetup(err error) string { return strings.TrimSuffix(failure.Message(err), setup) }

// attach makes the library at path the libtvm_ffi of the process.
func attach(h dynlib.Handle, path string) error {
	getVersion, err := h.Symbol("TVMFFIGetVersion")
	if err != nil {
		return failure.Errorf(failure.KindRuntime, "%s is not libtvm_ffi: symbol TVMFFIGetVersion not found; set TVMFFI_LIBRARY to the file, or run \"go tool tvmffi-bind setup\"", path)
	}
	path = dynlib.File(getVersion)
	v := new(abi.Version)
	purego.SyscallN(getVersion, uintptr(unsafe.Pointer(v)))
	if v.Major != 0 || v.Minor != 1 || v.Patch < oldestPatch {
		return failure.Errorf(failure.KindRuntime, "libtvm_ffi %s has version %s: this package works with 0.1.%d to 0.1.x%s", path, VersionText(*v), oldestPatch, setup)
	}
	if missing := capi.Attach(h, callbacks.Install); missing != nil {
		return failure.Errorf(failure.KindRuntime, "libtvm_ffi %s (version %s) lacks %s%s", path, VersionText(*v), strings.Join(missing, ", "), setup)
	}
	attached.path = path
	loads.Add(1)
	return nil
}

// loads counts the libraries that this package has loaded.
var loads atomic.Int64

// loadable returns an error if path exists and is not a file. To load a folder fails with a
// text that says little, and to load a named pipe waits for somebody who writes to it.
func loadable(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.Mode().IsRegular() {
		return nil
	}
	if device := find.Device(path); device != nil {
		return failure.Errorf(failure.KindLibrary, "%w", device)
	}
	if err != nil {
		return nil
	}
	what := "is not a regular file"
	switch mode := info.Mode(); {
	case mode.IsDir():
		what = "is a folder: name the file in it"
	case mode&os.ModeNamedPipe != 0:
		what = "is a named pipe: name the file of the library"
	}
	return failure.Errorf(failure.KindLibrary, "%s %s", path, what)
}
