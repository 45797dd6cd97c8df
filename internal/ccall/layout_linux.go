//go:build (amd64 || arm64) && !tvmffi_portable

//lint:file-ignore U1000 read by the assembly

package ccall

// stackBounds is what the Go runtime gives to the function of _cgo_getstackbound.
type stackBounds struct{ low, high uintptr }

// gnuClass is the class of the exceptions of C++, "GNUCC++" and a byte, without that
// byte, which is classShift bits wide.
const (
	gnuClass   = 0x474e5543432b2b
	classShift = 8
)

// A personality receives an _Unwind_Action and the numbers of its bits, and returns an
// _Unwind_Reason_Code.
const (
	searchPhase    = 1 << searchPhaseBit // _UA_SEARCH_PHASE
	searchPhaseBit = 0
	forceUnwind    = 1 << forceUnwindBit // _UA_FORCE_UNWIND
	forceUnwindBit = 3

	handlerFound   = 6 // _URC_HANDLER_FOUND
	installContext = 7 // _URC_INSTALL_CONTEXT
	continueUnwind = 8 // _URC_CONTINUE_UNWIND
)

// typeInfo is the beginning of std::type_info.
type typeInfo struct{ table, name uintptr }
