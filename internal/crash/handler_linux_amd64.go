//go:build !tvmffi_portable && !msan && !asan

package crash

//lint:file-ignore U1000 read by the assembly

// gM is the offset of m in a g of the Go runtime. The g0 is the first word of an m.
const gM = 48

// handlerStack is the frame of the handler, where the func that it calls may save its argument first.
type handlerStack struct {
	_     uintptr
	fault fault
}

// Offsets in a ucontext_t.
const (
	contextSP = 160
	contextPC = 168
)

const (
	sysNanosleep = 35
	sysPipe2     = 293
)

// afterCall reports whether the bytes before an address, the last of them in the high byte, are an instruction that calls.
//
//go:nosplit
//go:norace
//go:nocheckptr
func afterCall(before uint64) bool {
	const direct, indirect, register = 0xe8, 0xff, 0xd0
	if before>>24&0xff == direct { // with four bytes behind it
		return true
	}
	for length := uint(2); length <= 7; length++ { // FF /2, with what its operand needs
		code, mode := before>>(64-8*length)&0xff, before>>(72-8*length)&0xff
		if code != indirect || mode>>3&7 != 2 {
			continue
		}
		want := uint(2)
		switch mode >> 6 {
		case 0:
			if mode&7 == 5 {
				want = 6
			}
		case 1:
			want = 3
		case 2:
			want = 6
		}
		if mode&7 == 4 && mode < register&^0x3f {
			want++
		}
		if want == length {
			return true
		}
	}
	return false
}
