//go:build (linux || darwin) && !tvmffi_portable

package ccall

import "unsafe"

// frames are the sizes of frames.
var frames = map[string]uintptr{
	"callBlock":      unsafe.Sizeof(callStack{}),
	"callback":       unsafe.Sizeof(callbackStack{}),
	"allocateTensor": unsafe.Sizeof(allocateStack{}),
	"callWithin":     unsafe.Sizeof(withinStack{}),
	"saved0":         unsafe.Sizeof(saved0{}),
	"saved2":         unsafe.Sizeof(saved2{}),
	"saved4":         unsafe.Sizeof(saved4{}),
	"saved5":         unsafe.Sizeof(saved5{}),
	"delete":         unsafe.Sizeof(deleteStack{}),
	"getUint64":      unsafe.Sizeof(wideStack{}),
	"raiseRange":     unsafe.Sizeof(rangeStack{}),
	"setAny":         unsafe.Sizeof(setAnyStack{}),
	"raiseCast":      unsafe.Sizeof(castStack{}),
	"allocateObject": unsafe.Sizeof(memoryStack{}),
	"personality":    unsafe.Sizeof(personalityStack{}),
	"catch":          unsafe.Sizeof(catchStack{}),
}
