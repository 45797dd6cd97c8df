//go:build (amd64 || arm64) && !tvmffi_portable

package ccall

import (
	"encoding/binary"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// A C++ function may throw an exception that TVM-FFI does not catch: its safe calls handle
// only exceptions derived from std::exception. The unwinder would look for a handler in the
// trampolines, find code without a description, and end the process. CatchThrown describes
// the trampolines to the unwinder, in the form that compilers write into the section
// .eh_frame, with a personality that handles C++ exceptions at the call. The format: Linux Standard Base, Exception Frames; the personality: Itanium
// C++ ABI, Exception Handling, level I.

// CatchesThrown is true on platforms where CatchThrown has an effect.
const CatchesThrown = true

// Thrower holds the functions of the unwinder and of the C++ runtime that the assembly
// calls.
type Thrower struct{ SetGR, BeginCatch, CurrentType, EndCatch uintptr }

//lint:ignore U1000 read by the assembly
var thrower Thrower

//go:linkname _personality tvmffi_personality
var _personality byte

// trampoline is a function that calls C, with the instructions that describe where the
// state of its caller lies.
type trampoline struct {
	code  *byte
	rules []byte
}

// DW_CFA_def_cfa, and DW_CFA_offset, whose operand is in units of -8 bytes.
const (
	defCFA  = 0x0c
	savedAt = 0x80
)

// CatchThrown makes a call return Thrown if a C++ exception leaves it. symbol finds
// functions in the libraries that libtvm_ffi is linked with; if one is missing, CatchThrown
// does nothing. It must be called once, before the first Call, and needs Allocate.
func CatchThrown(symbol func(name string) (uintptr, error)) {
	var register uintptr
	for name, to := range map[string]*uintptr{
		"__register_frame":             &register,
		"_Unwind_SetGR":                &thrower.SetGR,
		"__cxa_begin_catch":            &thrower.BeginCatch,
		"__cxa_current_exception_type": &thrower.CurrentType,
		"__cxa_end_catch":              &thrower.EndCatch,
	} {
		var err error
		if *to, err = symbol(name); err != nil {
			return
		}
	}
	// Each has one record with the rules to unwind it and one with its address.
	var frames []byte
	for _, f := range trampolines {
		info := []byte{1, 'z', 'P', 'R', 0, 1, 0x78, linkRegister, 10, 0}
		info = binary.NativeEndian.AppendUint64(info, uint64(uintptr(unsafe.Pointer(&_personality))))
		info = append(append(info, 0), f.rules...)
		common := len(frames)
		frames = record(frames, 0, info)
		start := uintptr(unsafe.Pointer(f.code))
		where := binary.NativeEndian.AppendUint64(nil, uint64(start))
		where = binary.NativeEndian.AppendUint64(where, size(start))
		frames = record(frames, uint32(len(frames)+4-common), append(where, 0))
	}
	frames = binary.NativeEndian.AppendUint32(frames, 0)
	memory := Allocate(uintptr(len(frames))) // which the unwinder reads as long as the process lives
	if memory == 0 {
		return
	}
	copy(unsafe.Slice((*byte)(pointer(memory)), len(frames)), frames)
	purego.SyscallN(register, memory)
}

// size returns the number of bytes of code of the function at start.
func size(start uintptr) uint64 {
	for end := start; ; end++ {
		if f := runtime.FuncForPC(end); f == nil || f.Entry() != start {
			return uint64(end - start)
		}
	}
}

// record appends a record of .eh_frame, padded to a multiple of 8 bytes.
func record(to []byte, id uint32, content []byte) []byte {
	for (len(content)+8)%8 != 0 {
		content = append(content, 0)
	}
	to = binary.NativeEndian.AppendUint32(to, uint32(len(content)+4))
	return append(binary.NativeEndian.AppendUint32(to, id), content...)
}
