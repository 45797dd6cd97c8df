//go:build (linux || darwin) && !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"
#include "stub_arm64.h"

// The getters, the table of codes, and the entries of setters and creators.

// int getter(void* field R0, Any* result R1)
#define GETTER(name, index, load) \
TEXT name(SB), NOSPLIT|NOFRAME, $0 \
	load (R0), R2;                       \
	MOVD $index, R3;                     \
	STP  (R3, R2), abiAny_TypeIndex(R1); \
	MOVD $0, R0;                         \
	RET

GETTER(tvmffi_getInt64, const_typeInt, MOVD)
GETTER(tvmffi_getInt32, const_typeInt, MOVW)
GETTER(tvmffi_getInt16, const_typeInt, MOVH)
GETTER(tvmffi_getInt8, const_typeInt, MOVB)
GETTER(tvmffi_getUint32, const_typeInt, MOVWU)
GETTER(tvmffi_getUint16, const_typeInt, MOVHU)
GETTER(tvmffi_getUint8, const_typeInt, MOVBU)
GETTER(tvmffi_getFloat64, const_typeFloat, MOVD)
GETTER(tvmffi_getBool, const_typeBool, MOVBU)
GETTER(tvmffi_getDataType, const_typeDataType, MOVWU)
GETTER(tvmffi_getDevice, const_typeDevice, MOVD)

TEXT tvmffi_getFloat32(SB), NOSPLIT|NOFRAME, $0
	FMOVS  (R0), F0
	FCVTSD F0, F0
	FMOVD  F0, R2
	MOVD   $const_typeFloat, R3
	STP    (R3, R2), abiAny_TypeIndex(R1)
	MOVD   $0, R0
	RET

// A number beyond int64 is a BigInt.
TEXT tvmffi_getUint64(SB), NOSPLIT|NOFRAME, $0
	MOVD (R0), R2
	CMP  $0, R2
	BLT  wide

int:
	MOVD $const_typeInt, R3
	STP  (R3, R2), abiAny_TypeIndex(R1)
	MOVD $0, R0
	RET

wide:
	MOVD  $·stubs+StubFunctions_BigInt(SB), R9
	MOVD  (R9), R9
	CBZ   R9, int
	STP.W (R29, R30), -wideStack__size(RSP)
	STP   (R2, ZR), wideStack_words(RSP)
	ADD   $wideStack_words, RSP, R2
	MOVD  $const_wideSize, R3
	STP   (R2, R3), wideStack_bytes(RSP)
	ADD   $wideStack_bytes, RSP, R0
	BL    (R9)
	LDP.P wideStack__size(RSP), (R29, R30)
	RET

TEXT tvmffi_getPointer(SB), NOSPLIT|NOFRAME, $0
	MOVD (R0), R2
	MOVD $const_typeOpaquePtr, R3
	CMP  $0, R2
	CSEL EQ, ZR, R3, R3
	STP  (R3, R2), abiAny_TypeIndex(R1)
	MOVD $0, R0
	RET

TEXT tvmffi_getAny(SB), NOSPLIT|NOFRAME, $0
	LDP  abiAny_TypeIndex(R0), (R2, R3)
	STP  (R2, R3), abiAny_TypeIndex(R1)
	CMPW $const_typeObject, R2
	BLT  done
	ADDREF(R3, again)

done:
	MOVD $0, R0
	RET

TEXT tvmffi_getObject(SB), NOSPLIT|NOFRAME, $0
	MOVD  (R0), R3
	MOVD  $0, R2
	CBZ   R3, none
	ADDREF(R3, again)
	MOVWU abiObject_TypeIndex(R3), R2

none:
	STP  (R2, R3), abiAny_TypeIndex(R1)
	MOVD $0, R0
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

// An entry has entrySize bytes.
#define SETTER1(i) MOVD $(i), R9; B tvmffi_setField(SB)
#define CREATOR1(i) MOVD $(i), R9; B tvmffi_create(SB)
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
