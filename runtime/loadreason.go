package tvmffi

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/wheel/sites"
)

// What the loaders of Linux and macOS say about a symbol that nobody defines, and about
// a library that is needed and not there. Windows names neither.
var (
	missingSymbol  = regexp.MustCompile(`(?:undefined symbol|[Ss]ymbol not found in flat namespace|Symbol not found): '?([^\s',]+)`)
	missingLibrary = regexp.MustCompile(`(?:^|: )([^\s:]+): cannot open shared object file: No such file|Library not loaded: (\S+)`)
	// symbolOfFFI are the C functions of libtvm_ffi and mangled C++ names in tvm::ffi.
	symbolOfFFI = regexp.MustCompile(`^_?(?:TVMFFI|_Z(?:T[ISV])?N?K?3tvm3ffi)`)
)

// loadRemedy says what to do when the loader refuses the library at path for that
// reason, in a form that follows the reason; it is empty if the reason says enough.
func loadRemedy(path, reason string) string {
	if m := missingSymbol.FindStringSubmatch(reason); m != nil {
		if !symbolOfFFI.MatchString(m[1]) {
			return "; another library has that symbol: load it first, by --dep or deps of tvmffi-bind, or by tvmffi.LoadLibrary"
		}
		built := fmt.Sprintf("; it was built for another version of libtvm_ffi than %s (%s)", LibraryPath(), versionText(capi.Version()))
		if beside := coreBeside(path); beside != "" {
			return built + ": name the one that is installed beside it, TVMFFI_LIBRARY=" + beside
		}
		return built + ": name the right one by TVMFFI_LIBRARY"
	}
	if m := missingLibrary.FindStringSubmatch(reason); m != nil && m[1]+m[2] != path {
		needed := filepath.Base(m[1] + m[2])
		if strings.HasPrefix(needed, "libcuda.so") {
			return "; " + needed + " comes with the driver of NVIDIA GPUs: this library works only on a machine that has it"
		}
		return "; it needs " + needed + ": install that where the system finds it, or load the file first, by --dep or deps of tvmffi-bind, or by tvmffi.LoadLibrary"
	}
	return ""
}

// coreBeside is the libtvm_ffi of the folder of Python packages that holds the library at
// path, "" if that is the loaded one or there is none.
func coreBeside(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		file := filepath.Join(dir, filepath.FromSlash(sites.Library(runtime.GOOS)))
		if info, err := os.Stat(file); err == nil {
			if loaded, err := os.Stat(LibraryPath()); err == nil && os.SameFile(info, loaded) {
				return ""
			}
			return file
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}
