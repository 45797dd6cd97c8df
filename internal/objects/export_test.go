package objects

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// BlockClass is blockClass.
func BlockClass(size uintptr) (class int, rounded uintptr) { return blockClass(size) }

// BlockClasses is how many classes of blocks there are.
const BlockClasses = len(spareBlocks)

// SpareBlock is the memory that waits for an Array of n elements, as the handle that
// the Array would have; 0 if there is none.
func SpareBlock(n int) uintptr {
	class, _ := blockClass(arrayBody + uintptr(n)*unsafe.Sizeof(abi.Any{}))
	if class >= len(spareBlocks) {
		return 0
	}
	if base := spareBlocks[class].Load(); base != 0 {
		return base + ccall.ArrayOffset
	}
	return 0
}

// SpareBlocks is how many blocks wait for Arrays.
func SpareBlocks() (n int) {
	for i := range spareBlocks {
		if spareBlocks[i].Load() != 0 {
			n++
		}
	}
	return n
}

// ArrayCell is the cell of an Array built in place.
func ArrayCell(handle uintptr) abi.SeqCell { return capi.PointerTo[arrayObject](handle).cell }

// KeepSpareBlocks keeps collections from freeing the blocks that wait, until release.
func KeepSpareBlocks() (release func()) {
	recent.guarding.Lock()
	return recent.guarding.Unlock
}
