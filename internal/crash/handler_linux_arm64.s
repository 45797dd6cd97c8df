//go:build !tvmffi_portable && !msan && !asan

#include "textflag.h"
#include "go_asm.h"

// void handler(int, siginfo_t*, ucontext_t*). It needs no register of its caller, which is the kernel, but the link
// register. It leaves the arguments as they were and jumps, so that the next handler sees the call of the kernel.
TEXT ·handler(SB), NOSPLIT|NOFRAME, $0
	MOVD.W R30, -handlerStack__size(RSP)
	MOVD   R0, (handlerStack_fault+fault_signal)(RSP)
	MOVD   R1, (handlerStack_fault+fault_info)(RSP)
	MOVD   R2, (handlerStack_fault+fault_context)(RSP)
	MOVD   ZR, g
	BL     runtime·load_g(SB)                          // the g of this thread, null on one that C made
	MOVD   ·native(SB), R9
	MOVD   (handlerStack_fault+fault_signal)(RSP), R0
	CBZ    g, foreign
	MOVD   ·goHandler(SB), R9
	MOVD   R9, (handlerStack_fault+fault_next)(RSP)
	MOVD   const_gM(g), R3
	MOVD   (R3), R3
	CMP    R3, g
	BEQ    report
	B      next                                        // Go code, on a goroutine

foreign:
	CMPW $const_sigsegv, R0
	BEQ  report
	MOVD ·goHandler(SB), R9

report:
	MOVD R9, (handlerStack_fault+fault_next)(RSP)
	MOVD g, (handlerStack_fault+fault_g0)(RSP)
	MOVD $·claimed(SB), R3
	MOVW $1, R4

claim:
	LDAXRW (R3), R5
	STLXRW R4, (R3), R6
	CBNZW  R6, claim
	CMPW   $0, R5
	CSET   EQ, R5
	MOVD   R5, (handlerStack_fault+fault_first)(RSP)
	ADD    $handlerStack_fault, RSP, R0
	MOVD   ·begin(SB), R26
	MOVD   (R26), R9
	BL     (R9)

next:
	MOVD   (handlerStack_fault+fault_signal)(RSP), R0
	MOVD   (handlerStack_fault+fault_info)(RSP), R1
	MOVD   (handlerStack_fault+fault_context)(RSP), R2
	MOVD   (handlerStack_fault+fault_next)(RSP), R9
	MOVD.P handlerStack__size(RSP), R30
	B      (R9)

// func handlerAddress() uintptr
TEXT ·handlerAddress(SB), NOSPLIT, $0-8
	MOVD $·handler(SB), R0
	MOVD R0, ret+0(FP)
	RET

// func threadG0() (g0, again uintptr)
TEXT ·threadG0(SB), NOSPLIT, $0-16
	MOVD const_gM(g), R0
	MOVD (R0), R0
	MOVD R0, g0+0(FP)
	MOVD const_gM(R0), R0
	MOVD (R0), R0
	MOVD R0, again+8(FP)
	RET

// func system(number, a, b, c, d uintptr) int
TEXT ·system(SB), NOSPLIT, $0-48
	MOVD number+0(FP), R8
	MOVD a+8(FP), R0
	MOVD b+16(FP), R1
	MOVD c+24(FP), R2
	MOVD d+32(FP), R3
	SVC
	MOVD R0, ret+40(FP)
	RET

// func textRange() (low, high uintptr)
TEXT ·textRange(SB), NOSPLIT, $0-16
	MOVD $runtime·text(SB), R0
	MOVD R0, low+0(FP)
	MOVD $runtime·etext(SB), R0
	MOVD R0, high+8(FP)
	RET
