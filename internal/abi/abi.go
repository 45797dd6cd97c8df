// Package abi mirrors the C structs and constants of TVM-FFI that this module
// touches (tvm/ffi/c_api.h, tvm/ffi/extra/c_env_api.h and dlpack/dlpack.h).
//
// Pointers to C memory are uintptr: the Go collector must never see them. The
// probe test of this package compares every size, offset and value with the
// headers of each supported wheel.
//
// The package holds layouts, constants, and the names of data types and devices. It reads
// no C memory and calls no C function: see internal/capi and internal/ccall.
package abi

// Any is TVMFFIAny, a tagged value of 16 bytes: owned (Any in C++) or borrowed
// (AnyView), as its place demands.
type Any struct {
	TypeIndex TypeIndex
	// Small is the length of a small string or of small bytes, otherwise zero.
	Small uint32
	// Bits is the payload: an int64, the bits of a float64, a pointer, a
	// DLDataType, a DLDevice or up to seven bytes of a string.
	Bits uint64
}

// First returns the first word of v, where a C function whose result is a handle or another
// pointer wrote it.
func (v Any) First() uintptr { return uintptr(uint32(v.TypeIndex)) | uintptr(v.Small)<<32 }

// TypeIndex is the run-time index of a type (TVMFFITypeIndex).
type TypeIndex int32

// The indices that c_api.h fixes. Objects start at StaticObjectBegin.
const (
	TypeAny             TypeIndex = -1
	TypeNone            TypeIndex = 0
	TypeInt             TypeIndex = 1
	TypeBool            TypeIndex = 2
	TypeFloat           TypeIndex = 3
	TypeOpaquePtr       TypeIndex = 4
	TypeDataType        TypeIndex = 5
	TypeDevice          TypeIndex = 6
	TypeDLTensorPtr     TypeIndex = 7
	TypeRawStr          TypeIndex = 8
	TypeByteArrayPtr    TypeIndex = 9
	TypeObjectRValueRef TypeIndex = 10
	TypeSmallStr        TypeIndex = 11
	TypeSmallBytes      TypeIndex = 12
	TypeUnchanged       TypeIndex = 13

	TypeStaticObjectBegin TypeIndex = 64
	TypeObject            TypeIndex = 64
	TypeStr               TypeIndex = 65
	TypeBytes             TypeIndex = 66
	TypeError             TypeIndex = 67
	TypeFunction          TypeIndex = 68
	TypeShape             TypeIndex = 69
	TypeTensor            TypeIndex = 70
	TypeArray             TypeIndex = 71
	TypeMap               TypeIndex = 72
	TypeModule            TypeIndex = 73
	TypeOpaquePyObject    TypeIndex = 74
	TypeList              TypeIndex = 75
	TypeDict              TypeIndex = 76
	TypeVisitInterrupt    TypeIndex = 77
	TypeBigInt            TypeIndex = 78
	TypeDynObjectBegin    TypeIndex = 128
)

// IsObject reports whether values of the index are reference-counted objects.
func (t TypeIndex) IsObject() bool { return t >= TypeStaticObjectBegin }

// MaxSmall is the length in bytes of the longest string that a value holds without an object.
const MaxSmall = 7

// Object is TVMFFIObject, the header of every object.
type Object struct {
	// RefCounts holds the strong count in the low and the weak count in the high
	// 32 bits.
	RefCounts uint64
	TypeIndex TypeIndex
	_         uint32
	// Deleter is void (*)(void* self, int flags).
	Deleter uintptr
}

// ObjectSize is the size of the object header; the cell of each object type
// follows it.
const ObjectSize = 24

// The bits of the flags argument of an object's deleter.
const (
	DeleterStrong = 1 << 0
	DeleterWeak   = 1 << 1
)

// ByteArray is TVMFFIByteArray. It is also the cell of String and Bytes objects.
type ByteArray struct {
	Data uintptr
	Size uintptr
}

// ShapeCell is TVMFFIShapeCell: Size int64 values at Data.
type ShapeCell struct {
	Data uintptr
	Size uintptr
}

// SeqCell is TVMFFISeqCell, the cell of Array and List: Size values of type Any
// at Data.
type SeqCell struct {
	Data     uintptr
	Size     int64
	Capacity int64
	// DataDeleter is void (*)(void*), or 0 when Data lies inside the object.
	DataDeleter uintptr
}

// ErrorCell is TVMFFIErrorCell.
type ErrorCell struct {
	Kind      ByteArray
	Message   ByteArray
	Backtrace ByteArray
	// UpdateBacktrace is void (*)(handle, const TVMFFIByteArray*, int32_t mode).
	UpdateBacktrace uintptr
	CauseChain      uintptr
	ExtraContext    uintptr
}

// The modes of ErrorCell.UpdateBacktrace.
const (
	BacktraceReplace = 0
	BacktraceAppend  = 1
)

// FunctionCell is TVMFFIFunctionCell.
type FunctionCell struct {
	// SafeCall is int (*)(void* handle, const Any* args, int32_t n, Any* result).
	SafeCall uintptr
	CppCall  uintptr
}

// FieldInfo is TVMFFIFieldInfo.
type FieldInfo struct {
	Name      ByteArray
	Doc       ByteArray
	Metadata  ByteArray
	Flags     int64
	Size      int64
	Alignment int64
	Offset    int64
	// Getter is int (*)(void* field, Any* result).
	Getter uintptr
	// Setter is int (*)(void* field, const Any* value), or a Function object when
	// the flag FieldSetterIsFunction is set.
	Setter          uintptr
	Default         Any
	StaticTypeIndex TypeIndex
	_               int32
}

// The bits of FieldInfo.Flags and MethodInfo.Flags that this module reads
// (TVMFFIFieldFlagBitMask).
const (
	FieldWritable           = 1 << 0
	FieldHasDefault         = 1 << 1
	FieldIsStaticMethod     = 1 << 2
	FieldSEqHashIgnore      = 1 << 3
	FieldDefaultFromFactory = 1 << 5
	FieldInitOff            = 1 << 9
	FieldKwOnly             = 1 << 10
	FieldSetterIsFunction   = 1 << 11
)

// MethodInfo is TVMFFIMethodInfo.
type MethodInfo struct {
	Name     ByteArray
	Doc      ByteArray
	Metadata ByteArray
	Flags    int64
	Method   Any
}

// TypeMetadata is TVMFFITypeMetadata.
type TypeMetadata struct {
	Doc                  ByteArray
	Creator              uintptr
	TotalSize            int32
	StructuralEqHashKind int32
}

// TypeAttrColumn is TVMFFITypeAttrColumn.
type TypeAttrColumn struct {
	Data       uintptr
	Size       int32
	BeginIndex int32
}

// TypeInfo is TVMFFITypeInfo.
type TypeInfo struct {
	TypeIndex TypeIndex
	Depth     int32
	Key       ByteArray
	// Ancestors points to Depth pointers to TypeInfo, root first.
	Ancestors  uintptr
	KeyHash    uint64
	NumFields  int32
	NumMethods int32
	Fields     uintptr
	Methods    uintptr
	Metadata   uintptr
}

// Version is TVMFFIVersion.
type Version struct {
	Major uint32
	Minor uint32
	Patch uint32
}
