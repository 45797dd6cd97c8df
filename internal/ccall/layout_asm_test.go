//go:build (linux || darwin) && (amd64 || arm64) && !tvmffi_portable

package ccall

import (
	"math"
	"runtime"
	"testing"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// The assembly takes these facts about its names for granted.
func TestLayout(t *testing.T) {
	for _, c := range []struct {
		what      string
		got, want uintptr
	}{
		{"the shift of a word", 1 << wordShift, word},
		{"the shift of an Any", 1 << anyShift, unsafe.Sizeof(abi.Any{})},
		{"the shift of a unit", 1 << unitShift, unit},
		{"the payload of an Any, a word behind its type index", unsafe.Offsetof(abi.Any{}.Bits) - unsafe.Offsetof(abi.Any{}.TypeIndex), word},
		{"the counts of an object, which LDXR finds at its address", unsafe.Offsetof(abi.Object{}.RefCounts), 0},
		{"the deleter of an object, a word behind its type index", unsafe.Offsetof(abi.Object{}.Deleter) - unsafe.Offsetof(abi.Object{}.TypeIndex), word},
		{"the header of an object", abi.ObjectSize, unsafe.Sizeof(abi.Object{})},
		{"the data of a String", stringData, abi.ObjectSize + unsafe.Offsetof(abi.ByteArray{}.Data)},
		{"the size of a String", stringSize, abi.ObjectSize + unsafe.Offsetof(abi.ByteArray{}.Size)},
		{"the data of an Array", arrayData, abi.ObjectSize + unsafe.Offsetof(abi.SeqCell{}.Data)},
		{"the size of an Array", arraySize, abi.ObjectSize + unsafe.Offsetof(abi.SeqCell{}.Size)},
		{"the key of a type", typeKey, unsafe.Offsetof(abi.TypeInfo{}.Key)},
		{"the indices of int and bool, the first after None", uintptr(typeNone<<8 | typeInt<<4 | typeBool), 0x012},
		{"the indices from raw strings to rvalues, which ToOwned takes", uintptr(typeRawStr<<8 | abi.TypeByteArrayPtr<<4 | typeRValueRef), 0x89a},
		{"the first index of objects", uintptr(typeObject), uintptr(abi.TypeStaticObjectBegin)},
		{"the first index of objects, a power of two", uintptr(typeObject & (typeObject - 1)), 0},
		{"the bits of Kinds", 8 * unsafe.Sizeof(Setter{}.Kinds), uintptr(typeObject)},
		{"the bit of the strong flag", 1 << deleterStrongBit, deleterStrong},
		{"the bit of the weak flag", 1 << deleterWeakBit, deleterWeak},
		{"the bit that marks an Any", 1 << refAnyBit, refAny},
		{"the halves of the counts", 2 * weakShift, 8 * unsafe.Sizeof(abi.Object{}.RefCounts)},
		{"the references behind a Layout", unsafe.Sizeof(Layout{}), unsafe.Offsetof(Layout{}.Refs) + word},
		{"an infinity of float32", uintptr(uint32(infinity32 & math.MaxUint32)), uintptr(math.Float32bits(float32(math.Inf(-1))) << 1)},
		{"an infinity of float64", uintptr(uint64(infinity64 & math.MaxUint64)), uintptr(math.Float64bits(math.Inf(-1)) << 1)},
		{"the words of a BigInt", wideSize, unsafe.Sizeof(wideStack{}.words)},
		{"the parts of a failed conversion", unsafe.Offsetof(castStack{}.end) - unsafe.Offsetof(castStack{}.from), (castParts - 1) * word},
		{"the block, directly behind a Head", HeadSize, unsafe.Sizeof(Head{})},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.what, c.got, c.want)
		}
	}
	// On entry to a function of amd64 the return address is on the stack, of arm64 nothing.
	for name, size := range frames {
		if size%16 != 0 {
			t.Errorf("the frame of %s has %d bytes with what is above it, which is not a multiple of 16", name, size)
		}
	}
	for name, entries := range map[string]struct {
		code *byte
		want uintptr
	}{
		"setters":  {&_setterEntries, MaxSetters * entrySize},
		"creators": {&_creatorEntries, MaxCreators * entrySize},
	} {
		start := uintptr(unsafe.Pointer(entries.code))
		inside, behind := runtime.FuncForPC(start+entries.want-1), runtime.FuncForPC(start+entries.want+15) // but for alignment
		if inside.Entry() != start || behind.Entry() == start {
			t.Errorf("the entries of %s do not have %d bytes", name, entries.want)
		}
	}
}
