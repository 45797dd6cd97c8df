//go:build !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"

// func boundsVariable() *uintptr
TEXT ·boundsVariable(SB), NOSPLIT, $0-8
	MOVD $_cgo_getstackbound(SB), R0
	MOVD R0, ret+0(FP)
	RET

// void stackBounds(uintptr bounds[2]): the ends of the stack of the calling thread. They stay
// zero if the C library does not know them.
TEXT tvmffi_stackBounds(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -boundsStack__size(RSP)
	MOVD  R19, boundsStack_r19(RSP)
	MOVD  R0, R19
	MOVD  ·threadSelf(SB), R9
	BL    (R9)
	ADD   $boundsStack_attributes, RSP, R1
	MOVD  ·threadAttributes(SB), R9
	BL    (R9)
	CBNZW R0, unknown
	ADD   $boundsStack_attributes, RSP, R0
	ADD   $boundsStack_low, RSP, R1
	ADD   $boundsStack_size, RSP, R2
	MOVD  ·attributesStack(SB), R9
	BL    (R9)
	MOVD  boundsStack_low(RSP), R1
	MOVD  boundsStack_size(RSP), R2
	ADD   R1, R2, R2
	MOVD  R1, stackBounds_low(R19)
	MOVD  R2, stackBounds_high(R19)
	ADD   $boundsStack_attributes, RSP, R0
	MOVD  ·attributesEnd(SB), R9
	BL    (R9)

unknown:
	MOVD  boundsStack_r19(RSP), R19
	LDP.P boundsStack__size(RSP), (R29, R30)
	RET
