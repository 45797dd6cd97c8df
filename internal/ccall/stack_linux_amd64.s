//go:build !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"

// func boundsVariable() *uintptr
TEXT ·boundsVariable(SB), NOSPLIT, $0-8
	MOVQ $_cgo_getstackbound(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// void stackBounds(uintptr bounds[2]): the ends of the stack of the calling thread. They stay
// zero if the C library does not know them.
TEXT tvmffi_stackBounds(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX
	SUBQ  $boundsStack__size, SP
	MOVQ  DI, BX
	MOVQ  ·threadSelf(SB), AX
	CALL  AX
	MOVQ  AX, DI
	LEAQ  boundsStack_attributes(SP), SI
	MOVQ  ·threadAttributes(SB), AX
	CALL  AX
	TESTL AX, AX
	JNE   unknown
	LEAQ  boundsStack_attributes(SP), DI
	LEAQ  boundsStack_low(SP), SI
	LEAQ  boundsStack_size(SP), DX
	MOVQ  ·attributesStack(SB), AX
	CALL  AX
	MOVQ  boundsStack_low(SP), AX
	MOVQ  AX, stackBounds_low(BX)
	ADDQ  boundsStack_size(SP), AX
	MOVQ  AX, stackBounds_high(BX)
	LEAQ  boundsStack_attributes(SP), DI
	MOVQ  ·attributesEnd(SB), AX
	CALL  AX

unknown:
	ADDQ $boundsStack__size, SP
	POPQ BX
	RET
