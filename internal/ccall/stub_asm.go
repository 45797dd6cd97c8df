//go:build (linux || darwin) && (amd64 || arm64) && !tvmffi_portable

package ccall

import "unsafe"

// Indices in stubCodes behind the getters.
const (
	codeSetInt64 = int(FieldKinds) + iota
	codeSetFloat64
	codeSetFloat32
	codeSetBool
	codeSetNarrow
	codeSetUint64
	codeSetAny
	codeSetObject
	codeSetWord
	codeNew
	codeCopy
	codeDelete
	codes
)

// stubCodes holds the addresses of the getters and of the other functions.
//
//go:linkname stubCodes tvmffi_stubCodes
var stubCodes [codes]uintptr

//go:linkname _setterEntries tvmffi_setterEntries
var _setterEntries byte

//go:linkname _creatorEntries tvmffi_creatorEntries
var _creatorEntries byte

var (
	//lint:ignore U1000 read by the assembly
	stubs StubFunctions
	// setterTable and creatorTable are the addresses of tables in C memory: what each
	// entry stands for.
	setterTable, creatorTable uintptr
	setters, creators         uintptr
)

// InitStubs sets the functions that the stubs call, and the memory of their
// tables: MaxSetters and MaxCreators words of zeroed C memory.
func InitStubs(f StubFunctions, setterWords, creatorWords uintptr) {
	stubs, setterTable, creatorTable = f, setterWords, creatorWords
}

// Getter is the address of int getter(void* field, Any* result).
func Getter(kind FieldKind) uintptr { return stubCodes[kind] }

// SetterOf returns the address of int setter(void* field, const Any* value) for
// what s, in C memory, describes; 0 if all entries are taken. It must not run at
// the same time as itself.
func SetterOf(s uintptr) uintptr {
	d := (*Setter)(pointer(s))
	switch d.Kind {
	case Int64:
		return stubCodes[codeSetInt64]
	case Float64:
		return stubCodes[codeSetFloat64]
	case Bool:
		return stubCodes[codeSetBool]
	case AnyValue:
		d.code = stubCodes[codeSetAny]
	case ObjectPointer:
		d.code = stubCodes[codeSetObject]
	case DataType, Device, OpaquePointer:
		d.code = stubCodes[codeSetWord]
	case Float32:
		d.code = stubCodes[codeSetFloat32]
	case Uint64:
		d.code = stubCodes[codeSetUint64]
	default:
		d.code = stubCodes[codeSetNarrow]
	}
	return entry(uintptr(unsafe.Pointer(&_setterEntries)), setterTable, s, &setters, MaxSetters)
}

// CreatorOf returns the address of int creator(void** result) for a Layout in C
// memory; 0 if all entries are taken. It must not run at the same time as itself.
func CreatorOf(layout uintptr) uintptr {
	return entry(uintptr(unsafe.Pointer(&_creatorEntries)), creatorTable, layout, &creators, MaxCreators)
}

// Free is how many entries are left for setters and for creators.
func Free() (forSetters, forCreators int) {
	return int(MaxSetters - setters), int(MaxCreators - creators)
}

func entry(code, table, word uintptr, used *uintptr, most uintptr) uintptr {
	if *used == most {
		return 0
	}
	i := *used
	*used++
	*(*uintptr)(pointer(table + i*unsafe.Sizeof(word))) = word
	return code + i*entrySize
}

// NewObject is the address of a safe call without arguments that makes an object;
// its handle is a Layout.
func NewObject() uintptr { return stubCodes[codeNew] }

// CopyObject is the address of a safe call that copies its argument; its handle is
// a Layout.
func CopyObject() uintptr { return stubCodes[codeCopy] }

// DeleteObject is the address of the deleter of the objects.
func DeleteObject() uintptr { return stubCodes[codeDelete] }
