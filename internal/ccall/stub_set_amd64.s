//go:build (linux || darwin) && !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"
#include "stub_amd64.h"

// The setters of types made in Go, in the C calling convention; stub.go says what they
// do.

// int setter(void* field DI, const Any* value SI)
TEXT tvmffi_setInt64(SB), NOSPLIT|NOFRAME, $0
	MOVL abiAny_TypeIndex(SI), AX
	INT_OR_BOOL(bad)
	MOVQ abiAny_Bits(SI), AX
	MOVQ AX, (DI)
	XORL AX, AX
	RET

bad:
	LEAQ tvmffi_textInt(SB), DX
	JMP  tvmffi_raiseCast(SB)

TEXT tvmffi_setFloat64(SB), NOSPLIT|NOFRAME, $0
	MOVL abiAny_TypeIndex(SI), AX
	CMPL AX, $const_typeFloat
	JNE  convert
	MOVQ abiAny_Bits(SI), AX
	MOVQ AX, (DI)
	XORL AX, AX
	RET

convert:
	INT_OR_BOOL(bad)
	XORPS    X0, X0
	CVTSQ2SD abiAny_Bits(SI), X0
	MOVSD    X0, (DI)
	XORL     AX, AX
	RET

bad:
	LEAQ tvmffi_textFloat(SB), DX
	JMP  tvmffi_raiseCast(SB)

TEXT tvmffi_setBool(SB), NOSPLIT|NOFRAME, $0
	MOVL  abiAny_TypeIndex(SI), AX
	INT_OR_BOOL(bad)
	CMPQ  abiAny_Bits(SI), $0
	SETNE (DI)
	XORL  AX, AX
	RET

bad:
	LEAQ tvmffi_textBool(SB), DX
	JMP  tvmffi_raiseCast(SB)

// The setters below have an entry, which leads here with its number in AX, and
// find their Setter in R10.
TEXT tvmffi_setField(SB), NOSPLIT|NOFRAME, $0
	MOVQ ·setterTable(SB), R10
	MOVQ (R10)(AX*8), R10
	MOVQ Setter_code(R10), AX
	JMP  AX

// A number beyond the largest float32 is out of bounds, and an infinity is not.
TEXT tvmffi_setFloat32(SB), NOSPLIT|NOFRAME, $0
	MOVL     abiAny_TypeIndex(SI), AX
	XORPS    X0, X0
	CMPL     AX, $const_typeFloat
	JNE      convert
	CVTSD2SS abiAny_Bits(SI), X0
	MOVL     X0, AX
	ADDL     AX, AX                   // without the sign
	CMPL     AX, $const_infinity32
	JNE      store
	MOVQ     abiAny_Bits(SI), AX
	ADDQ     AX, AX
	MOVQ     $const_infinity64, CX
	CMPQ     AX, CX
	JNE      range

store:
	MOVSS X0, (DI)
	XORL  AX, AX
	RET

convert:
	INT_OR_BOOL(bad)
	CVTSQ2SS abiAny_Bits(SI), X0
	JMP      store

bad:
	LEAQ tvmffi_textFloat(SB), DX
	JMP  tvmffi_raiseCast(SB)

range:
	JMP tvmffi_raiseRange(SB)

TEXT tvmffi_setNarrow(SB), NOSPLIT|NOFRAME, $0
	MOVL abiAny_TypeIndex(SI), AX
	INT_OR_BOOL(bad)
	MOVQ abiAny_Bits(SI), AX
	CMPQ AX, Setter_Min(R10)
	JLT  range
	CMPQ AX, Setter_Max(R10)
	JGT  range
	MOVL Setter_Size(R10), CX
	CMPL CX, $const_sizeInt32
	JEQ  four
	JHI  eight
	CMPL CX, $const_sizeInt8
	JEQ  one
	MOVW AX, (DI)
	XORL AX, AX
	RET

one:
	MOVB AX, (DI)
	XORL AX, AX
	RET

four:
	MOVL AX, (DI)
	XORL AX, AX
	RET

eight:
	MOVQ AX, (DI)
	XORL AX, AX
	RET

bad:
	MOVQ Setter_Expected(R10), DX
	JMP  tvmffi_raiseCast(SB)

range:
	JMP tvmffi_raiseRange(SB)

