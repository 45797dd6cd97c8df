//go:build (linux || darwin) && !tvmffi_portable

#include "textflag.h"

// The getters, and the texts, the table of codes and the entries of stub_amd64.s.

// int getter(void* field DI, Any* result SI)
#define GETTER(name, index, load) \
TEXT name(SB), NOSPLIT|NOFRAME, $0 \
	load  (DI), AX \
	MOVQ  $index, 0(SI) \
	MOVQ  AX, 8(SI) \
	XORL  AX, AX \
	RET

GETTER(tvmffi_getInt64, 1, MOVQ)
GETTER(tvmffi_getInt32, 1, MOVLQSX)
GETTER(tvmffi_getInt16, 1, MOVWQSX)
GETTER(tvmffi_getInt8, 1, MOVBQSX)
GETTER(tvmffi_getUint32, 1, MOVL)
GETTER(tvmffi_getUint16, 1, MOVWQZX)
GETTER(tvmffi_getUint8, 1, MOVBQZX)
GETTER(tvmffi_getFloat64, 3, MOVQ)
GETTER(tvmffi_getBool, 2, MOVBQZX)
GETTER(tvmffi_getDataType, 5, MOVL)
GETTER(tvmffi_getDevice, 6, MOVQ)

TEXT tvmffi_getFloat32(SB), NOSPLIT|NOFRAME, $0
	XORPS X0, X0
	CVTSS2SD (DI), X0
	MOVQ  $3, 0(SI)
	MOVSD X0, 8(SI)
	XORL  AX, AX
	RET

TEXT tvmffi_getPointer(SB), NOSPLIT|NOFRAME, $0
	MOVQ  (DI), DX
	XORL  AX, AX
	MOVL  $4, CX
	TESTQ DX, DX
	CMOVQEQ AX, CX
	MOVQ  CX, 0(SI)
	MOVQ  DX, 8(SI)
	RET

TEXT tvmffi_getAny(SB), NOSPLIT|NOFRAME, $0
	MOVQ  0(DI), AX
	MOVQ  8(DI), DX
	MOVQ  AX, 0(SI)
	MOVQ  DX, 8(SI)
	CMPL  AX, $64
	JLT   done
	LOCK
	INCQ  (DX)
done:
	XORL  AX, AX
	RET

TEXT tvmffi_getObject(SB), NOSPLIT|NOFRAME, $0
	MOVQ  (DI), DX
	XORL  AX, AX
	TESTQ DX, DX
	JEQ   none
	LOCK
	INCQ  (DX)
	MOVL  8(DX), AX
none:
	MOVQ  AX, 0(SI)
	MOVQ  DX, 8(SI)
	XORL  AX, AX
	RET

DATA tvmffi_textInt+0(SB)/4, $"int\x00"
GLOBL tvmffi_textInt(SB), RODATA|NOPTR, $4
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

// An entry is 10 bytes. It must not CALL: a dropped return address would mislead
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
