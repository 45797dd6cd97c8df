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
	STP.W (R29, R30), -saved5__size(RSP)
	STP   (R19, R20), saved5_r19(RSP)
	STP   (R21, R22), saved5_r21(RSP)
	MOVD  R23, saved5_r23(RSP)
	MOVD  R0, R19
	MOVD  Vector_Records(R19), R20
	MOVD  Vector_Results(R19), R21

record:
	MOVD Record_Args(R20), R22
	MOVD Record_Calls(R20), R23

next:
	MOVD  Record_Handle(R20), R0
	MOVD  R22, R1
	MOVD  Record_N(R20), R2
	MOVD  R21, R3
	MOVD  Record_Fn(R20), R9
	BL    (R9)
	CBNZW R0, failed
	MOVD  Record_N(R20), R2
	ADD   R2<<const_anyShift, R22
	ADD   $abiAny__size, R21
	SUB   $1, R23
	CBNZ  R23, next
	ADD   $Record__size, R20
	MOVD  Vector_End(R19), R2
	CMP   R2, R21
	BNE   record
	B     done

failed:
	SXTW R0, R0
	MOVD R0, Vector_RC(R19)

#ifdef GOOS_linux
	MOVD $const_Thrown, R9
	CMP  R9, R0
	BEQ  thrown

#endif
	ADD  $Vector_Err, R19, R0
	MOVD ·errorMove(SB), R9
	BL   (R9)
	B    done

#ifdef GOOS_linux
thrown:  // R1: the exception
	ADD $Vector_Err, R19, R0
	BL  tvmffi_catch(SB)

#endif
done:
	MOVD  Vector_End(R19), R0
	SUB   R21, R0
	LSR   $const_anyShift, R0
	MOVD  R0, Vector_Left(R19)
	MOVD  saved5_r23(RSP), R23
	LDP   saved5_r21(RSP), (R21, R22)
	LDP   saved5_r19(RSP), (R19, R20)
	LDP.P saved5__size(RSP), (R29, R30)
	RET

// void allocate(allocation*)
TEXT tvmffi_allocate(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -saved2__size(RSP)
	MOVD  R19, saved2_r19(RSP)
	MOVD  R0, R19
	MOVD  allocation_Size(R19), R0
	MOVD  ·malloc(SB), R9
	BL    (R9)
	MOVD  R0, allocation_Address(R19)
	MOVD  saved2_r19(RSP), R19
	LDP.P saved2__size(RSP), (R29, R30)
	RET

// void releaseArray(void* self, int flags), the deleter of an array made in Go.
// tvmffi_delete releases the elements of an Array with objects. R6: the next element. R7: the elements left.
TEXT tvmffi_releaseArray(SB), NOSPLIT|NOFRAME, $0
	TBZ  $const_deleterStrongBit, R1, free
	MOVD const_arrayData(R0), R6
	MOVD const_arraySize(R0), R7

several:  // values without an object, atOnce at a time
	CMP   $const_atOnce, R7
	BLT   element
	MOVWU abiAny_TypeIndex(R6), R2
	MOVWU (abiAny_TypeIndex+1*abiAny__size)(R6), R3
	MOVWU (abiAny_TypeIndex+2*abiAny__size)(R6), R4
	MOVWU (abiAny_TypeIndex+3*abiAny__size)(R6), R5
	ORR   R3, R2
	ORR   R5, R4
	ORR   R4, R2
	CMPW  $const_typeObject, R2                     // a power of two
	BGE   element
	ADD   $(const_atOnce*abiAny__size), R6
	SUB   $const_atOnce, R7
	B     several

element:
	CBZ  R7, whole
	MOVW abiAny_TypeIndex(R6), R2
	CMPW $const_typeObject, R2
	BLT  scalar
	B    tvmffi_delete(SB)

scalar:
	ADD $abiAny__size, R6
	SUB $1, R7
	B   several

whole:
	TBZ $const_deleterWeakBit, R1, done

free:
	STP.W (R29, R30), -saved0__size(RSP)
	SUB   $const_ArrayOffset, R0
	MOVD  $·free(SB), R9
	MOVD  (R9), R9
	BL    (R9)
	LDP.P saved0__size(RSP), (R29, R30)

done:
	MOVD ZR, R0 // callBlock takes it for the return code
	RET
