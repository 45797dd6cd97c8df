//go:build (linux || darwin) && !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"

// The functions of object types made in Go, in the C calling convention; stub.go
// says what they do. Indices of types: 1 int, 2 bool, 3 float, from 64 objects.
// In memory: an object has its count at 0, its type index at 8, its deleter at 16;
// an entry of the type table its depth at 4, its key at 8, its ancestors at 24.

// int setter(void* field DI, const Any* value SI)
TEXT tvmffi_setInt64(SB), NOSPLIT|NOFRAME, $0
	MOVL  (SI), AX
	DECL  AX
	CMPL  AX, $1
	JHI   bad
	MOVQ  8(SI), AX
	MOVQ  AX, (DI)
	XORL  AX, AX
	RET
bad:
	LEAQ  tvmffi_textInt(SB), DX
	JMP   tvmffi_raiseCast(SB)

TEXT tvmffi_setFloat64(SB), NOSPLIT|NOFRAME, $0
	MOVL  (SI), AX
	CMPL  AX, $3
	JNE   convert
	MOVQ  8(SI), AX
	MOVQ  AX, (DI)
	XORL  AX, AX
	RET
convert:
	DECL  AX
	CMPL  AX, $1
	JHI   bad
	XORPS X0, X0
	CVTSQ2SD 8(SI), X0
	MOVSD X0, (DI)
	XORL  AX, AX
	RET
bad:
	LEAQ  tvmffi_textFloat(SB), DX
	JMP   tvmffi_raiseCast(SB)

TEXT tvmffi_setFloat32(SB), NOSPLIT|NOFRAME, $0
	MOVL  (SI), AX
	XORPS X0, X0
	CMPL  AX, $3
	JNE   convert
	CVTSD2SS 8(SI), X0
	MOVSS X0, (DI)
	XORL  AX, AX
	RET
convert:
	DECL  AX
	CMPL  AX, $1
	JHI   bad
	CVTSQ2SS 8(SI), X0
	MOVSS X0, (DI)
	XORL  AX, AX
	RET
bad:
	LEAQ  tvmffi_textFloat(SB), DX
	JMP   tvmffi_raiseCast(SB)

TEXT tvmffi_setBool(SB), NOSPLIT|NOFRAME, $0
	MOVL  (SI), AX
	DECL  AX
	CMPL  AX, $1
	JHI   bad
	CMPQ  8(SI), $0
	SETNE (DI)
	XORL  AX, AX
	RET
bad:
	LEAQ  tvmffi_textBool(SB), DX
	JMP   tvmffi_raiseCast(SB)

// The setters below have an entry, which leads here with its number in AX, and
// find their Setter in R10.
TEXT tvmffi_setField(SB), NOSPLIT|NOFRAME, $0
	MOVQ  ·setterTable(SB), R10
	MOVQ  (R10)(AX*8), R10
	MOVQ  Setter_code(R10), AX
	JMP   AX

TEXT tvmffi_setNarrow(SB), NOSPLIT|NOFRAME, $0
	MOVL  (SI), AX
	DECL  AX
	CMPL  AX, $1
	JHI   bad
	MOVQ  8(SI), AX
	CMPQ  AX, Setter_Min(R10)
	JLT   range
	CMPQ  AX, Setter_Max(R10)
	JGT   range
	MOVL  Setter_Size(R10), CX
	CMPL  CX, $4
	JEQ   four
	JHI   eight
	CMPL  CX, $1
	JEQ   one
	MOVW  AX, (DI)
	XORL  AX, AX
	RET
one:
	MOVB  AX, (DI)
	XORL  AX, AX
	RET
four:
	MOVL  AX, (DI)
	XORL  AX, AX
	RET
eight:
	MOVQ  AX, (DI)
	XORL  AX, AX
	RET
bad:
	MOVQ  Setter_Expected(R10), DX
	JMP   tvmffi_raiseCast(SB)
range:
	SUBQ  $24, SP
	MOVQ  Setter_Range(R10), AX
	MOVQ  AX, 0(SP)
	MOVQ  ·stubs+StubFunctions_ValueError(SB), DI
	MOVQ  SP, SI
	MOVL  $1, DX
	MOVQ  ·stubs+StubFunctions_SetParts(SB), AX
	CALL  AX
	MOVL  $-1, AX
	ADDQ  $24, SP
	RET

