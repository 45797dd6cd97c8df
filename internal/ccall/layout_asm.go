//go:build (linux || darwin) && (amd64 || arm64) && !tvmffi_portable

//lint:file-ignore U1000 read by the assembly

package ccall

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// The assembly names every offset, index and size by go_asm.h, which the compiler
// writes from the types and constants of this package: abiAny_Bits is the offset of
// Bits in abi.Any, abiAny__size is the size of abi.Any, const_typeInt is typeInt. So
// each layout is stated once: C structs in package abi, calls in head.go, vector.go,
// within.go and stub.go, stack frames in layout_amd64.go and layout_arm64.go, and the
// rest here. TestNumbers refuses a number in a *.s file.

// The structs of C that the assembly reads or writes.
type (
	abiAny       abi.Any
	abiObject    abi.Object
	abiByteArray abi.ByteArray
	abiTypeInfo  abi.TypeInfo
)

// The type indices that the assembly compares with.
const (
	typeNone      = abi.TypeNone
	typeInt       = abi.TypeInt
	typeBool      = abi.TypeBool
	typeFloat     = abi.TypeFloat
	typeOpaquePtr = abi.TypeOpaquePtr
	typeDataType  = abi.TypeDataType
	typeDevice    = abi.TypeDevice
	typeRawStr    = abi.TypeRawStr
	typeRValueRef = abi.TypeObjectRValueRef
	typeObject    = abi.TypeObject // of ffi.Object, which is also the least of all objects
	typeStr       = abi.TypeStr
	typeArray     = abi.TypeArray
	typeBigInt    = abi.TypeBigInt
)

// Offsets in objects whose cell follows the header.
const (
	stringData = abi.ObjectSize + unsafe.Offsetof(abi.ByteArray{}.Data)
	stringSize = abi.ObjectSize + unsafe.Offsetof(abi.ByteArray{}.Size)
	arrayData  = abi.ObjectSize + unsafe.Offsetof(abi.SeqCell{}.Data)
	arraySize  = abi.ObjectSize + unsafe.Offsetof(abi.SeqCell{}.Size)
)

// typeKey is the offset of the address of the type key in abi.TypeInfo.
const typeKey = unsafe.Offsetof(abi.TypeInfo{}.Key) + unsafe.Offsetof(abi.ByteArray{}.Data)

// The flags of a deleter, and the numbers of their bits.
const (
	deleterStrong    = abi.DeleterStrong
	deleterWeak      = abi.DeleterWeak
	deleterStrongBit = 0
	deleterWeakBit   = 1
)

// The reference counts of a new object: one strong reference in the low half, and in the
// high half, which begins at bit weakShift, the weak one that all strong ones share.
const (
	oneReference = 1<<weakShift | 1
	oneWeak      = 1 << weakShift
	weakShift    = 32
)

// A word of Layout.Refs is an offset, shifted left by refShift; the bit refAny, whose
// number is refAnyBit, marks an Any.
const (
	refShift  = 1
	refAny    = 1
	refAnyBit = 0
)

// Sizes in bytes. Each shift is the binary logarithm of the size before it.
const (
	word      = unsafe.Sizeof(uintptr(0))
	wordShift = 3
	anyShift  = 4
	unit      = 16 // of the block that follows a Head
	unitShift = 4
	sizeInt8  = unsafe.Sizeof(int8(0))
	sizeInt32 = unsafe.Sizeof(int32(0))
)

// threadAttributesSize is at least the size of a pthread_attr_t.
const threadAttributesSize = 128

// failed is the return code of a C function that has raised an error.
const failed = -1

// allocatorArgs is the number of arguments of an allocator.
const allocatorArgs = 4

// The bits of an infinity without its sign: shifted to the left by one.
const (
	infinity32 = -1 << 24
	infinity64 = -1 << 53
)

// wideSize is the size of a number of 64 bits without a sign in a BigInt: its word, and one of zeros.
const wideSize = 2 * word

// castParts is the number of strings that make up the message of a failed conversion.
const castParts = 5
