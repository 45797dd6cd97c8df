package capi

import (
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"

	"github.com/ebitengine/purego"
)

// API holds the addresses of the C functions of libtvm_ffi. The tag names the symbol. A
// field tagged optional is 0 if the loaded library is too old to have the symbol.
var API struct {
	GetVersion          uintptr `symbol:"TVMFFIGetVersion"`
	ObjectIncRef        uintptr `symbol:"TVMFFIObjectIncRef"`
	ObjectDecRef        uintptr `symbol:"TVMFFIObjectDecRef"`
	TypeKeyToIndex      uintptr `symbol:"TVMFFITypeKeyToIndex"`
	TypeGetOrAllocIndex uintptr `symbol:"TVMFFITypeGetOrAllocIndex"`
	GetTypeInfo         uintptr `symbol:"TVMFFIGetTypeInfo"`
	GetTypeAttrColumn   uintptr `symbol:"TVMFFIGetTypeAttrColumn"`
	TypeRegisterField   uintptr `symbol:"TVMFFITypeRegisterField"`
	TypeRegisterMethod  uintptr `symbol:"TVMFFITypeRegisterMethod"`
	TypeRegisterAttr    uintptr `symbol:"TVMFFITypeRegisterAttr"`
	FunctionCreate      uintptr `symbol:"TVMFFIFunctionCreate"`
	FunctionGetGlobal   uintptr `symbol:"TVMFFIFunctionGetGlobal"`
	FunctionCall        uintptr `symbol:"TVMFFIFunctionCall"`
	AnyViewToOwnedAny   uintptr `symbol:"TVMFFIAnyViewToOwnedAny"`
	ErrorMoveFromRaised uintptr `symbol:"TVMFFIErrorMoveFromRaised"`
	ErrorSetRaised      uintptr `symbol:"TVMFFIErrorSetRaised"`
	ErrorCreate         uintptr `symbol:"TVMFFIErrorCreateWithCauseAndExtraContext"`
	StringFromByteArray uintptr `symbol:"TVMFFIStringFromByteArray"`
	BytesFromByteArray  uintptr `symbol:"TVMFFIBytesFromByteArray"`
	DataTypeFromString  uintptr `symbol:"TVMFFIDataTypeFromString"`
	DataTypeToString    uintptr `symbol:"TVMFFIDataTypeToString"`
	TensorFromDLPack    uintptr `symbol:"TVMFFITensorFromDLPackVersioned"`
	TensorToDLPack      uintptr `symbol:"TVMFFITensorToDLPackVersioned"`
	EnvTensorAlloc      uintptr `symbol:"TVMFFIEnvTensorAlloc"`
	EnvSetAllocator     uintptr `symbol:"TVMFFIEnvSetDLPackManagedTensorAllocator"`
	EnvGetAllocator     uintptr `symbol:"TVMFFIEnvGetDLPackManagedTensorAllocator"`
	EnvSetStream        uintptr `symbol:"TVMFFIEnvSetStream"`
	EnvGetStream        uintptr `symbol:"TVMFFIEnvGetStream"`
	EnvCheckSignals     uintptr `symbol:"TVMFFIEnvCheckSignals,optional"`

	TensorFromDLPackUnversioned uintptr `symbol:"TVMFFITensorFromDLPack"`
	TensorToDLPackUnversioned   uintptr `symbol:"TVMFFITensorToDLPack"`
	TensorCreateUnsafeView      uintptr `symbol:"TVMFFITensorCreateUnsafeView"`

	TypeRegisterMetadata            uintptr `symbol:"TVMFFITypeRegisterMetadata"`
	FunctionSetGlobal               uintptr `symbol:"TVMFFIFunctionSetGlobal"`
	FunctionSetGlobalFromMethodInfo uintptr `symbol:"TVMFFIFunctionSetGlobalFromMethodInfo"`
	ErrorSetRaisedFromCStrParts     uintptr `symbol:"TVMFFIErrorSetRaisedFromCStrParts"`

	BigIntFromByteArray uintptr `symbol:"TVMFFIBigIntFromByteArray,optional"`
	BigIntContent       uintptr `symbol:"TVMFFIBigIntGetContentByteArray,optional"`

	Demangle uintptr `symbol:"__cxa_demangle,optional"`
}

// Attach reads the addresses of the C functions from h, and calls ready before
// Attached says so. It returns the names that h lacks.
func Attach(h dynlib.Handle, ready func()) (missing []string) {
	attachOnce.Lock()
	defer attachOnce.Unlock()
	if attached.Load() {
		return nil
	}
	v := reflect.ValueOf(&API).Elem()
	for i := range v.NumField() {
		name, option, _ := strings.Cut(v.Type().Field(i).Tag.Get("symbol"), ",")
		address, err := h.Symbol(name)
		if err != nil && option == "" {
			missing = append(missing, name)
			continue
		}
		v.Field(i).SetUint(uint64(address))
	}
	if missing != nil {
		return missing
	}
	Malloc, calloc = CFunction("malloc"), CFunction("calloc")
	ccall.SetAllocator(Malloc, CFunction("free"))
	ccall.Init(API.ErrorMoveFromRaised, API.ObjectDecRef)
	ccall.CatchThrown(h.Symbol)
	ccall.ReportFaults()
	ready()
	attached.Store(true)
	return nil
}

// Version asks the attached library for its version.
func Version() abi.Version {
	v := new(abi.Version)
	purego.SyscallN(API.GetVersion, Address(v))
	return *v
}

var attachOnce sync.Mutex

var attached atomic.Bool

var Malloc uintptr

var calloc uintptr

// Attached reports whether the C functions have been found.
func Attached() bool { return attached.Load() }
