//go:build !tvmffi_portable && !msan && !asan

package crash

const sysPipe2 = 59

// afterCall reports whether the bytes before an address, the last of them in the high byte, are an instruction that calls.
//
//go:nosplit
//go:norace
//go:nocheckptr
func afterCall(before uint64) bool {
	instruction := uint32(before >> 32)
	return instruction>>26 == 0x25 || instruction&0xfffffc1f == 0xd63f0000 // BL, BLR
}
