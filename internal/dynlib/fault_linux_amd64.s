//go:build !tvmffi_portable

#include "textflag.h"

// The handler of SIGSEGV: void fault(int, siginfo_t*, void*). It leaves the arguments where
// they are and jumps, so that the other handler sees the call of the kernel.
TEXT ·fault(SB), NOSPLIT|NOFRAME, $0
	MOVQ  TLS, AX
	MOVQ  0(AX)(TLS*1), AX   // the g of this thread, null on one that C++ made
	TESTQ AX, AX
	JEQ   native
	MOVQ  ·goHandler(SB), AX
	JMP   AX

native:
	MOVQ ·nativeHandler(SB), AX
	JMP  AX

// func faultAddress() uintptr
TEXT ·faultAddress(SB), NOSPLIT, $0-8
	MOVQ $·fault(SB), AX
	MOVQ AX, ret+0(FP)
	RET