// A number of 64 bits without a sign, which is a BigInt if it is beyond int64.
// BX: the field. R12: the Setter.
TEXT tvmffi_setUint64(SB), NOSPLIT|NOFRAME, $0
	CMPL  abiAny_TypeIndex(SI), $const_typeBigInt
	JNE   number
	PUSHQ BX
	PUSHQ R12
	SUBQ  $const_align, SP
	MOVQ  DI, BX
	MOVQ  R10, R12
	MOVQ  SI, DI
	MOVQ  ·stubs+StubFunctions_BigIntContent(SB), AX
	CALL  AX
	CMPQ  DX, $const_wideSize
	JNE   range
	CMPQ  const_word(AX), $0
	JNE   range
	MOVQ  (AX), AX
	MOVQ  AX, (BX)
	XORL  AX, AX
	JMP   out

range:
	MOVQ R12, R10
	CALL tvmffi_raiseRange(SB)

out:
	ADDQ $const_align, SP
	POPQ R12
	POPQ BX
	RET

number:
	JMP tvmffi_setNarrow(SB)

// int raiseRange(Setter R10): raises that a number is out of bounds, returns -1.
TEXT tvmffi_raiseRange(SB), NOSPLIT|NOFRAME, $0
	SUBQ $rangeStack__size, SP
	MOVQ Setter_Range(R10), AX
	MOVQ AX, rangeStack_message(SP)
	MOVQ ·stubs+StubFunctions_TypeError(SB), DI
	MOVQ SP, SI
	MOVL $1, DX
	MOVQ ·stubs+StubFunctions_SetParts(SB), AX
	CALL AX
	MOVL $const_failed, AX
	ADDQ $rangeStack__size, SP
	RET

// A data type, a device or a pointer, where None is null.
TEXT tvmffi_setWord(SB), NOSPLIT|NOFRAME, $0
	MOVL abiAny_TypeIndex(SI), AX
	MOVQ Setter_Kinds(R10), CX
	CMPL AX, $const_typeObject
	JHS  bad
	BTQ  AX, CX
	JCC  bad
	MOVQ abiAny_Bits(SI), DX
	CMPL Setter_Size(R10), $const_sizeInt32
	JEQ  four
	MOVQ DX, (DI)
	XORL AX, AX
	RET

four:
	MOVL DX, (DI)
	XORL AX, AX
	RET

bad:
	MOVQ Setter_Expected(R10), DX
	JMP  tvmffi_raiseCast(SB)

// An Any: the library turns a borrowed value into an owned one. What the field held is
// released last, since its deleter may do anything.
// BX: the field. R12: the value. R13: the Setter. SP: the owned value, an Any.
TEXT tvmffi_setAny(SB), NOSPLIT|NOFRAME, $0
	MOVL abiAny_TypeIndex(SI), CX
	CMPL CX, $const_typeObject
	JLT  slow
	MOVL Setter_Index(R10), AX
	CMPL CX, AX
	JEQ  fits                     // the very type, or any: most common, and needs no frame
	CMPL AX, $const_typeObject
	JNE  slow

fits:
	MOVQ abiAny_Bits(SI), DX
	LOCK
	INCQ abiObject_RefCounts(DX)
	MOVL abiAny_TypeIndex(DI), R9
	MOVQ abiAny_Bits(DI), R8
	MOVQ CX, abiAny_TypeIndex(DI)
	MOVQ DX, abiAny_Bits(DI)
	CMPL R9, $const_typeObject
	JLT  stored
	MOVQ abiObject_RefCounts(R8), AX

retry:
	CMPL     AX, $1
	JLS      last
	LEAQ     -1(AX), CX
	LOCK
	CMPXCHGQ CX, abiObject_RefCounts(R8)
	JNE      retry

stored:
	XORL AX, AX
	RET

last:
	SUBQ $const_align, SP
	MOVQ R8, DI
	MOVQ ·decRef(SB), AX
	CALL AX
	XORL AX, AX
	ADDQ $const_align, SP
	RET

