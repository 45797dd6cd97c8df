//go:build (linux || darwin) && !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"

// void callAll(Vector*), C calling convention, on the system stack. The vector
// does not move: no address here is one of a goroutine stack.
// BX: the vector. R12: the record. R13: the result of the next call, R15: its
// arguments. R14: the calls left of the record.
TEXT tvmffi_callAll(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX
	PUSHQ R12
	PUSHQ R13
	PUSHQ R14
	PUSHQ R15
	MOVQ  DI, BX
	MOVQ  Vector_Records(BX), R12
	MOVQ  Vector_Results(BX), R13

record:
	MOVQ Record_Args(R12), R15
	MOVQ Record_Calls(R12), R14

next:
	MOVQ  Record_Handle(R12), DI
	MOVQ  R15, SI
	MOVQ  Record_N(R12), DX
	MOVQ  R13, CX
	MOVQ  Record_Fn(R12), AX
	CALL  AX
	TESTL AX, AX
	JNE   failed
	MOVQ  Record_N(R12), DX
	SHLQ  $const_anyShift, DX
	ADDQ  DX, R15
	ADDQ  $abiAny__size, R13
	DECQ  R14
	JNE   next
	ADDQ  $Record__size, R12
	CMPQ  R13, Vector_End(BX)
	JNE   record
	JMP   done

failed:
	MOVLQSX AX, AX
	MOVQ    AX, Vector_RC(BX)
	LEAQ    Vector_Err(BX), DI

#ifdef GOOS_linux
	CMPQ AX, $const_Thrown
	JEQ  thrown

#endif
	MOVQ ·errorMove(SB), AX
	CALL AX
	JMP  done

#ifdef GOOS_linux
thrown:  // DX: the exception
	MOVQ DX, SI
	CALL tvmffi_catch(SB)

#endif
done:
	MOVQ Vector_End(BX), AX
	SUBQ R13, AX
	SHRQ $const_anyShift, AX
	MOVQ AX, Vector_Left(BX)
	POPQ R15
	POPQ R14
	POPQ R13
	POPQ R12
	POPQ BX
	RET

// void allocate(allocation*)
TEXT tvmffi_allocate(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX
	MOVQ  DI, BX
	MOVQ  allocation_Size(BX), DI
	MOVQ  ·malloc(SB), AX
	CALL  AX
	MOVQ  AX, allocation_Address(BX)
	POPQ  BX
	RET

// void releaseArray(void* self, int flags), the deleter of an array made in Go.
// tvmffi_delete releases the elements of an Array with objects. CX: the next element. DX: the elements left.
TEXT tvmffi_releaseArray(SB), NOSPLIT|NOFRAME, $0
	TESTL $const_deleterStrong, SI
	JEQ   free
	MOVQ  const_arrayData(DI), CX
	MOVQ  const_arraySize(DI), DX

several:  // values without an object, atOnce at a time
	CMPQ DX, $const_atOnce
	JLT  element
	MOVL abiAny_TypeIndex(CX), AX
	ORL  (abiAny_TypeIndex+1*abiAny__size)(CX), AX
	ORL  (abiAny_TypeIndex+2*abiAny__size)(CX), AX
	ORL  (abiAny_TypeIndex+3*abiAny__size)(CX), AX
	ORL  (abiAny_TypeIndex+4*abiAny__size)(CX), AX
	ORL  (abiAny_TypeIndex+5*abiAny__size)(CX), AX
	ORL  (abiAny_TypeIndex+6*abiAny__size)(CX), AX
	ORL  (abiAny_TypeIndex+7*abiAny__size)(CX), AX
	CMPL AX, $const_typeObject                     // a power of two
	JGE  element
	ADDQ $(const_atOnce*abiAny__size), CX
	SUBQ $const_atOnce, DX
	JMP  several

element:
	TESTQ DX, DX
	JEQ   whole
	CMPL  abiAny_TypeIndex(CX), $const_typeObject
	JLT   scalar
	JMP   tvmffi_delete(SB)

scalar:
	ADDQ $abiAny__size, CX
	DECQ DX
	JMP  several

whole:
	TESTL $const_deleterWeak, SI
	JEQ   done

free:
	SUBQ $const_align, SP
	SUBQ $const_ArrayOffset, DI
	MOVQ ·free(SB), AX
	CALL AX
	ADDQ $const_align, SP

done:
	XORL AX, AX // callBlock takes it for the return code
	RET