// A data type, a device or a pointer, where None is null.
TEXT tvmffi_setWord(SB), NOSPLIT|NOFRAME, $0
	MOVL  (SI), AX
	MOVQ  Setter_Kinds(R10), CX
	CMPL  AX, $64
	JHS   bad
	BTQ   AX, CX
	JCC   bad
	MOVQ  8(SI), DX
	CMPL  Setter_Size(R10), $4
	JEQ   four
	MOVQ  DX, (DI)
	XORL  AX, AX
	RET
four:
	MOVL  DX, (DI)
	XORL  AX, AX
	RET
bad:
	MOVQ  Setter_Expected(R10), DX
	JMP   tvmffi_raiseCast(SB)

// A value of 16 bytes: the library makes owned forms of borrowed ones. What the
// field held is released last, since its deleter may do anything.
// BX: the field. R12: the value. R13: the Setter. 0(SP): the owned value.
TEXT tvmffi_setAny(SB), NOSPLIT|NOFRAME, $0
	MOVL  (SI), CX
	CMPL  CX, $64
	JLT   slow
	MOVL  Setter_Index(R10), AX
	CMPL  CX, AX
	JEQ   fits                   // the very type, or any: most common, and needs no frame
	CMPL  AX, $64
	JNE   slow
fits:
	MOVQ  8(SI), DX
	LOCK
	INCQ  (DX)
	MOVL  (DI), R9
	MOVQ  8(DI), R8
	MOVQ  CX, 0(DI)
	MOVQ  DX, 8(DI)
	CMPL  R9, $64
	JLT   stored
	MOVQ  (R8), AX
retry:
	CMPL  AX, $1
	JLS   last
	LEAQ  -1(AX), CX
	LOCK
	CMPXCHGQ CX, (R8)
	JNE   retry
stored:
	XORL  AX, AX
	RET
last:
	SUBQ  $8, SP
	MOVQ  R8, DI
	MOVQ  ·stubs+StubFunctions_DecRef(SB), AX
	CALL  AX
	XORL  AX, AX
	ADDQ  $8, SP
	RET
slow:
	PUSHQ BX
	PUSHQ R12
	PUSHQ R13
	SUBQ  $16, SP
	MOVQ  DI, BX
	MOVQ  SI, R12
	MOVQ  R10, R13
	MOVQ  0(SI), CX
	MOVQ  8(SI), DX
	MOVQ  CX, 0(SP)
	MOVQ  DX, 8(SP)
	CMPL  CX, $64
	JHS   share
	LEAL  -8(CX), AX
	CMPL  AX, $2
	JHI   owned
	XORL  AX, AX                 // 8 to 10: raw strings, raw bytes, rvalues
	MOVQ  AX, 0(SP)
	MOVQ  AX, 8(SP)
	MOVQ  SI, DI
	MOVQ  SP, SI
	MOVQ  ·stubs+StubFunctions_ToOwned(SB), AX
	CALL  AX
	TESTL AX, AX
	JNE   out
	JMP   owned
share:
	LOCK
	INCQ  (DX)
owned:
	MOVL  0(SP), CX
	CMPL  CX, $64
	JHS   object
	MOVQ  Setter_Kinds(R13), DX
	BTQ   CX, DX
	JCS   store
	CMPL  CX, $1
	JEQ   int
	CMPL  CX, $2
	JNE   bad
	BTQ   $1, DX
	JCC   number
	MOVQ  $1, 0(SP)              // a bool for an int
	JMP   store
int:
	BTQ   $3, DX
	JCS   number
	BTQ   $2, DX
	JCC   bad
	XORL  AX, AX                 // an int for a bool
	CMPQ  8(SP), $0
	SETNE AX
	MOVQ  $2, 0(SP)
	MOVQ  AX, 8(SP)
	JMP   store
number:
	BTQ   $3, DX
	JCC   bad
	XORPS X0, X0                 // an int or a bool for a float
	CVTSQ2SD 8(SP), X0
	MOVQ  $3, 0(SP)
	MOVSD X0, 8(SP)
	JMP   store
