//go:build !tvmffi_portable && !msan && !asan

package crash

//lint:file-ignore U1000 read by the assembly

// gM is the offset of m in a g of the Go runtime. The g0 is the first word of an m.
const gM = 48

// handlerStack is the frame of the handler, where the func that it calls may save its argument behind the link register.
type handlerStack struct {
	r30, _ uintptr
	fault  fault
}

// Offsets in a ucontext_t.
const (
	contextSP = 432
	contextPC = 440
)

const (
	sysNanosleep = 101
	sysPipe2     = 59
)

// afterCall reports whether the bytes before an address, the last of them in the high byte, are an instruction that calls.
//
//go:nosplit
//go:norace
//go:nocheckptr
func afterCall(before uint64) bool {
	instruction := uint32(before >> 32)
	return instruction>>26 == 0x25 || instruction&0xfffffc1f == 0xd63f0000 // BL, BLR
}
