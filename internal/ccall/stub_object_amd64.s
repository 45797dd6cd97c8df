//go:build (linux || darwin) && !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"

// The functions that make, copy and delete objects of types made in Go, in the C calling
// convention; stub.go says what they do.

// AX = an object of the Layout DI, zeroed, or 0 and an error raised. malloc and
// zeroing cost less than calloc, which has no cache per thread in older glibc.
TEXT tvmffi_allocateObject(SB), NOSPLIT|NOFRAME, $0
	PUSHQ  BX
	MOVQ   DI, BX
	MOVQ   Layout_Size(BX), DI
	ADDQ   $(const_ArrayOffset+const_xmm-1), DI
	ANDQ   $~(const_xmm-1), DI
	MOVQ   ·stubs+StubFunctions_Malloc(SB), AX
	CALL   AX
	TESTQ  AX, AX
	JEQ    none
	MOVQ   Layout_Size(BX), CX
	ADDQ   $(const_ArrayOffset+const_xmm-1), CX
	ANDQ   $~(const_xmm-1), CX
	XORPS  X0, X0
	MOVUPS X0, (AX)
	MOVUPS X0, const_xmm(AX)

zero:  // from the end; there are more than two registers full
	MOVUPS X0, -const_xmm(AX)(CX*1)
	MOVUPS X0, -(const_xmm+const_xmm)(AX)(CX*1)
	SUBQ   $(const_xmm+const_xmm), CX
	CMPQ   CX, $(const_xmm+const_xmm)
	JHI    zero
	ADDQ   $const_ArrayOffset, AX
	MOVQ   $const_oneReference, CX
	MOVQ   CX, abiObject_RefCounts(AX)
	MOVL   Layout_Index(BX), CX
	MOVL   CX, abiObject_TypeIndex(AX)
	LEAQ   tvmffi_deleteObject(SB), DX
	MOVQ   DX, abiObject_Deleter(AX)
	JMP    out

none:
	SUBQ $memoryStack__size, SP
	MOVQ ·stubs+StubFunctions_NoMem(SB), AX
	MOVQ AX, memoryStack_message(SP)
	MOVQ ·stubs+StubFunctions_MemoryError(SB), DI
	MOVQ SP, SI
	MOVL $1, DX
	MOVQ ·stubs+StubFunctions_SetParts(SB), AX
	CALL AX
	XORL AX, AX
	ADDQ $memoryStack__size, SP

out:
	POPQ BX
	RET