object:
	MOVL  Setter_Index(R13), AX
	CMPL  AX, $64
	JEQ   store
	CMPL  AX, CX
	JEQ   store
	TESTL AX, AX
	JEQ   drop
	MOVL  CX, DI
	MOVQ  ·stubs+StubFunctions_TypeInfo(SB), AX
	CALL  AX
	MOVL  Setter_Depth(R13), CX
	CMPL  4(AX), CX
	JLE   drop
	MOVQ  24(AX), AX
	MOVQ  (AX)(CX*8), AX
	CMPQ  AX, Setter_Info(R13)
	JNE   drop
store:
	MOVL  0(BX), CX
	MOVQ  8(BX), DI
	MOVQ  0(SP), AX
	MOVQ  8(SP), DX
	MOVQ  AX, 0(BX)
	MOVQ  DX, 8(BX)
	CMPL  CX, $64
	JLT   good
	CALL  tvmffi_dropRef(SB)
good:
	XORL  AX, AX
	JMP   out
drop:
	MOVQ  8(SP), DI
	CALL  tvmffi_dropRef(SB)
bad:
	MOVQ  R12, SI
	MOVQ  Setter_Expected(R13), DX
	CALL  tvmffi_raiseCast(SB)
out:
	ADDQ  $16, SP
	POPQ  R13
	POPQ  R12
	POPQ  BX
	RET

// A pointer to an object; null for None if the field may be None, bit 0 of Kinds.
// BX: the field. R12: the Setter. R13: the value.
TEXT tvmffi_setObject(SB), NOSPLIT|NOFRAME, $0
	MOVL  (SI), CX
	MOVL  Setter_Index(R10), AX
	CMPL  CX, AX
	JEQ   fits                   // the very type, or any: most common, and needs no frame
	CMPL  AX, $64
	JNE   slow
	CMPL  CX, AX
	JLT   slow
fits:
	MOVQ  8(SI), DX
	LOCK
	INCQ  (DX)
	MOVQ  (DI), R8
	MOVQ  DX, (DI)
	TESTQ R8, R8
	JEQ   stored
	MOVQ  (R8), AX
retry:
	CMPL  AX, $1
	JLS   last
	LEAQ  -1(AX), CX
	LOCK
	CMPXCHGQ CX, (R8)
	JNE   retry
stored:
	XORL  AX, AX
	RET
last:
	SUBQ  $8, SP
	MOVQ  R8, DI
	MOVQ  ·stubs+StubFunctions_DecRef(SB), AX
	CALL  AX
	XORL  AX, AX
	ADDQ  $8, SP
	RET
slow:
	PUSHQ BX
	PUSHQ R12
	PUSHQ R13
	MOVQ  DI, BX
	MOVQ  R10, R12
	MOVQ  SI, R13
	MOVL  (SI), DI
	MOVQ  8(SI), DX
	CMPL  DI, $64
	JLT   other
check:
	MOVL  Setter_Index(R12), AX
	CMPL  AX, DI
	JEQ   good
	CMPL  AX, $64
	JEQ   good
	MOVQ  ·stubs+StubFunctions_TypeInfo(SB), AX
	CALL  AX
	MOVL  Setter_Depth(R12), CX
	CMPL  4(AX), CX
	JLE   bad
	MOVQ  24(AX), AX
	MOVQ  (AX)(CX*8), AX
	CMPQ  AX, Setter_Info(R12)
	JNE   bad
	MOVQ  8(R13), DX
	CMPL  (R13), $10
	JNE   good
	MOVQ  (DX), DX
good:
	LOCK
	INCQ  (DX)
swap:
	MOVQ  (BX), DI
	MOVQ  DX, (BX)
	TESTQ DI, DI
	JEQ   done
	CALL  tvmffi_dropRef(SB)
done:
	XORL  AX, AX
	JMP   out
other:
	CMPL  DI, $10                // a reference to a pointer that may be moved: not moved here
	JEQ   indirect
	TESTL DI, DI
	JNE   bad
none:
	XORL  DX, DX
	MOVQ  Setter_Kinds(R12), AX
	TESTL $1, AX
	JNE   swap
bad:
	MOVQ  R13, SI
	MOVQ  Setter_Expected(R12), DX
	CALL  tvmffi_raiseCast(SB)
out:
	POPQ  R13
	POPQ  R12
	POPQ  BX
	RET
indirect:
	MOVQ  (DX), DX
	TESTQ DX, DX
	JEQ   none
	MOVL  8(DX), DI
	JMP   check

