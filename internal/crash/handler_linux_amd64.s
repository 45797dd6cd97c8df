//go:build !tvmffi_portable && !msan && !asan

#include "textflag.h"

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
