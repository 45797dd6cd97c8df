package failure

import (
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"

	"github.com/ebitengine/purego"
)

// CatchesThrown says that C++ exceptions of any type are errors of the call.
const CatchesThrown = ccall.CatchesThrown

// Thrown is the error of a call that ccall.Thrown ended.
func Thrown(what string, name uintptr) error {
	return Errorf(KindRuntime, "%s threw a C++ exception of the type %s, which TVM-FFI does not pass on", what, typeName(name))
}

// typeName returns the C++ name of the type whose mangled name is at address. The address
// is 0 if the type of the exception is not known.
func typeName(address uintptr) string {
	if address == 0 {
		return "unknown"
	}
	if *capi.PointerTo[byte](address) == '*' { // such a name is compared by its address
		address++
	}
	if capi.API.Demangle != 0 {
		if name, _, _ := purego.SyscallN(capi.API.Demangle, address, 0, 0, 0); name != 0 {
			defer purego.SyscallN(capi.CFunction("free"), name)
			address = name
		}
	}
	return capi.CString(address)
}
