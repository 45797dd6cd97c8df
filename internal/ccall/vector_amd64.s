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
// The strong flag releases the elements, the weak flag frees the memory.
// BX: the array. R12: the next element. R13: the elements left. R14: the flags.
TEXT tvmffi_releaseArray(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX
	PUSHQ R12
	PUSHQ R13
	PUSHQ R14
	SUBQ  $const_align, SP
	MOVQ  DI, BX
	MOVL  SI, R14
	TESTL $const_deleterStrong, R14
	JEQ   weak
	MOVQ  const_arrayData(BX), R12
	MOVQ  const_arraySize(BX), R13

several:  // values without an object, atOnce at a time
	CMPQ R13, $const_atOnce
	JLT  element
	MOVL abiAny_TypeIndex(R12), AX
	ORL  (abiAny_TypeIndex+1*abiAny__size)(R12), AX
	ORL  (abiAny_TypeIndex+2*abiAny__size)(R12), AX
	ORL  (abiAny_TypeIndex+3*abiAny__size)(R12), AX
	ORL  (abiAny_TypeIndex+4*abiAny__size)(R12), AX
	ORL  (abiAny_TypeIndex+5*abiAny__size)(R12), AX
	ORL  (abiAny_TypeIndex+6*abiAny__size)(R12), AX
	ORL  (abiAny_TypeIndex+7*abiAny__size)(R12), AX
	CMPL AX, $const_typeObject                      // a power of two
	JGE  element
	ADDQ $(const_atOnce*abiAny__size), R12
	SUBQ $const_atOnce, R13
	JMP  several

element:
	TESTQ R13, R13
	JEQ   weak
	CMPL  abiAny_TypeIndex(R12), $const_typeObject
	JLT   scalar
	MOVQ  abiAny_Bits(R12), DI
	MOVQ  ·decRef(SB), AX
	CALL  AX

scalar:
	ADDQ $abiAny__size, R12
	DECQ R13
	JMP  several

weak:
	TESTL $const_deleterWeak, R14
	JEQ   done
	LEAQ  -const_ArrayOffset(BX), DI
	MOVQ  ·free(SB), AX
	CALL  AX

done:
	XORL AX, AX           // callBlock takes it for the return code
	ADDQ $const_align, SP
	POPQ R14
	POPQ R13
	POPQ R12
	POPQ BX
	RET
