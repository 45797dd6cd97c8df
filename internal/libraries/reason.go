package libraries

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/find"
)

// OtherVersion is in the error for a library that lacks a symbol of libtvm_ffi.
const OtherVersion = "it was built for another version of libtvm_ffi"

// remedy returns what to do after the loader refused the library at path for the given
// reason. The text follows the reason; it is empty if the reason says enough.
func remedy(path string, err error) string {
	if known := remedyForFile(path, err); known != "" {
		return "; " + known
	}
	reason := strings.TrimPrefix(err.Error(), "load "+path+": ")
	if symbol := missingSymbol(reason); symbol != "" {
		if !symbolOfFFI(symbol) {
			return "; no loaded library defines the symbol: link this one with what defines it, or load that library first (--dep or deps: of tvmffi-bind, or tvmffi.LoadLibrary)"
		}
		built := fmt.Sprintf("; %s than %s (%s)", OtherVersion, CorePath(), VersionText(capi.Version()))
		if has := releaseWith(symbol); has != "" {
			built += "; the symbol is in " + has
		}
		if beside := find.CoreBeside(path, CorePath()); beside != "" {
			return built + "; use the one that is installed beside it: TVMFFI_LIBRARY=" + beside
		}
		return built + "; set TVMFFI_LIBRARY to the right one"
	}
	return ""
}

// ModuleError adds to the error of loading a module what to do if the file holds a module of
// a kind that no loaded library can read.
func ModuleError(path string, err error) error {
	kindOfModule := missingLoader(failure.Message(err))
	if kindOfModule == "" {
		return err
	}
	library := "the library that registers " + moduleLoader + kindOfModule
	if strings.HasPrefix(kindOfModule, "relax.") {
		library = "libtvm_runtime"
	}
	kind := failure.KindRuntime
	if f := failure.FailureOf(err); f != nil {
		kind = f.Kind
	}
	return failure.Errorf(kind, "%s holds a module of kind %s, which no loaded library can read: load %s first (--dep or deps: of tvmffi-bind, or tvmffi.LoadLibrary): %w",
		filepath.Base(path), kindOfModule, library, err)
}

// remedyForFile returns the remedy for a file that is truncated, or that needs what the
// system lacks.
func remedyForFile(path string, err error) string {
	if errors.Is(err, dynlib.ErrTruncated) {
		if find.CachedTree(path) != "" {
			return find.RepairCache
		}
		return "copy, install or build " + path + " again"
	}
	reason := strings.TrimPrefix(err.Error(), "load "+path+": ")
	if needed := missingLibrary(reason); needed != "" && needed != path {
		needed = filepath.Base(needed)
		switch {
		case strings.HasPrefix(needed, "libcuda.so"):
			return needed + " comes with the driver of NVIDIA GPUs: this library works only on a machine that has it"
		case strings.HasPrefix(needed, "libstdc++.so"), strings.HasPrefix(needed, "libgcc_s.so"):
			return "it needs " + needed + " of the C++ runtime; install the packages libstdc++6 and libgcc-s1 (Debian, Ubuntu) or libstdc++ and libgcc (Fedora)"
		}
		return "it needs " + needed + "; install it where the system finds it, or load the file first (--dep or deps: of tvmffi-bind, or tvmffi.LoadLibrary)"
	}
	if version := missingVersion(reason); version != "" {
		what := "C++ runtime (libstdc++6, libgcc-s1)"
		if strings.HasPrefix(version, "GLIBC_") {
			what = "glibc"
		}
		return "it needs " + version + " of a newer " + what + ": use a newer system or image, or a library that was built on an older one"
	}
	return ""
}

// changes lists the symbols that libtvm_ffi gained or lost in a release of apache-tvm-ffi.
var changes = []struct {
	symbols []string // how they begin, by beginsLike
	release string   // the newest or oldest one that has the symbols
	until   bool     // later releases lack them
}{
	{[]string{"_ZN3tvm3ffi4json9StringifyERKNS0_3AnyENS0_8Optional"}, "0.1.12", true},
	{[]string{"_ZN3tvm3ffi4json9StringifyERKNS0_3AnyERKNS0_8Optional", "_ZT?N3tvm3ffi5ErrorE", "TVMFFI?etCustomAllocator"}, "0.1.13", false},
	{[]string{"_ZN3tvm3ffi9ReprPrint", "_ZN3tvm3ffi9Recursive", "_ZN3tvm3ffi1?Recursive"}, "0.1.10", false},
	{[]string{"_ZN3tvm3ffi17VisitErrorContext"}, "0.1.12", false},
	{[]string{"TVMFFIBigInt"}, "0.1.14.post1", false},
}

// releaseWith says which releases of apache-tvm-ffi have a symbol that the loaded one
// lacks; "" if that is not known.
func releaseWith(symbol string) string {
	if strings.HasPrefix(symbol, "__Z") || strings.HasPrefix(symbol, "_TVMFFI") {
		symbol = symbol[1:] // macOS puts a line before each name
	}
	for _, c := range changes {
		switch {
		case !slices.ContainsFunc(c.symbols, func(text string) bool { return beginsLike(symbol, text) }):
		case c.until:
			return fmt.Sprintf("apache-tvm-ffi %s and older: run \"go tool tvmffi-bind setup --version %[1]s\"", c.release)
		default:
			return fmt.Sprintf("apache-tvm-ffi %s and newer: run \"go tool tvmffi-bind setup --version %s\"", c.release, newHeaders.release())
		}
	}
	return ""
}
