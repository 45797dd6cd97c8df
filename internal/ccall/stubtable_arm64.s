//go:build (linux || darwin) && !tvmffi_portable

#include "textflag.h"

// The getters, and the texts, the table of codes and the entries of stub_arm64.s.

// ADDREF adds a strong reference to the object at p.
#define ADDREF(p, label) \
label: \
	LDXR  (p), R11; \
	ADD   $1, R11, R11; \
	STXR  R11, (p), R12; \
	CBNZW R12, label

// int getter(void* field R0, Any* result R1)
#define GETTER(name, index, load) \
TEXT name(SB), NOSPLIT|NOFRAME, $0 \
	load  (R0), R2; \
	MOVD  $index, R3; \
	STP   (R3, R2), (R1); \
	MOVD  $0, R0; \
	RET

GETTER(tvmffi_getInt64, 1, MOVD)
GETTER(tvmffi_getInt32, 1, MOVW)
GETTER(tvmffi_getInt16, 1, MOVH)
GETTER(tvmffi_getInt8, 1, MOVB)
GETTER(tvmffi_getUint32, 1, MOVWU)
GETTER(tvmffi_getUint16, 1, MOVHU)
GETTER(tvmffi_getUint8, 1, MOVBU)
GETTER(tvmffi_getFloat64, 3, MOVD)
GETTER(tvmffi_getBool, 2, MOVBU)
GETTER(tvmffi_getDataType, 5, MOVWU)
GETTER(tvmffi_getDevice, 6, MOVD)

TEXT tvmffi_getFloat32(SB), NOSPLIT|NOFRAME, $0
	FMOVS (R0), F0
	FCVTSD F0, F0
	FMOVD F0, R2
	MOVD  $3, R3
	STP   (R3, R2), (R1)
	MOVD  $0, R0
	RET

TEXT tvmffi_getPointer(SB), NOSPLIT|NOFRAME, $0
	MOVD  (R0), R2
	MOVD  $4, R3
	CMP   $0, R2
	CSEL  EQ, ZR, R3, R3
	STP   (R3, R2), (R1)
	MOVD  $0, R0
	RET

TEXT tvmffi_getAny(SB), NOSPLIT|NOFRAME, $0
	LDP   (R0), (R2, R3)
	STP   (R2, R3), (R1)
	CMPW  $64, R2
	BLT   done
	ADDREF(R3, again)
done:
	MOVD  $0, R0
	RET

TEXT tvmffi_getObject(SB), NOSPLIT|NOFRAME, $0
	MOVD  (R0), R3
	MOVD  $0, R2
	CBZ   R3, none
	ADDREF(R3, again)
	MOVWU 8(R3), R2
none:
	STP   (R2, R3), (R1)
	MOVD  $0, R0
	RET

DATA tvmffi_textInt+0(SB)/8, $"int\x00\x00\x00\x00\x00"
GLOBL tvmffi_textInt(SB), RODATA|NOPTR, $8
DATA tvmffi_textFloat+0(SB)/8, $"float\x00\x00\x00"
GLOBL tvmffi_textFloat(SB), RODATA|NOPTR, $8
DATA tvmffi_textBool+0(SB)/8, $"bool\x00\x00\x00\x00"
GLOBL tvmffi_textBool(SB), RODATA|NOPTR, $8
DATA tvmffi_noneValue+0(SB)/8, $0
DATA tvmffi_noneValue+8(SB)/8, $0
GLOBL tvmffi_noneValue(SB), RODATA|NOPTR, $16

// The order is that of FieldKind and of the code constants.
DATA tvmffi_stubCodes+0(SB)/8, $tvmffi_getInt64(SB)
DATA tvmffi_stubCodes+8(SB)/8, $tvmffi_getInt32(SB)
DATA tvmffi_stubCodes+16(SB)/8, $tvmffi_getInt16(SB)
DATA tvmffi_stubCodes+24(SB)/8, $tvmffi_getInt8(SB)
DATA tvmffi_stubCodes+32(SB)/8, $tvmffi_getInt64(SB)
DATA tvmffi_stubCodes+40(SB)/8, $tvmffi_getUint32(SB)
DATA tvmffi_stubCodes+48(SB)/8, $tvmffi_getUint16(SB)
DATA tvmffi_stubCodes+56(SB)/8, $tvmffi_getUint8(SB)
DATA tvmffi_stubCodes+64(SB)/8, $tvmffi_getFloat64(SB)
DATA tvmffi_stubCodes+72(SB)/8, $tvmffi_getFloat32(SB)
DATA tvmffi_stubCodes+80(SB)/8, $tvmffi_getBool(SB)
DATA tvmffi_stubCodes+88(SB)/8, $tvmffi_getAny(SB)
DATA tvmffi_stubCodes+96(SB)/8, $tvmffi_getObject(SB)
DATA tvmffi_stubCodes+104(SB)/8, $tvmffi_getDataType(SB)
DATA tvmffi_stubCodes+112(SB)/8, $tvmffi_getDevice(SB)
DATA tvmffi_stubCodes+120(SB)/8, $tvmffi_getPointer(SB)
DATA tvmffi_stubCodes+128(SB)/8, $tvmffi_setInt64(SB)
DATA tvmffi_stubCodes+136(SB)/8, $tvmffi_setFloat64(SB)
DATA tvmffi_stubCodes+144(SB)/8, $tvmffi_setFloat32(SB)
DATA tvmffi_stubCodes+152(SB)/8, $tvmffi_setBool(SB)
DATA tvmffi_stubCodes+160(SB)/8, $tvmffi_setNarrow(SB)
DATA tvmffi_stubCodes+168(SB)/8, $tvmffi_setAny(SB)
DATA tvmffi_stubCodes+176(SB)/8, $tvmffi_setObject(SB)
DATA tvmffi_stubCodes+184(SB)/8, $tvmffi_setWord(SB)
DATA tvmffi_stubCodes+192(SB)/8, $tvmffi_newObject(SB)
DATA tvmffi_stubCodes+200(SB)/8, $tvmffi_copyObject(SB)
DATA tvmffi_stubCodes+208(SB)/8, $tvmffi_deleteObject(SB)
GLOBL tvmffi_stubCodes(SB), NOPTR, $216

// An entry is 8 bytes.
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
