//go:build (linux || darwin) && !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"

// The getters, the table of codes, and the entries of setters and creators.

// int getter(void* field DI, Any* result SI)
#define GETTER(name, index, load) \
TEXT name(SB), NOSPLIT|NOFRAME, $0 \
	load (DI), AX                     \
	MOVQ $index, abiAny_TypeIndex(SI) \
	MOVQ AX, abiAny_Bits(SI)          \
	XORL AX, AX                       \
	RET

GETTER(tvmffi_getInt64, const_typeInt, MOVQ)
GETTER(tvmffi_getInt32, const_typeInt, MOVLQSX)
GETTER(tvmffi_getInt16, const_typeInt, MOVWQSX)
GETTER(tvmffi_getInt8, const_typeInt, MOVBQSX)
GETTER(tvmffi_getUint32, const_typeInt, MOVL)
GETTER(tvmffi_getUint16, const_typeInt, MOVWQZX)
GETTER(tvmffi_getUint8, const_typeInt, MOVBQZX)
GETTER(tvmffi_getFloat64, const_typeFloat, MOVQ)
GETTER(tvmffi_getBool, const_typeBool, MOVBQZX)
GETTER(tvmffi_getDataType, const_typeDataType, MOVL)
GETTER(tvmffi_getDevice, const_typeDevice, MOVQ)

TEXT tvmffi_getFloat32(SB), NOSPLIT|NOFRAME, $0
	XORPS    X0, X0
	CVTSS2SD (DI), X0
	MOVQ     $const_typeFloat, abiAny_TypeIndex(SI)
	MOVSD    X0, abiAny_Bits(SI)
	XORL     AX, AX
	RET

// A number beyond int64 is a BigInt.
TEXT tvmffi_getUint64(SB), NOSPLIT|NOFRAME, $0
	MOVQ  (DI), AX
	TESTQ AX, AX
	JLT   wide

int:
	MOVQ $const_typeInt, abiAny_TypeIndex(SI)
	MOVQ AX, abiAny_Bits(SI)
	XORL AX, AX
	RET

wide:
	MOVQ  ·stubs+StubFunctions_BigInt(SB), CX
	TESTQ CX, CX
	JEQ   int
	SUBQ  $wideStack__size, SP
	MOVQ  AX, wideStack_words(SP)
	MOVQ  $0, (wideStack_words+const_word)(SP)
	LEAQ  wideStack_words(SP), AX
	MOVQ  AX, (wideStack_bytes+abiByteArray_Data)(SP)
	MOVQ  $const_wideSize, (wideStack_bytes+abiByteArray_Size)(SP)
	LEAQ  wideStack_bytes(SP), DI
	CALL  CX
	ADDQ  $wideStack__size, SP
	RET

TEXT tvmffi_getPointer(SB), NOSPLIT|NOFRAME, $0
	MOVQ    (DI), DX
	XORL    AX, AX
	MOVL    $const_typeOpaquePtr, CX
	TESTQ   DX, DX
	CMOVQEQ AX, CX
	MOVQ    CX, abiAny_TypeIndex(SI)
	MOVQ    DX, abiAny_Bits(SI)
	RET

TEXT tvmffi_getAny(SB), NOSPLIT|NOFRAME, $0
	MOVQ abiAny_TypeIndex(DI), AX
	MOVQ abiAny_Bits(DI), DX
	MOVQ AX, abiAny_TypeIndex(SI)
	MOVQ DX, abiAny_Bits(SI)
	CMPL AX, $const_typeObject
	JLT  done
	LOCK
	INCQ abiObject_RefCounts(DX)

done:
	XORL AX, AX
	RET

TEXT tvmffi_getObject(SB), NOSPLIT|NOFRAME, $0
	MOVQ  (DI), DX
	XORL  AX, AX
	TESTQ DX, DX
	JEQ   none
	LOCK
	INCQ  abiObject_RefCounts(DX)
	MOVL  abiObject_TypeIndex(DX), AX

none:
	MOVQ AX, abiAny_TypeIndex(SI)
	MOVQ DX, abiAny_Bits(SI)
	XORL AX, AX
	RET

// STRING is a C string of up to seven bytes.
#define STRING(name, text) \
DATA name+0(SB)/const_word, $text \
GLOBL name(SB), RODATA|NOPTR, $const_word

