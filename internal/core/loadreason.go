package core

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/locate"
)

// The messages of the loaders of Linux and macOS for an undefined symbol and for a
// library that is missing. The loader of Windows names neither.
var (
	missingSymbol  = regexp.MustCompile(`(?:undefined symbol|[Ss]ymbol not found in flat namespace|Symbol not found): '?([^\s',]+)`)
	missingLibrary = regexp.MustCompile(`(?:^|: )([^\s:]+): cannot open shared object file: No such file|Library not loaded: (\S+)`)
	// symbolOfFFI matches the C functions of libtvm_ffi and mangled C++ names in tvm::ffi.
	symbolOfFFI = regexp.MustCompile(`^_?(?:TVMFFI|_Z(?:T[ISV])?N?K?3tvm3ffi)`)
)

// remedy returns what to do after the loader refused the library at path for the given
// reason. The text follows the reason; it is empty if the reason says enough.
func remedy(path, reason string) string {
	if m := missingSymbol.FindStringSubmatch(reason); m != nil {
		if !symbolOfFFI.MatchString(m[1]) {
			return "; another library defines the symbol; load that one first (--dep or deps: of tvmffi-bind, or tvmffi.LoadLibrary)"
		}
		built := fmt.Sprintf("; it was built for another version of libtvm_ffi than %s (%s)", LibraryPath(), VersionText(capi.Version()))
		if beside := locate.CoreBeside(path, LibraryPath()); beside != "" {
			return built + "; use the one that is installed beside it: TVMFFI_LIBRARY=" + beside
		}
		return built + "; set TVMFFI_LIBRARY to the right one"
	}
	if m := missingLibrary.FindStringSubmatch(reason); m != nil && m[1]+m[2] != path {
		needed := filepath.Base(m[1] + m[2])
		if strings.HasPrefix(needed, "libcuda.so") {
			return "; " + needed + " comes with the driver of NVIDIA GPUs: this library works only on a machine that has it"
		}
		return "; it needs " + needed + "; install it where the system finds it, or load the file first (--dep or deps: of tvmffi-bind, or tvmffi.LoadLibrary)"
	}
	return ""
}
