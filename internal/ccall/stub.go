package ccall

// The C functions of object types made in Go: getters, setters, creators, the
// deleter. Where they are assembly they never enter Go; they may run on any thread
// and during any call. The descriptions of types that they read lie in C memory and
// stay until the process ends.

// FieldKind is the encoding of a field in memory.
type FieldKind uint32

// The encodings of fields. They are the indices of the table of getters.
const (
	Int64 FieldKind = iota
	Int32
	Int16
	Int8
	Uint64
	Uint32
	Uint16
	Uint8
	Float64
	Float32
	Bool
	AnyValue
	ObjectPointer
	DataType
	Device
	OpaquePointer
	// FieldKinds is the number of encodings.
	FieldKinds
)

// Setter describes what a setter takes.
type Setter struct {
	// code is the assembly behind the entry of the setter.
	code uintptr
	// Kinds has a bit for each type index below 64 that is stored as it is.
	Kinds uint64
	// Min and Max bound integers.
	Min, Max int64
	// Info is the type table entry of the type that objects must have or derive from;
	// Index and Depth repeat its fields. The Index of ffi.Object stands for all objects,
	// 0 for none.
	Info  uintptr
	Index int32
	Depth int32
	// Expected is the name of the type, and Range the message for a number out of
	// bounds; both are C strings.
	Expected uintptr
	Range    uintptr
	// Size is the size of the field.
	Size uint32
	Kind FieldKind
}

// Layout describes the objects of a type.
type Layout struct {
	// Size is the size of an object with its header.
	Size  uintptr
	Index int32
	// State is the offset of a reference to an object of Go, which copies do not
	// receive; 0 if there is none. It is also in Refs.
	State uint32
	// N words follow the Layout, at Refs: the offset of a field, shifted left, and one
	// if it is an Any.
	N    uintptr
	Refs uintptr
}

// StubFunctions are the addresses of the C functions that the stubs call. Malloc
// and Free belong to libc, the others to libtvm_ffi.
type StubFunctions struct {
	Malloc, Free       uintptr
	ToOwned            uintptr // TVMFFIAnyViewToOwnedAny
	TypeInfo           uintptr // TVMFFIGetTypeInfo
	SetParts           uintptr // TVMFFIErrorSetRaisedFromCStrParts
	BigInt             uintptr // TVMFFIBigIntFromByteArray, 0 where it is missing, as the next one
	BigIntContent      uintptr // TVMFFIBigIntGetContentByteArray
	Layouts            uintptr // address of a Layout for each type index, or 0
	From, To, End      uintptr // C strings of the message of a failed conversion
	TypeError          uintptr
	MemoryError, NoMem uintptr
}

// MaxSetters and MaxCreators are the numbers of entries.
const (
	MaxSetters  = 1024
	MaxCreators = 512
)
