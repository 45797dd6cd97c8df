//go:build !tvmffi_portable

package ccall

const linkRegister = 16 // DWARF's number of the return address

// trampolines are the functions that call C, and where each keeps the state of its caller: the
// canonical frame address, the return address below it, and the BP that it saved.
var trampolines = []trampoline{
	{&_callBlock, []byte{defCFA, 6, 16, savedAt | 6, 2, savedAt | linkRegister, 1}}, // BP + 16
	{&_callAll, []byte{defCFA, 7, 48, savedAt | linkRegister, 1}},                   // SP + 48
	{&_drop, []byte{defCFA, 7, 16, savedAt | linkRegister, 1}},                      // SP + 16
}
