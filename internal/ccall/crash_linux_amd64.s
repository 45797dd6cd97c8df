//go:build !tvmffi_portable && !msan && !asan

#include "textflag.h"
#include "go_asm.h"

// void crossingProbe(crossingProbe*), by cgocall. Go changes all registers but BP.
TEXT tvmffi_crossingProbe(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX
	PUSHQ R12
	PUSHQ R13
	PUSHQ R14
	PUSHQ R15
	SUBQ  $const_word, SP
	MOVQ  (TLS), R14
	MOVQ  R14, crossingProbe_g0(DI)
	MOVQ  DI, AX
	XORPS X15, X15
	MOVQ  ·findCrossing(SB), DX
	MOVQ  (DX), CX
	CALL  CX
	ADDQ  $const_word, SP
	POPQ  R15
	POPQ  R14
	POPQ  R13
	POPQ  R12
	POPQ  BX
	RET
