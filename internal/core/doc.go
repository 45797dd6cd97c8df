// Package core is the machine under the runtime: the C functions of libtvm_ffi,
// objects and their reference counts, the type table, call frames and callbacks.
//
// It knows nothing of the public types of package tvmffi. What it needs from
// there, such as making an *Error, it asks for through Hooks.
package core

import (
	"reflect"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// Hooks are the functions that package tvmffi provides. They are set once, by
// its initialisation, before anything can be loaded.
var Hooks struct {
	// ErrorOf makes a Go error of an Error object and takes its reference; 0
	// stands for an error that the callee did not describe.
	ErrorOf func(handle uintptr) error
	// Errorf makes an error of a kind such as TypeError.
	Errorf func(kind, format string, args ...any) error
	// Raise puts err into the error slot of this thread and returns the code that
	// a callback returns for it.
	Raise func(err error) int64
	// Passed adds the Go frames of a callback that returned err, whose code is at
	// origin, to the backtrace of err.
	Passed func(err error, origin uintptr) error
	// Origin names the Go func whose code is at origin and says where it begins; name
	// is empty for a func of this module.
	Origin func(origin uintptr) (name, file string, line int)
	// At adds the place to an error, whose kind stays; other errors are a TypeError.
	At func(place string, err error) error
	// Recovered makes an error of a recovered panic, with the stack of the panic.
	Recovered func(p any) error
	// Encode packs the value of type t at p.
	Encode func(t reflect.Type, p unsafe.Pointer) (Temp, error)
	// Decode reads v, which it does not take over, into the value of type t at p.
	// If from is not nil, it lends the objects.
	Decode func(v abi.Any, from Lender, t reflect.Type, p unsafe.Pointer) error
	// Return returns a packed value from a callback.
	Return func(a *Args, t Temp, err error) error
	// StateOf returns the state behind an ObjectRef, nil for None.
	StateOf func(ref any) *Object
	// Load loads what a generated package needs.
	Load func(l *Library, options []LoadOption) error
	// Signature makes the canonical text of the type schema in metadata.
	Signature func(metadata string) (string, error)
}

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
