//go:build (linux || darwin) && !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"

// void callAll(Vector*), C calling convention, on the system stack. The vector
// does not move: no address here is one of a goroutine stack.
// R19: the vector. R20: the record. R21: the result of the next call, R22: its
// arguments. R23: the calls left of the record.
//
// The functions here have frames of their own making: the assembler saves R29
// below the stack pointer, where the C functions that are called write.
TEXT tvmffi_callAll(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -64(RSP)
	STP   (R19, R20), 16(RSP)
	STP   (R21, R22), 32(RSP)
	MOVD  R23, 48(RSP)
	MOVD  R0, R19
	MOVD  Vector_Records(R19), R20
	MOVD  Vector_Results(R19), R21
record:
	MOVD  Record_Args(R20), R22
	MOVD  Record_Calls(R20), R23
next:
	MOVD  Record_Handle(R20), R0
	MOVD  R22, R1
	MOVD  Record_N(R20), R2
	MOVD  R21, R3
	MOVD  Record_Fn(R20), R9
	BL    (R9)
	CBNZW R0, failed
	MOVD  Record_N(R20), R2
	ADD   R2<<4, R22              // resultSize
	ADD   $const_resultSize, R21
	SUB   $1, R23
	CBNZ  R23, next
	ADD   $Record__size, R20
	MOVD  Vector_End(R19), R2
	CMP   R2, R21
	BNE   record
	B     done
failed:
	SXTW  R0, R0
	MOVD  R0, Vector_RC(R19)
#ifdef GOOS_linux
	MOVD  $const_Thrown, R9
	CMP   R9, R0
	BEQ   thrown
#endif
	ADD   $Vector_Err, R19, R0
	MOVD  ·errorMove(SB), R9
	BL    (R9)
	B     done
#ifdef GOOS_linux
thrown:                       // R1: the exception
	ADD   $Vector_Err, R19, R0
	BL    tvmffi_catch(SB)
#endif
done:
	MOVD  Vector_End(R19), R0
	SUB   R21, R0
	LSR   $4, R0                  // resultSize
	MOVD  R0, Vector_Left(R19)
	MOVD  48(RSP), R23
	LDP   32(RSP), (R21, R22)
	LDP   16(RSP), (R19, R20)
	LDP.P 64(RSP), (R29, R30)
	RET

// void allocate(allocation*)
TEXT tvmffi_allocate(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -32(RSP)
	MOVD  R19, 16(RSP)
	MOVD  R0, R19
	MOVD  allocation_Size(R19), R0
	MOVD  ·malloc(SB), R9
	BL    (R9)
	MOVD  R0, allocation_Address(R19)
	MOVD  16(RSP), R19
	LDP.P 32(RSP), (R29, R30)
	RET

// void releaseArray(void* self, int flags), the deleter of an array made in Go.
// The strong flag releases the elements, the weak flag frees the memory.
// R19: the array. R20: the next element. R21: the elements left. R22: the flags.
TEXT tvmffi_releaseArray(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -48(RSP)
	STP   (R19, R20), 16(RSP)
	STP   (R21, R22), 32(RSP)
	MOVD  R0, R19
	MOVW  R1, R22
	TBZ   $0, R22, weak
	MOVD  24(R19), R20           // the cell: data, size
	MOVD  32(R19), R21
four:                          // values without an object, four at a time
	CMP   $4, R21
	BLT   element
	MOVWU (R20), R2
	MOVWU 16(R20), R3
	MOVWU 32(R20), R4
	MOVWU 48(R20), R5
	ORR   R3, R2
	ORR   R5, R4
	ORR   R4, R2
	CMPW  $64, R2                // the first index of objects, a power of two
	BGE   element
	ADD   $64, R20
	SUB   $4, R21
	B     four
element:
	CBZ   R21, weak
	MOVW  (R20), R2
	CMPW  $64, R2
	BLT   scalar
	MOVD  8(R20), R0
	MOVD  $·decRef(SB), R9        // not through R27, which C wants back
	MOVD  (R9), R9
	BL    (R9)
scalar:
	ADD   $16, R20
	SUB   $1, R21
	B     four
weak:
	TBZ   $1, R22, done
	SUB   $const_ArrayOffset, R19, R0
	MOVD  $·free(SB), R9
	MOVD  (R9), R9
	BL    (R9)
done:
	MOVD  ZR, R0                 // callBlock takes it for the return code
	LDP   32(RSP), (R21, R22)
	LDP   16(RSP), (R19, R20)
	LDP.P 48(RSP), (R29, R30)
	RET
