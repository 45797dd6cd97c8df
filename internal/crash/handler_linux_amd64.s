//go:build !tvmffi_portable && !msan && !asan

#include "textflag.h"
#include "go_asm.h"

// void handler(int, siginfo_t*, ucontext_t*). It needs no register of its caller, which is the kernel. It leaves the
// arguments as they were and jumps, so that the next handler sees the call of the kernel.
TEXT ·handler(SB), NOSPLIT|NOFRAME, $0
	MOVQ  (TLS), R14         // the g of this thread, null on one that C made
	MOVQ  ·native(SB), R9
	TESTQ R14, R14
	JEQ   foreign
	MOVQ  ·goHandler(SB), R9
	MOVQ  const_gM(R14), AX
	CMPQ  R14, (AX)
	JEQ   report
	JMP   R9                 // Go code, on a goroutine

foreign:
	CMPL DI, $const_sigsegv
	JEQ  report
	MOVQ ·goHandler(SB), R9

report:
	XORL  R8, R8
	MOVL  $1, AX
	XCHGL AX, ·claimed(SB)
	TESTL AX, AX
	SETEQ R8
	SUBQ  $handlerStack__size, SP
	MOVQ  DI, (handlerStack_fault+fault_signal)(SP)
	MOVQ  SI, (handlerStack_fault+fault_info)(SP)
	MOVQ  DX, (handlerStack_fault+fault_context)(SP)
	MOVQ  R14, (handlerStack_fault+fault_g0)(SP)
	MOVQ  R8, (handlerStack_fault+fault_first)(SP)
	MOVQ  R9, (handlerStack_fault+fault_next)(SP)
	LEAQ  handlerStack_fault(SP), AX
	XORPS X15, X15
	MOVQ  ·begin(SB), DX
	MOVQ  (DX), CX
	CALL  CX
	MOVQ  (handlerStack_fault+fault_signal)(SP), DI
	MOVQ  (handlerStack_fault+fault_info)(SP), SI
	MOVQ  (handlerStack_fault+fault_context)(SP), DX
	MOVQ  (handlerStack_fault+fault_next)(SP), R9
	ADDQ  $handlerStack__size, SP
	JMP   R9

// func handlerAddress() uintptr
TEXT ·handlerAddress(SB), NOSPLIT, $0-8
	MOVQ $·handler(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// func threadG0() (g0, again uintptr)
TEXT ·threadG0(SB), NOSPLIT, $0-16
	MOVQ (TLS), AX
	MOVQ const_gM(AX), AX
	MOVQ (AX), AX
	MOVQ AX, g0+0(FP)
	MOVQ const_gM(AX), AX
	MOVQ (AX), AX
	MOVQ AX, again+8(FP)
	RET

// func system(number, a, b, c, d uintptr) int
TEXT ·system(SB), NOSPLIT, $0-48
	MOVQ number+0(FP), AX
	MOVQ a+8(FP), DI
	MOVQ b+16(FP), SI
	MOVQ c+24(FP), DX
	MOVQ d+32(FP), R10
	SYSCALL
	MOVQ AX, ret+40(FP)
	RET

// func textRange() (low, high uintptr)
TEXT ·textRange(SB), NOSPLIT, $0-16
	MOVQ $runtime·text(SB), AX
	MOVQ AX, low+0(FP)
	MOVQ $runtime·etext(SB), AX
	MOVQ AX, high+8(FP)
	RET