// Drops a reference to the object DI. The last one is for the library, because
// then deleters run.
TEXT tvmffi_dropRef(SB), NOSPLIT|NOFRAME, $0
	MOVQ  (DI), AX
retry:
	CMPL  AX, $1
	JLS   last
	LEAQ  -1(AX), CX
	LOCK
	CMPXCHGQ CX, (DI)
	JNE   retry
	RET
last:
	MOVQ  ·stubs+StubFunctions_DecRef(SB), AX
	JMP   AX

// int raiseCast(value SI, expected DX): raises what C++ raises, returns -1.
TEXT tvmffi_raiseCast(SB), NOSPLIT|NOFRAME, $0
	SUBQ  $56, SP
	MOVQ  ·stubs+StubFunctions_From(SB), AX
	MOVQ  AX, 0(SP)
	MOVQ  ·stubs+StubFunctions_To(SB), AX
	MOVQ  AX, 16(SP)
	MOVQ  DX, 24(SP)
	MOVQ  ·stubs+StubFunctions_End(SB), AX
	MOVQ  AX, 32(SP)
	MOVL  (SI), DI
	MOVQ  ·stubs+StubFunctions_TypeInfo(SB), AX
	CALL  AX
	MOVQ  8(AX), AX
	MOVQ  AX, 8(SP)
	MOVQ  ·stubs+StubFunctions_TypeError(SB), DI
	MOVQ  SP, SI
	MOVL  $5, DX
	MOVQ  ·stubs+StubFunctions_SetParts(SB), AX
	CALL  AX
	MOVL  $-1, AX
	ADDQ  $56, SP
	RET

