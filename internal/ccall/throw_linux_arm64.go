//go:build !tvmffi_portable

package ccall

const linkRegister = 30 // DWARF's number of the return address

// trampolines are the functions that call C, and where each keeps the state of its caller: the
// canonical frame address, and the return address below it.
var trampolines = []trampoline{
	{&_callBlock, []byte{defCFA, 21, 0x80, 1, savedAt | linkRegister, 16}}, // R21 + 128
	{&_callAll, []byte{defCFA, 31, 64, savedAt | linkRegister, 7}},         // SP + 64
	{&_drop, []byte{defCFA, 31, 32, savedAt | linkRegister, 3}},            // SP + 32
}
