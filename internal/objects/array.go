package objects

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// arrayObject is an Array object whose elements follow its cell.
type arrayObject struct {
	abi.Object
	cell abi.SeqCell
}

// arrayBody is where the elements begin in the memory of an Array built in place.
const arrayBody = ccall.ArrayOffset + unsafe.Sizeof(arrayObject{})

// NewArray makes an Array object of n elements in C memory, and returns its only
// reference and the elements, which the caller sets to owned values. The memory
// comes from malloc: the elements hold garbage. The result is 0 where arrays
// cannot be built in place.
func NewArray(n int) (uintptr, []abi.Any) {
	deleter := ccall.ReleaseArray()
	if deleter == 0 {
		return 0, nil
	}
	base, size := newBlock(arrayBody + uintptr(n)*unsafe.Sizeof(abi.Any{}))
	*capi.PointerTo[[ccall.ArrayOffset]byte](base) = [ccall.ArrayOffset]byte{} // an empty TVMFFIObjectAllocHeader
	data := base + arrayBody
	*capi.PointerTo[arrayObject](base + ccall.ArrayOffset) = arrayObject{
		abi.Object{RefCounts: oneReference, TypeIndex: abi.TypeArray, Deleter: deleter},
		abi.SeqCell{Data: data, Size: int64(n), Capacity: int64((size - arrayBody) / unsafe.Sizeof(abi.Any{}))},
	}
	return base + ccall.ArrayOffset, unsafe.Slice(capi.PointerTo[abi.Any](data), n)
}

// endArray drops the only reference to an Array built in place that holds no objects,
// and keeps its memory for the next one. A caller who knows that it holds none spares
// the look at the elements.
func endArray(handle uintptr, scalars bool) bool {
	if ccall.Liveness {
		return false // malloc overwrites the memory
	}
	a := capi.PointerTo[arrayObject](handle)
	if deleter := ccall.ReleaseArray(); deleter == 0 || a.Deleter != deleter || atomic.LoadUint64(&a.RefCounts) != oneReference {
		return false
	}
	if !scalars { // this is the only reference, so the elements cannot change
		all := unsafe.Slice(capi.PointerTo[abi.Any](a.cell.Data), a.cell.Size)
		for i := range all {
			if all[i].TypeIndex.IsObject() {
				return false
			}
		}
	}
	if !atomic.CompareAndSwapUint64(&a.RefCounts, oneReference, 0) {
		return false
	}
	endBlock(handle-ccall.ArrayOffset, arrayBody+uintptr(a.cell.Capacity)*unsafe.Sizeof(abi.Any{}))
	return true
}

// spareBlocks has memory of Arrays that have ended, of each class one block, for the next
// Array of about that size; the next collection frees it. It saves two of three
// crossings of a small Array, and the page faults of a large one: malloc gives the memory
// of a large block back to the system where a thread other than the first frees it. The
// last class is of 32 MB, because malloc itself keeps no larger blocks: at most 208 MB
// wait, one block of each class.
var spareBlocks [4 * 23]atomic.Uintptr

// blockClass returns the class of a block of C memory and the size of all blocks of
// that class. There are four classes between a power of two and the next.
func blockClass(size uintptr) (class int, rounded uintptr) {
	shift := bits.Len(uint(size-1)) - 3
	units := (size-1)>>shift + 1 // 5 to 8
	return 4*shift + int(units) - 5, units << shift
}

// newBlock returns memory of malloc and its size. It panics if malloc fails.
func newBlock(size uintptr) (base, rounded uintptr) {
	class, rounded := blockClass(size)
	if class >= len(spareBlocks) {
		rounded = size // it will not wait
	} else if base = spareBlocks[class].Swap(0); base != 0 {
		return base, rounded
	}
	if base = ccall.Allocate(rounded); base == 0 {
		panic("tvmffi: out of memory")
	}
	return base, rounded
}

// endBlock keeps memory of newBlock for the next Array, or frees it if there is some or it
// is too large.
func endBlock(base, size uintptr) {
	if class, _ := blockClass(size); class < len(spareBlocks) && spareBlocks[class].CompareAndSwap(0, base) {
		watch()
	} else {
		freeBlock(base)
	}
}

// freeBlock frees memory of newBlock.
func freeBlock(base uintptr) {
	h := ccall.Head{Fn: ccall.ReleaseArray(), Handle: base + ccall.ArrayOffset, Word: abi.DeleterWeak, Mode: ccall.Value}
	ccall.Call(&h)
}

// freeBlocks frees the memory that waits for Arrays.
func freeBlocks() {
	for i := range spareBlocks {
		if base := spareBlocks[i].Swap(0); base != 0 {
			freeBlock(base)
		}
	}
}
