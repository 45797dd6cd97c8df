//go:build (linux || darwin) && !tvmffi_portable

package ccall

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// frames are the sizes of frames with the pushed registers and the return address.
var frames = map[string]uintptr{
	"callBlock":         unsafe.Sizeof(callStack{}) + 2*word, // BP
	"drop":              unsafe.Sizeof(dropStack{}) + word,
	"callback":          unsafe.Sizeof(callbackStack{}) + word,
	"allocateTensor":    unsafe.Sizeof(allocateStack{}) + word,
	"callWithin":        unsafe.Sizeof(withinStack{}) + 2*word,
	"getUint64":         unsafe.Sizeof(wideStack{}) + word,
	"raiseRange":        unsafe.Sizeof(rangeStack{}) + word,
	"setAny":            unsafe.Sizeof(abi.Any{}) + 4*word,
	"raiseCast":         unsafe.Sizeof(castStack{}) + word,
	"allocateObject":    unsafe.Sizeof(memoryStack{}) + 2*word,
	"without registers": align + word,
}
