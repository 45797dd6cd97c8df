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
	MOVQ  Record_Args(R12), R15
	MOVQ  Record_Calls(R12), R14
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
	SHLQ  $4, DX                 // resultSize
	ADDQ  DX, R15
	ADDQ  $const_resultSize, R13
	DECQ  R14
	JNE   next
	ADDQ  $Record__size, R12
	CMPQ  R13, Vector_End(BX)
	JNE   record
	JMP   done
failed:
	MOVLQSX AX, AX
	MOVQ  AX, Vector_RC(BX)
	LEAQ  Vector_Err(BX), DI
#ifdef GOOS_linux
	CMPQ  AX, $const_Thrown
	JEQ   thrown
#endif
	MOVQ  ·errorMove(SB), AX
	CALL  AX
	JMP   done
#ifdef GOOS_linux
thrown:                        // DX: the exception
	MOVQ  DX, SI
	CALL  tvmffi_catch(SB)
#endif
done:
	MOVQ  Vector_End(BX), AX
	SUBQ  R13, AX
	SHRQ  $4, AX                 // resultSize
	MOVQ  AX, Vector_Left(BX)
	POPQ  R15
	POPQ  R14
	POPQ  R13
	POPQ  R12
	POPQ  BX
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
	SUBQ  $8, SP
	MOVQ  DI, BX
	MOVL  SI, R14
	TESTL $1, R14
	JEQ   weak
	MOVQ  24(BX), R12            // the cell: data, size
	MOVQ  32(BX), R13
eight:                         // values without an object, eight at a time
	CMPQ  R13, $8
	JLT   element
	MOVL  (R12), AX
	ORL   16(R12), AX
	ORL   32(R12), AX
	ORL   48(R12), AX
	ORL   64(R12), AX
	ORL   80(R12), AX
	ORL   96(R12), AX
	ORL   112(R12), AX
	CMPL  AX, $64                // the first index of objects, a power of two
	JGE   element
	ADDQ  $128, R12
	SUBQ  $8, R13
	JMP   eight
element:
	TESTQ R13, R13
	JEQ   weak
	CMPL  (R12), $64
	JLT   scalar
	MOVQ  8(R12), DI
	MOVQ  ·decRef(SB), AX
	CALL  AX
scalar:
	ADDQ  $16, R12
	DECQ  R13
	JMP   eight
weak:
	TESTL $2, R14
	JEQ   done
	LEAQ  -const_ArrayOffset(BX), DI
	MOVQ  ·free(SB), AX
	CALL  AX
done:
	XORL  AX, AX                 // callBlock takes it for the return code
	ADDQ  $8, SP
	POPQ  R14
	POPQ  R13
	POPQ  R12
	POPQ  BX
	RET