// AX = an object of the Layout DI, zeroed, or 0 and an error raised. malloc and
// zeroing cost less than calloc, which has no cache per thread in older glibc.
TEXT tvmffi_allocateObject(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX
	MOVQ  DI, BX
	MOVQ  Layout_Size(BX), DI
	ADDQ  $(const_ArrayOffset+15), DI
	ANDQ  $~15, DI
	MOVQ  ·stubs+StubFunctions_Malloc(SB), AX
	CALL  AX
	TESTQ AX, AX
	JEQ   none
	MOVQ  Layout_Size(BX), CX
	ADDQ  $(const_ArrayOffset+15), CX
	ANDQ  $~15, CX
	XORPS X0, X0
	MOVUPS X0, 0(AX)
	MOVUPS X0, 16(AX)
zero:                            // from the end; there are more than 32 bytes
	MOVUPS X0, -16(AX)(CX*1)
	MOVUPS X0, -32(AX)(CX*1)
	SUBQ  $32, CX
	CMPQ  CX, $32
	JHI   zero
	ADDQ  $const_ArrayOffset, AX
	MOVQ  $0x100000001, CX
	MOVQ  CX, 0(AX)
	MOVL  Layout_Index(BX), CX
	MOVL  CX, 8(AX)
	LEAQ  tvmffi_deleteObject(SB), DX
	MOVQ  DX, 16(AX)
	JMP   out
none:
	SUBQ  $16, SP
	MOVQ  ·stubs+StubFunctions_NoMem(SB), AX
	MOVQ  AX, 0(SP)
	MOVQ  ·stubs+StubFunctions_MemoryError(SB), DI
	MOVQ  SP, SI
	MOVL  $1, DX
	MOVQ  ·stubs+StubFunctions_SetParts(SB), AX
	CALL  AX
	XORL  AX, AX
	ADDQ  $16, SP
out:
	POPQ  BX
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
	SBBL  AX, AX                 // -1 for null
	POPQ  BX
	RET

// int newObject(Layout* DI, args SI, n DX, Any* result CX)
TEXT tvmffi_newObject(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX
	PUSHQ R12
	SUBQ  $8, SP
	MOVQ  CX, BX
	MOVQ  DI, R12
	CALL  tvmffi_allocateObject(SB)
	TESTQ AX, AX
	JEQ   failed
	MOVL  Layout_Index(R12), CX
	MOVQ  CX, 0(BX)
	MOVQ  AX, 8(BX)
	XORL  AX, AX
	JMP   out
failed:
	MOVL  $-1, AX
out:
	ADDQ  $8, SP
	POPQ  R12
	POPQ  BX
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
	CMPL  (SI), AX
	JNE   bad
	MOVQ  8(SI), R13
	CALL  tvmffi_allocateObject(SB)
	TESTQ AX, AX
	JEQ   failed
	MOVQ  Layout_Size(R12), CX
	SUBQ  $24, CX
	SHRQ  $3, CX
	LEAQ  24(R13), SI
	LEAQ  24(AX), DI
	CLD
	REP; MOVSQ
	MOVL  Layout_State(R12), CX
	TESTL CX, CX
	JEQ   whole
	MOVQ  $0, (AX)(CX*1)
whole:
	MOVL  Layout_Index(R12), CX
	MOVQ  CX, 0(BX)
	MOVQ  AX, 8(BX)
	MOVQ  Layout_Refs(R12), DX
	MOVQ  Layout_N(R12), CX
field:
	DECQ  CX
	JLT   done
	MOVQ  (DX)(CX*8), R8
	MOVQ  R8, R9
	SHRQ  $1, R8
	ADDQ  AX, R8
	TESTL $1, R9
	JEQ   object
	CMPL  (R8), $64
	JLT   field
	ADDQ  $8, R8
object:
	MOVQ  (R8), R8
	TESTQ R8, R8
	JEQ   field
	LOCK
	INCQ  (R8)
	JMP   field
done:
	XORL  AX, AX
	JMP   out
bad:
	LEAQ  tvmffi_noneValue(SB), AX
	TESTL DX, DX
	CMOVQEQ AX, SI
	MOVL  Layout_Index(R12), DI
	MOVQ  SI, R13
	MOVQ  ·stubs+StubFunctions_TypeInfo(SB), AX
	CALL  AX
	MOVQ  8(AX), DX
	MOVQ  R13, SI
	CALL  tvmffi_raiseCast(SB)
	JMP   out
failed:
	MOVL  $-1, AX
out:
	POPQ  R13
	POPQ  R12
	POPQ  BX
	RET

// void deleteObject(void* self DI, int flags SI)
// BX: the object. R12: its references. R13: how many are left. R14: the flags.
TEXT tvmffi_deleteObject(SB), NOSPLIT|NOFRAME, $0
	CMPL  SI, $3
	JNE   slow
	MOVL  8(DI), AX              // an object without references needs no frame
	MOVQ  ·stubs+StubFunctions_Layouts(SB), DX
	MOVQ  (DX)(AX*8), AX
	MOVQ  Layout_N(AX), CX
scan:
	DECQ  CX
	JLT   empty
	MOVQ  Layout__size(AX)(CX*8), R8 // where Refs leads
	MOVQ  R8, R9
	SHRQ  $1, R8
	TESTL $1, R9
	JEQ   pointer
	CMPL  (DI)(R8*1), $64
	JLT   scan
	JMP   slow
pointer:
	CMPQ  (DI)(R8*1), $0
	JEQ   scan
	JMP   slow
empty:
	SUBQ  $const_ArrayOffset, DI
	MOVQ  ·stubs+StubFunctions_Free(SB), AX
	JMP   AX
slow:
	PUSHQ BX
	PUSHQ R12
	PUSHQ R13
	PUSHQ R14
	SUBQ  $8, SP
	MOVQ  DI, BX
	MOVL  SI, R14
	TESTL $1, R14
	JEQ   weak
	MOVL  8(BX), AX
	MOVQ  ·stubs+StubFunctions_Layouts(SB), R12
	MOVQ  (R12)(AX*8), AX
	MOVQ  Layout_N(AX), R13
	MOVQ  Layout_Refs(AX), R12
field:
	DECQ  R13
	JLT   weak
	MOVQ  (R12), R8
	ADDQ  $8, R12
	MOVQ  R8, R9
	SHRQ  $1, R8
	ADDQ  BX, R8
	TESTL $1, R9
	JEQ   object
	CMPL  (R8), $64
	JLT   field
	ADDQ  $8, R8
object:
	MOVQ  (R8), DI
	TESTQ DI, DI
	JEQ   field
	CALL  tvmffi_dropRef(SB)
	JMP   field
weak:
	TESTL $2, R14
	JEQ   done
	LEAQ  -const_ArrayOffset(BX), DI
	MOVQ  ·stubs+StubFunctions_Free(SB), AX
	CALL  AX
done:
	ADDQ  $8, SP
	POPQ  R14
	POPQ  R13
	POPQ  R12
	POPQ  BX
	RET
