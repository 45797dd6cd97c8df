//go:build !tvmffi_portable

package ccall

import "unsafe"

const linkRegister = 30 // DWARF's number of the return address

// callFrame is the size of the frame of callBlock: the assembler adds a word and rounds up.
const callFrame = (unsafe.Sizeof(callStack{}) + word + unit - 1) / unit * unit

// trampolines are the functions that call C, and where each keeps the state of its caller: the
// canonical frame address, and the return address below it.
var trampolines = []trampoline{
	{&_callBlock, []byte{defCFA, 21, byte(callFrame), savedAt | linkRegister, byte(callFrame / word)}}, // R21 + callFrame
	{&_callAll, []byte{defCFA, 31, 64, savedAt | linkRegister, 7}},                                     // SP + 64
	{&_drop, []byte{defCFA, 31, 32, savedAt | linkRegister, 3}},                                        // SP + 32
}
