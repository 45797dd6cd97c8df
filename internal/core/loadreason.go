package core

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/locate"
	"github.com/tvmffi-go/tvmffi/internal/wheel/sites"
)

// The messages of the loaders of Linux and macOS for an undefined symbol and for a
// library that is missing. The loader of Windows names neither.
var (
	missingSymbol  = regexp.MustCompile(`(?:undefined symbol|[Ss]ymbol not found in flat namespace|Symbol not found): '?([^\s',]+)`)
	missingLibrary = regexp.MustCompile(`(?:^|: )([^\s:]+): cannot open shared object file: No such file|Library not loaded: (\S+)`)
	// missingLoader is the global function that reads a module of some kind inside a library, in
	// the message of libtvm_ffi.
	missingLoader  = regexp.MustCompile(`ffi\.Module\.load_from_bytes\.([\w.]*\w)`)
	missingVersion = regexp.MustCompile(`version .((?:GLIBC|GLIBCXX|CXXABI|GCC)_[\w.]+). not found`)
	// symbolOfFFI matches the C functions of libtvm_ffi and mangled C++ names in tvm::ffi.
	symbolOfFFI = regexp.MustCompile(`^_?(?:TVMFFI|_Z(?:T[ISV])?N?K?3tvm3ffi)`)
)

// remedy returns what to do after the loader refused the library at path for the given
// reason. The text follows the reason; it is empty if the reason says enough.
func remedy(path string, err error) string {
	if known := remedyForFile(path, err); known != "" {
		return "; " + known
	}
	reason := strings.TrimPrefix(err.Error(), "load "+path+": ")
	if m := missingSymbol.FindStringSubmatch(reason); m != nil {
		if !symbolOfFFI.MatchString(m[1]) {
			return "; another library defines the symbol; load that one first (--dep or deps: of tvmffi-bind, or tvmffi.LoadLibrary)"
		}
		built := fmt.Sprintf("; it was built for another version of libtvm_ffi than %s (%s)", LibraryPath(), VersionText(capi.Version()))
		if has := releaseWith(m[1]); has != "" {
			built += "; the symbol is in " + has
		}
		if beside := locate.CoreBeside(path, LibraryPath()); beside != "" {
			return built + "; use the one that is installed beside it: TVMFFI_LIBRARY=" + beside
		}
		return built + "; set TVMFFI_LIBRARY to the right one"
	}
	return ""
}

// ModuleError adds to the error of loading a module what to do if the file holds a module of
// a kind that no loaded library can read.
func ModuleError(path string, err error) error {
	m := missingLoader.FindStringSubmatch(failure.Message(err))
	if m == nil {
		return err
	}
	library := "the library that registers " + m[0]
	if strings.HasPrefix(m[1], "relax.") {
		library = "libtvm_runtime"
	}
	kind := failure.KindRuntime
	if f := failure.FailureOf(err); f != nil {
		kind = f.Kind
	}
	return failure.Errorf(kind, "%s holds a module of kind %s, which no loaded library can read: load %s first (--dep or deps: of tvmffi-bind, or tvmffi.LoadLibrary): %w",
		filepath.Base(path), m[1], library, err)
}

// remedyForFile returns the remedy for a file that is truncated, or that needs what the
// system lacks.
func remedyForFile(path string, err error) string {
	if errors.Is(err, dynlib.ErrTruncated) {
		if cache, err := sites.CacheDir(); err == nil && strings.HasPrefix(path, cache+string(filepath.Separator)+"wheels") {
			return sites.RepairCache
		}
		return "copy, install or build " + path + " again"
	}
	reason := strings.TrimPrefix(err.Error(), "load "+path+": ")
	if m := missingLibrary.FindStringSubmatch(reason); m != nil && m[1]+m[2] != path {
		needed := filepath.Base(m[1] + m[2])
		switch {
		case strings.HasPrefix(needed, "libcuda.so"):
			return needed + " comes with the driver of NVIDIA GPUs: this library works only on a machine that has it"
		case strings.HasPrefix(needed, "libstdc++.so"), strings.HasPrefix(needed, "libgcc_s.so"):
			return "it needs " + needed + " of the C++ runtime; install the packages libstdc++6 and libgcc-s1 (Debian, Ubuntu) or libstdc++ and libgcc (Fedora)"
		}
		return "it needs " + needed + "; install it where the system finds it, or load the file first (--dep or deps: of tvmffi-bind, or tvmffi.LoadLibrary)"
	}
	if m := missingVersion.FindStringSubmatch(reason); m != nil {
		what := "C++ runtime (libstdc++6, libgcc-s1)"
		if strings.HasPrefix(m[1], "GLIBC_") {
			what = "glibc"
		}
		return "it needs " + m[1] + " of a newer " + what + ": use a newer system or image, or a library that was built on an older one"
	}
	return ""
}

// changes lists the symbols that libtvm_ffi gained or lost in a release of apache-tvm-ffi.
var changes = []struct {
	symbol  *regexp.Regexp
	release string // the newest or oldest one that has the symbol
	until   bool   // later releases lack it
}{
	{regexp.MustCompile(`^_ZN3tvm3ffi4json9StringifyERKNS0_3AnyENS0_8Optional`), "0.1.12", true},
	{regexp.MustCompile(`^_ZN3tvm3ffi4json9StringifyERKNS0_3AnyERKNS0_8Optional|^_ZT[ISV]N3tvm3ffi5ErrorE|^TVMFFI[GS]etCustomAllocator`), "0.1.13", false},
	{regexp.MustCompile(`^_ZN3tvm3ffi(9ReprPrint|9Recursive|1[0-9]Recursive)`), "0.1.10", false},
	{regexp.MustCompile(`^_ZN3tvm3ffi17VisitErrorContext`), "0.1.12", false},
	{regexp.MustCompile(`^TVMFFIBigInt`), "0.1.14.post1", false},
}

// releaseWith says which releases of apache-tvm-ffi have a symbol that the loaded one
// lacks; "" if that is not known.
func releaseWith(symbol string) string {
	if strings.HasPrefix(symbol, "__Z") || strings.HasPrefix(symbol, "_TVMFFI") {
		symbol = symbol[1:] // macOS puts a line before each name
	}
	for _, c := range changes {
		switch {
		case !c.symbol.MatchString(symbol):
		case c.until:
			return fmt.Sprintf("apache-tvm-ffi %s and older: run \"go tool tvmffi-bind setup --version %[1]s\"", c.release)
		default:
			return fmt.Sprintf("apache-tvm-ffi %s and newer: run \"go tool tvmffi-bind setup --version %s\"", c.release, newHeaders.release())
		}
	}
	return ""
}