slow:
	PUSHQ BX
	PUSHQ R12
	PUSHQ R13
	SUBQ  $abiAny__size, SP
	MOVQ  DI, BX
	MOVQ  SI, R12
	MOVQ  R10, R13
	MOVQ  abiAny_TypeIndex(SI), CX
	MOVQ  abiAny_Bits(SI), DX
	MOVQ  CX, abiAny_TypeIndex(SP)
	MOVQ  DX, abiAny_Bits(SP)
	CMPL  CX, $const_typeObject
	JHS   share
	LEAL  -const_typeRawStr(CX), AX
	CMPL  AX, $(const_typeRValueRef-const_typeRawStr)
	JHI   owned
	XORL  AX, AX                                      // raw strings, raw bytes, rvalues
	MOVQ  AX, abiAny_TypeIndex(SP)
	MOVQ  AX, abiAny_Bits(SP)
	MOVQ  SI, DI
	MOVQ  SP, SI
	MOVQ  ·stubs+StubFunctions_ToOwned(SB), AX
	CALL  AX
	TESTL AX, AX
	JNE   out
	JMP   owned

share:
	LOCK
	INCQ abiObject_RefCounts(DX)

owned:
	MOVL abiAny_TypeIndex(SP), CX
	CMPL CX, $const_typeObject
	JHS  object
	MOVQ Setter_Kinds(R13), DX
	BTQ  CX, DX
	JCS  store
	CMPL CX, $const_typeInt
	JEQ  int
	CMPL CX, $const_typeBool
	JNE  bad
	BTQ  $const_typeInt, DX
	JCC  number
	MOVQ $const_typeInt, abiAny_TypeIndex(SP) // a bool for an int
	JMP  store

int:
	BTQ   $const_typeFloat, DX
	JCS   number
	BTQ   $const_typeBool, DX
	JCC   bad
	XORL  AX, AX                                // an int for a bool
	CMPQ  abiAny_Bits(SP), $0
	SETNE AX
	MOVQ  $const_typeBool, abiAny_TypeIndex(SP)
	MOVQ  AX, abiAny_Bits(SP)
	JMP   store

number:
	BTQ      $const_typeFloat, DX
	JCC      bad
	XORPS    X0, X0                                 // an int or a bool for a float
	CVTSQ2SD abiAny_Bits(SP), X0
	MOVQ     $const_typeFloat, abiAny_TypeIndex(SP)
	MOVSD    X0, abiAny_Bits(SP)
	JMP      store

object:
	MOVL  Setter_Index(R13), AX
	CMPL  AX, $const_typeObject
	JEQ   store
	CMPL  AX, CX
	JEQ   store
	TESTL AX, AX
	JEQ   drop
	MOVL  CX, DI
	MOVQ  ·stubs+StubFunctions_TypeInfo(SB), AX
	CALL  AX
	MOVL  Setter_Depth(R13), CX
	CMPL  abiTypeInfo_Depth(AX), CX
	JLE   drop
	MOVQ  abiTypeInfo_Ancestors(AX), AX
	MOVQ  (AX)(CX*8), AX
	CMPQ  AX, Setter_Info(R13)
	JNE   drop

store:
	MOVL abiAny_TypeIndex(BX), CX
	MOVQ abiAny_Bits(BX), DI
	MOVQ abiAny_TypeIndex(SP), AX
	MOVQ abiAny_Bits(SP), DX
	MOVQ AX, abiAny_TypeIndex(BX)
	MOVQ DX, abiAny_Bits(BX)
	CMPL CX, $const_typeObject
	JLT  good
	CALL tvmffi_dropRef(SB)

good:
	XORL AX, AX
	JMP  out

drop:
	MOVQ abiAny_Bits(SP), DI
	CALL tvmffi_dropRef(SB)

bad:
	MOVQ R12, SI
	MOVQ Setter_Expected(R13), DX
	CALL tvmffi_raiseCast(SB)

out:
	ADDQ $abiAny__size, SP
	POPQ R13
	POPQ R12
	POPQ BX
	RET

// A pointer to an object; null for None, if Kinds has None.
// BX: the field. R12: the Setter. R13: the value.
TEXT tvmffi_setObject(SB), NOSPLIT|NOFRAME, $0
	MOVL abiAny_TypeIndex(SI), CX
	MOVL Setter_Index(R10), AX
	CMPL CX, AX
	JEQ  fits                     // the very type, or any: most common, and needs no frame
	CMPL AX, $const_typeObject
	JNE  slow
	CMPL CX, AX
	JLT  slow

fits:
	MOVQ  abiAny_Bits(SI), DX
	LOCK
	INCQ  abiObject_RefCounts(DX)
	MOVQ  (DI), R8
	MOVQ  DX, (DI)
	TESTQ R8, R8
	JEQ   stored
	MOVQ  abiObject_RefCounts(R8), AX