STRING(tvmffi_textInt, "int\x00\x00\x00\x00\x00")
STRING(tvmffi_textFloat, "float\x00\x00\x00")
STRING(tvmffi_textBool, "bool\x00\x00\x00\x00")

DATA tvmffi_noneValue+abiAny_TypeIndex(SB)/const_word, $const_typeNone
DATA tvmffi_noneValue+abiAny_Bits(SB)/const_word, $0
GLOBL tvmffi_noneValue(SB), RODATA|NOPTR, $abiAny__size

// CODE sets an entry of the table of codes.
#define CODE(code, function) \
DATA tvmffi_stubCodes+code*const_word(SB)/const_word, $function(SB)

CODE(const_Int64, tvmffi_getInt64)
CODE(const_Int32, tvmffi_getInt32)
CODE(const_Int16, tvmffi_getInt16)
CODE(const_Int8, tvmffi_getInt8)
CODE(const_Uint64, tvmffi_getUint64)
CODE(const_Uint32, tvmffi_getUint32)
CODE(const_Uint16, tvmffi_getUint16)
CODE(const_Uint8, tvmffi_getUint8)
CODE(const_Float64, tvmffi_getFloat64)
CODE(const_Float32, tvmffi_getFloat32)
CODE(const_Bool, tvmffi_getBool)
CODE(const_AnyValue, tvmffi_getAny)
CODE(const_ObjectPointer, tvmffi_getObject)
CODE(const_DataType, tvmffi_getDataType)
CODE(const_Device, tvmffi_getDevice)
CODE(const_OpaquePointer, tvmffi_getPointer)
CODE(const_codeSetInt64, tvmffi_setInt64)
CODE(const_codeSetFloat64, tvmffi_setFloat64)
CODE(const_codeSetFloat32, tvmffi_setFloat32)
CODE(const_codeSetBool, tvmffi_setBool)
CODE(const_codeSetNarrow, tvmffi_setNarrow)
CODE(const_codeSetUint64, tvmffi_setUint64)
CODE(const_codeSetAny, tvmffi_setAny)
CODE(const_codeSetObject, tvmffi_setObject)
CODE(const_codeSetWord, tvmffi_setWord)
CODE(const_codeNew, tvmffi_newObject)
CODE(const_codeCopy, tvmffi_copyObject)
CODE(const_codeDelete, tvmffi_deleteObject)

GLOBL tvmffi_stubCodes(SB), NOPTR, $(const_codes*const_word)

// An entry, of entrySize bytes, must not CALL: a dropped return address would mislead
// the processor's prediction of returns, which costs more than the setter itself.
#define SETTER1(i) MOVL $(i), AX; JMP tvmffi_setField(SB)
#define CREATOR1(i) MOVL $(i), AX; JMP tvmffi_create(SB)
#define SETTER4(i) SETTER1(i); SETTER1(i+1); SETTER1(i+2); SETTER1(i+3)
#define SETTER16(i) SETTER4(i); SETTER4(i+4); SETTER4(i+8); SETTER4(i+12)
#define SETTER64(i) SETTER16(i); SETTER16(i+16); SETTER16(i+32); SETTER16(i+48)
#define SETTER256(i) SETTER64(i); SETTER64(i+64); SETTER64(i+128); SETTER64(i+192)
TEXT tvmffi_setterEntries(SB), NOSPLIT|NOFRAME, $0
	SETTER256(0)
	SETTER256(256)
	SETTER256(512)
	SETTER256(768)

#define CREATOR4(i) CREATOR1(i); CREATOR1(i+1); CREATOR1(i+2); CREATOR1(i+3)
#define CREATOR16(i) CREATOR4(i); CREATOR4(i+4); CREATOR4(i+8); CREATOR4(i+12)
#define CREATOR64(i) CREATOR16(i); CREATOR16(i+16); CREATOR16(i+32); CREATOR16(i+48)
#define CREATOR256(i) CREATOR64(i); CREATOR64(i+64); CREATOR64(i+128); CREATOR64(i+192)
TEXT tvmffi_creatorEntries(SB), NOSPLIT|NOFRAME, $0
	CREATOR256(0)
	CREATOR256(256)
