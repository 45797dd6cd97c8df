//go:build (linux || darwin) && !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"

// func getg() uintptr
TEXT ·getg(SB), NOSPLIT, $0-8
	MOVD  g, ret+0(FP)
	RET

// void callBlock(Head*), C calling convention, on the system stack. Head.Err is the g
// that called, whose first words are the ends of its stack.
// R19: the head. R20: top of the goroutine stack. R23: the g. 56(R21): the low end.
// R21: the frame; 64(R21): result, 80(R21): error. R22: return code.
TEXT tvmffi_callBlock(SB), NOSPLIT, $112
	STP   (R19, R20), 16(RSP)
	STP   (R21, R22), 32(RSP)
	MOVD  R23, 48(RSP)
	MOVD  R0, R19
	MOVD  Head_Err(R19), R23
	MOVD  const_stackLow(R23), R20
	MOVD  R20, 56(RSP)
	MOVD  const_stackHigh(R23), R20
	MOVD  RSP, R21
	MOVWU Head_Units(R19), R2
	LSL   $4, R2, R2
	SUB   R2, R21, R3
	MOVD  R3, RSP
	MOVD  R3, R5
	ADD   $const_HeadSize, R19, R4
copy:
	CBZ   R2, copied
	LDP.P 16(R4), (R6, R7)
	STP.P (R6, R7), 16(R5)
	SUB   $16, R2, R2
	B     copy
copied:
	MOVD  Head_Mask(R19), R6
relocate:
	CBZ   R6, second
	RBIT  R6, R7
	CLZ   R7, R7
	MOVD  (R3)(R7<<3), R8
	ADD   R3, R8, R8
	MOVD  R8, (R3)(R7<<3)
	SUB   $1, R6, R9
	AND   R9, R6, R6
	B     relocate
second:
	MOVD  R3, R1
	MOVD  Head_Handle(R19), R0
	MOVD  Head_N(R19), R2
	ADD   $64, R21, R3
	MOVWU Head_Mode(R19), R6
	CBZ   R6, call
	CMP   $const_Middle, R6
	BEQ   middle
	CMP   $const_First, R6
	BNE   notFirst
	MOVD  R1, R0
notFirst:
	MOVD  R3, R1
	CMP   $const_Value, R6
	BNE   call
	MOVD  Head_Word(R19), R1
	B     call
middle:
	MOVD  R3, R2
call:
	STP   (ZR, ZR), 64(R21)
	MOVD  ZR, 80(R21)
	MOVD  Head_Fn(R19), R9
	BL    (R9)
	MOVD  R21, RSP
	SXTW  R0, R22
	CBNZ  R22, failed
returned:
	MOVD  const_stackHigh(R23), R0
	CMP   R20, R0
	BNE   moved
results:
	MOVWU 64(R21), R2
	MOVWU 68(R21), R3
	MOVD  72(R21), R0
	MOVW  R2, Head_Res(R19)
	MOVW  R3, (Head_Res+4)(R19)
	MOVD  R0, (Head_Res+8)(R19)
	MOVD  80(R21), R4
	MOVD  R4, Head_Err(R19)
	MOVD  R22, Head_RC(R19)
	CBNZ  R22, done
	CMPW  $65, R2               // a String object: address at 24, size at 32
	BNE   done
	MOVD  Head_TextCap(R19), R4
	CBZ   R4, done
	MOVD  32(R0), R5
	CMP   R4, R5
	BHI   done
	ADD   $1, R5, R6
	MOVD  R6, Head_TextEnd(R19)
	MOVD  24(R0), R6
	ADD   $const_HeadSize, R19, R7
word:
	CMP   $8, R5
	BLO   char
	MOVD.P 8(R6), R8
	MOVD.P R8, 8(R7)
	SUB   $8, R5, R5
	B     word
char:
	CBZ   R5, copiedText
	MOVBU.P 1(R6), R8
	MOVB.P R8, 1(R7)
	SUB   $1, R5, R5
	B     char
copiedText:
	MOVD  ·decRef(SB), R9
	BL    (R9)
done:
	MOVD  48(RSP), R23
	LDP   16(RSP), (R19, R20)
	LDP   32(RSP), (R21, R22)
	RET
failed:
	ADD   $80, R21, R0
#ifdef GOOS_linux
	MOVD  $const_Thrown, R9
	CMP   R9, R22
	BEQ   thrown
#endif
	MOVD  ·errorMove(SB), R9
	BL    (R9)
	B     returned
#ifdef GOOS_linux
thrown:                       // R1: the exception
	BL    tvmffi_catch(SB)
	B     returned
#endif
moved:                        // the frame moved with the stack, if it was there
	MOVD  56(R21), R2
	CMP   R2, R19
	BLO   results
	CMP   R20, R19
	BHS   results
	SUB   R20, R0, R0
	ADD   R0, R19, R19
	B     results

// int callback(void* handle, const Any* args, int32_t n, Any* result), a
// TVMFFISafeCallType. crosscall2 saves the callee-saved registers of C.
// The assembler would save R29 below the stack pointer, where crosscall2 writes.
TEXT tvmffi_callback(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -80(RSP)
	MOVD  Released_Call(R0), R4
	MOVD  R4, (16+CallbackFrame_Call)(RSP)
	MOVD  R0, (16+CallbackFrame_Handle)(RSP)
	MOVD  R1, (16+CallbackFrame_Args)(RSP)
	SXTW  R2, R2
	MOVD  R2, (16+CallbackFrame_N)(RSP)
	MOVD  R3, (16+CallbackFrame_Res)(RSP)
	MOVD  $const_Running, R4
	MOVD  R4, (16+CallbackFrame_RC)(RSP)
	MOVD  ZR, (16+CallbackFrame_Side)(RSP)
	MOVD  $·callbackEntry(SB), R0 // not through R27, which C wants back
	MOVD  (R0), R0
	MOVD  (R0), R0
	ADD   $16, RSP, R1
	MOVD  ZR, R3
	BL    crosscall2(SB)
	MOVD  (16+CallbackFrame_RC)(RSP), R0
	LDP.P 80(RSP), (R29, R30)
	RET

// void releaseObject(Released* node, int flags), the deleter of an object: the
// memory is free when the last weak reference has gone, flag bit 1.
TEXT tvmffi_releaseObject(SB), NOSPLIT|NOFRAME, $0
	TBZ   $1, R1, live
	B     tvmffi_release(SB)
live:
	RET

// void release(Released* node): pushes node on the list releasedHead.
TEXT tvmffi_release(SB), NOSPLIT|NOFRAME, $0
	MOVD  $·releasedHead(SB), R1
retry:
	LDAXR (R1), R2
	MOVD  R2, Released_Next(R0)
	STLXR R0, (R1), R3
	CBNZ  R3, retry
	RET
