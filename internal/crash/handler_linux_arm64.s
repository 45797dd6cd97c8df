//go:build !tvmffi_portable && !msan && !asan

#include "textflag.h"

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
