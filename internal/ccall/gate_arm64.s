//go:build (linux || darwin) && !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"

// void gatedBlock(Head*): callBlock behind the gate.
TEXT tvmffi_gatedBlock(SB), NOSPLIT|NOFRAME, $0
	MOVWU ·closed(SB), R1
	CBNZW R1, closed
	B     tvmffi_callBlock(SB)

closed:
	STP.W (R29, R30), -saved2__size(RSP)
	MOVD  R19, saved2_r19(RSP)
	MOVD  R0, R19
	MOVD  ·hostThread(SB), R1
	BL    (R1)
	MOVD  R0, R1
	MOVD  R19, R0
	MOVD  saved2_r19(RSP), R19
	LDP.P saved2__size(RSP), (R29, R30)
	MOVD  ·lastThread(SB), R2
	CMP   R2, R1
	BNE   refused
	B     tvmffi_callBlock(SB)

refused:
	MOVD $const_Ended, R1
	MOVW R1, Head_RC(R0)
	MOVD ZR, (Head_Res+abiAny_Bits)(R0)
	RET

// void gatedDrop(void* object): drop behind the gate.
TEXT tvmffi_gatedDrop(SB), NOSPLIT|NOFRAME, $0
	MOVWU ·closed(SB), R1
	CBNZW R1, closed
	B     tvmffi_drop(SB)

closed:
	STP.W (R29, R30), -saved2__size(RSP)
	MOVD  R19, saved2_r19(RSP)
	MOVD  R0, R19
	MOVD  ·hostThread(SB), R1
	BL    (R1)
	MOVD  R0, R1
	MOVD  R19, R0
	MOVD  saved2_r19(RSP), R19
	LDP.P saved2__size(RSP), (R29, R30)
	MOVD  ·lastThread(SB), R2
	CMP   R2, R1
	BNE   refused
	B     tvmffi_drop(SB)

refused:
	RET

// void gatedAll(Vector*): callAll behind the gate.
TEXT tvmffi_gatedAll(SB), NOSPLIT|NOFRAME, $0
	MOVWU ·closed(SB), R1
	CBNZW R1, closed
	B     tvmffi_callAll(SB)

closed:
	STP.W (R29, R30), -saved2__size(RSP)
	MOVD  R19, saved2_r19(RSP)
	MOVD  R0, R19
	MOVD  ·hostThread(SB), R1
	BL    (R1)
	MOVD  R0, R1
	MOVD  R19, R0
	MOVD  saved2_r19(RSP), R19
	LDP.P saved2__size(RSP), (R29, R30)
	MOVD  ·lastThread(SB), R2
	CMP   R2, R1
	BNE   refused
	B     tvmffi_callAll(SB)

refused:  // Left becomes the number of all calls
	MOVD $const_Ended, R1
	MOVD R1, Vector_RC(R0)
	MOVD Vector_End(R0), R1
	MOVD Vector_Results(R0), R2
	SUB  R2, R1
	LSR  $const_anyShift, R1
	MOVD R1, Vector_Left(R0)
	RET