// int creator(void** result DI), with the number of the entry in AX.
TEXT tvmffi_create(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX
	MOVQ  DI, BX
	MOVQ  ·creatorTable(SB), DI
	MOVQ  (DI)(AX*8), DI
	CALL  tvmffi_allocateObject(SB)
	MOVQ  AX, (BX)
	CMPQ  AX, $1
	SBBL  AX, AX                    // failed for null
	POPQ  BX
	RET

// int newObject(Layout* DI, args SI, n DX, Any* result CX)
TEXT tvmffi_newObject(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX
	PUSHQ R12
	SUBQ  $const_align, SP
	MOVQ  CX, BX
	MOVQ  DI, R12
	CALL  tvmffi_allocateObject(SB)
	TESTQ AX, AX
	JEQ   failed
	MOVL  Layout_Index(R12), CX
	MOVQ  CX, abiAny_TypeIndex(BX)
	MOVQ  AX, abiAny_Bits(BX)
	XORL  AX, AX
	JMP   out

failed:
	MOVL $const_failed, AX

out:
	ADDQ $const_align, SP
	POPQ R12
	POPQ BX
	RET

// int copyObject(Layout* DI, args SI, n DX, Any* result CX)
// BX: the result. R12: the Layout. R13: the source.
TEXT tvmffi_copyObject(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX
	PUSHQ R12
	PUSHQ R13
	MOVQ  CX, BX
	MOVQ  DI, R12
	CMPL  DX, $1
	JNE   bad
	MOVL  Layout_Index(R12), AX
	CMPL  abiAny_TypeIndex(SI), AX
	JNE   bad
	MOVQ  abiAny_Bits(SI), R13
	CALL  tvmffi_allocateObject(SB)
	TESTQ AX, AX
	JEQ   failed
	MOVQ  Layout_Size(R12), CX
	SUBQ  $abiObject__size, CX
	SHRQ  $const_wordShift, CX
	LEAQ  abiObject__size(R13), SI
	LEAQ  abiObject__size(AX), DI
	CLD
	REP
	MOVSQ
	MOVL  Layout_State(R12), CX
	TESTL CX, CX
	JEQ   whole
	MOVQ  $0, (AX)(CX*1)

whole:
	MOVL Layout_Index(R12), CX
	MOVQ CX, abiAny_TypeIndex(BX)
	MOVQ AX, abiAny_Bits(BX)
	MOVQ Layout_Refs(R12), DX
	MOVQ Layout_N(R12), CX

field:
	DECQ  CX
	JLT   done
	MOVQ  (DX)(CX*8), R8
	MOVQ  R8, R9
	SHRQ  $const_refShift, R8
	ADDQ  AX, R8
	TESTL $const_refAny, R9
	JEQ   object
	CMPL  abiAny_TypeIndex(R8), $const_typeObject
	JLT   field
	ADDQ  $abiAny_Bits, R8

object:
	MOVQ  (R8), R8
	TESTQ R8, R8
	JEQ   field
	LOCK
	INCQ  abiObject_RefCounts(R8)
	JMP   field

done:
	XORL AX, AX
	JMP  out

bad:
	LEAQ    tvmffi_noneValue(SB), AX
	TESTL   DX, DX
	CMOVQEQ AX, SI
	MOVL    Layout_Index(R12), DI
	MOVQ    SI, R13
	MOVQ    ·stubs+StubFunctions_TypeInfo(SB), AX
	CALL    AX
	MOVQ    const_typeKey(AX), DX
	MOVQ    R13, SI
	CALL    tvmffi_raiseCast(SB)
	JMP     out

failed:
	MOVL $const_failed, AX

out:
	POPQ R13
	POPQ R12
	POPQ BX
	RET

// void deleteObject(void* self DI, int flags SI)
// BX: the object. R12: its references. R13: how many are left. R14: the flags.
TEXT tvmffi_deleteObject(SB), NOSPLIT|NOFRAME, $0
	CMPL SI, $(const_deleterStrong|const_deleterWeak)
	JNE  slow
	MOVL abiObject_TypeIndex(DI), AX                  // an object without references needs no frame
	MOVQ ·stubs+StubFunctions_Layouts(SB), DX
	MOVQ (DX)(AX*8), AX
	MOVQ Layout_N(AX), CX

scan:
	DECQ  CX
	JLT   empty
	MOVQ  Layout__size(AX)(CX*8), R8                    // where Refs leads
	MOVQ  R8, R9
	SHRQ  $const_refShift, R8
	TESTL $const_refAny, R9
	JEQ   pointer
	CMPL  abiAny_TypeIndex(DI)(R8*1), $const_typeObject
	JLT   scan
	JMP   slow

pointer:
	CMPQ (DI)(R8*1), $0
	JEQ  scan
	JMP  slow

empty:
	SUBQ $const_ArrayOffset, DI
	MOVQ ·stubs+StubFunctions_Free(SB), AX
	JMP  AX

slow:
	TESTL $const_deleterStrong, SI
	JEQ   empty
	JMP   tvmffi_delete(SB)

// void delete(void* self DI, int flags SI): the deleter of an object or Array of ours, whose
// strong references have gone. What its own references end is not deleted inside, however
// many C++ objects lie between: it waits on the list of the first deletion on this thread,
// in the place of the deleter, with a weak reference of that list.
// BX: the object. R12: its references. R13: how many are left. R14: a weak reference.
TEXT tvmffi_delete(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX
	PUSHQ R12
	PUSHQ R13
	PUSHQ R14
	SUBQ  $const_align, SP                             // the list
	MOVQ  DI, BX
	MOVQ  $const_oneWeak, R14
	CMPL  SI, $(const_deleterStrong|const_deleterWeak)
	JNE   shared
	MOVQ  R14, abiObject_RefCounts(BX)
	JMP   counted

shared:
	LOCK
	ADDQ R14, abiObject_RefCounts(BX)

counted:
	MOVQ  ·deletions(SB), DI
	MOVQ  ·getDeletion(SB), AX
	CALL  AX
	TESTQ AX, AX
	JEQ   first
	MOVQ  (AX), CX
	MOVQ  CX, abiObject_Deleter(BX)
	MOVQ  BX, (AX)
	JMP   out

first:
	MOVQ $0, (SP)
	MOVQ ·deletions(SB), DI
	MOVQ SP, SI
	MOVQ ·setDeletion(SB), AX
	CALL AX

object:
	MOVL abiObject_TypeIndex(BX), AX
	CMPL AX, $const_typeArray
	JEQ  array
	LEAQ tvmffi_deleteObject(SB), CX
	MOVQ CX, abiObject_Deleter(BX)
	MOVQ ·stubs+StubFunctions_Layouts(SB), R12
	MOVQ (R12)(AX*8), AX
	MOVQ Layout_N(AX), R13
	MOVQ Layout_Refs(AX), R12

field:
	DECQ  R13
	JLT   dead
	MOVQ  (R12), R8
	ADDQ  $const_word, R12
	MOVQ  R8, R9
	SHRQ  $const_refShift, R8
	ADDQ  BX, R8
	TESTL $const_refAny, R9
	JEQ   pointer
	CMPL  abiAny_TypeIndex(R8), $const_typeObject
	JLT   field
	ADDQ  $abiAny_Bits, R8

pointer:
	MOVQ  (R8), DI
	TESTQ DI, DI
	JEQ   field
	CALL  tvmffi_dropRef(SB)
	JMP   field

array:
	LEAQ tvmffi_releaseArray(SB), CX
	MOVQ CX, abiObject_Deleter(BX)
	MOVQ const_arrayData(BX), R12
	MOVQ const_arraySize(BX), R13

element:
	DECQ R13
	JLT  dead
	MOVQ abiAny_Bits(R12), DI
	MOVL abiAny_TypeIndex(R12), AX
	ADDQ $abiAny__size, R12
	CMPL AX, $const_typeObject
	JLT  element
	CALL tvmffi_dropRef(SB)
	JMP  element

dead:
	MOVQ  R14, AX
	NEGQ  AX
	LOCK
	XADDQ AX, abiObject_RefCounts(BX)
	CMPQ  AX, R14
	JNE   next
	LEAQ  -const_ArrayOffset(BX), DI
	MOVQ  ·free(SB), AX
	CALL  AX

next:
	MOVQ  (SP), BX
	TESTQ BX, BX
	JEQ   end
	MOVQ  abiObject_Deleter(BX), AX
	MOVQ  AX, (SP)
	JMP   object

end:
	MOVQ ·deletions(SB), DI
	XORL SI, SI
	MOVQ ·setDeletion(SB), AX
	CALL AX

out:
	XORL AX, AX
	ADDQ $const_align, SP
	POPQ R14
	POPQ R13
	POPQ R12
	POPQ BX
	RET