retry:
	CMPL     AX, $1
	JLS      last
	LEAQ     -1(AX), CX
	LOCK
	CMPXCHGQ CX, abiObject_RefCounts(R8)
	JNE      retry

stored:
	XORL AX, AX
	RET

last:
	SUBQ $const_align, SP
	MOVQ R8, DI
	MOVQ ·decRef(SB), AX
	CALL AX
	XORL AX, AX
	ADDQ $const_align, SP
	RET

slow:
	PUSHQ BX
	PUSHQ R12
	PUSHQ R13
	MOVQ  DI, BX
	MOVQ  R10, R12
	MOVQ  SI, R13
	MOVL  abiAny_TypeIndex(SI), DI
	MOVQ  abiAny_Bits(SI), DX
	CMPL  DI, $const_typeObject
	JLT   other

check:
	MOVL Setter_Index(R12), AX
	CMPL AX, DI
	JEQ  good
	CMPL AX, $const_typeObject
	JEQ  good
	MOVQ ·stubs+StubFunctions_TypeInfo(SB), AX
	CALL AX
	MOVL Setter_Depth(R12), CX
	CMPL abiTypeInfo_Depth(AX), CX
	JLE  bad
	MOVQ abiTypeInfo_Ancestors(AX), AX
	MOVQ (AX)(CX*8), AX
	CMPQ AX, Setter_Info(R12)
	JNE  bad
	MOVQ abiAny_Bits(R13), DX
	CMPL abiAny_TypeIndex(R13), $const_typeRValueRef
	JNE  good
	MOVQ (DX), DX

good:
	LOCK
	INCQ abiObject_RefCounts(DX)

swap:
	MOVQ  (BX), DI
	MOVQ  DX, (BX)
	TESTQ DI, DI
	JEQ   done
	CALL  tvmffi_dropRef(SB)

done:
	XORL AX, AX
	JMP  out

other:
	CMPL  DI, $const_typeRValueRef // a reference to a pointer that may be moved: not moved here
	JEQ   indirect
	TESTL DI, DI
	JNE   bad

none:
	XORL  DX, DX
	MOVQ  Setter_Kinds(R12), AX
	TESTL $(1<<const_typeNone), AX
	JNE   swap

bad:
	MOVQ R13, SI
	MOVQ Setter_Expected(R12), DX
	CALL tvmffi_raiseCast(SB)

out:
	POPQ R13
	POPQ R12
	POPQ BX
	RET

indirect:
	MOVQ  (DX), DX
	TESTQ DX, DX
	JEQ   none
	MOVL  abiObject_TypeIndex(DX), DI
	JMP   check

// Drops a reference to the object DI. The last one is for the library, because
// then deleters run.
TEXT tvmffi_dropRef(SB), NOSPLIT|NOFRAME, $0
	MOVQ abiObject_RefCounts(DI), AX

retry:
	CMPL     AX, $1
	JLS      last
	LEAQ     -1(AX), CX
	LOCK
	CMPXCHGQ CX, abiObject_RefCounts(DI)
	JNE      retry
	RET

last:
	MOVQ ·decRef(SB), AX
	JMP  AX

// int raiseCast(value SI, expected DX): raises what C++ raises, returns -1.
TEXT tvmffi_raiseCast(SB), NOSPLIT|NOFRAME, $0
	SUBQ $castStack__size, SP
	MOVQ ·stubs+StubFunctions_From(SB), AX
	MOVQ AX, castStack_from(SP)
	MOVQ ·stubs+StubFunctions_To(SB), AX
	MOVQ AX, castStack_to(SP)
	MOVQ DX, castStack_expected(SP)
	MOVQ ·stubs+StubFunctions_End(SB), AX
	MOVQ AX, castStack_end(SP)
	MOVL abiAny_TypeIndex(SI), DI
	MOVQ ·stubs+StubFunctions_TypeInfo(SB), AX
	CALL AX
	MOVQ const_typeKey(AX), AX
	MOVQ AX, castStack_key(SP)
	MOVQ ·stubs+StubFunctions_TypeError(SB), DI
	MOVQ SP, SI
	MOVL $const_castParts, DX
	MOVQ ·stubs+StubFunctions_SetParts(SB), AX
	CALL AX
	MOVL $const_failed, AX
	ADDQ $castStack__size, SP
	RET
