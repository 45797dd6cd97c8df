// Package core is the machine under the runtime: the C functions of libtvm_ffi,
// objects and their reference counts, the type table, call frames and callbacks.
//
// It knows nothing of the public types of package tvmffi. What it needs from
// there it asks for through Errors and Loader.
package core

import (
	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// Loader loads what a generated package needs; package tvmffi sets it.
var Loader func(l *Library, options []LoadOption) error

// The kinds of errors that this module raises itself.
const (
	KindType    = "TypeError"
	KindValue   = "ValueError"
	KindRuntime = "RuntimeError"
	KindIndex   = "IndexError"
	KindKey     = "KeyError"
	KindAttr    = "AttributeError"
	KindSchema  = "SchemaError"
	// KindSignal is the kind for which a host raises the error that it has set itself.
	KindSignal = "EnvErrorAlreadySet"
)

// kindNames names the types that are not objects, as the registry does.
var kindNames = map[abi.TypeIndex]string{
	abi.TypeNone: "None", abi.TypeInt: "int", abi.TypeBool: "bool", abi.TypeFloat: "float",
	abi.TypeOpaquePtr: "void*", abi.TypeDataType: "DataType", abi.TypeDevice: "Device",
	abi.TypeDLTensorPtr: "DLTensor*", abi.TypeRawStr: "const char*", abi.TypeByteArrayPtr: "TVMFFIByteArray*",
	abi.TypeObjectRValueRef: "ObjectRValueRef", abi.TypeSmallStr: "ffi.SmallStr", abi.TypeSmallBytes: "ffi.SmallBytes",
	abi.TypeUnchanged: "ffi.Unchanged",
}
