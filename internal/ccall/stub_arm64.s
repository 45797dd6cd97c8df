//go:build (linux || darwin) && !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"

// The functions of object types made in Go, in the C calling convention; stub.go
// says what they do. Indices of types: 1 int, 2 bool, 3 float, from 64 objects.
// In memory: an object has its count at 0, its type index at 8, its deleter at 16;
// an entry of the type table its depth at 4, its key at 8, its ancestors at 24.
//
// R27 belongs to C here, so the assembler must not use it: variables are reached by
// their addresses. The frames are of our own making, because the assembler would
// save R29 below the stack pointer, where the C functions that are called write.

#define CALL(function) \
	MOVD  $·stubs+function(SB), R9; \
	MOVD  (R9), R9; \
	BL    (R9)

// ADDREF adds a strong reference to the object at p.
#define ADDREF(p, label) \
label: \
	LDXR  (p), R11; \
	ADD   $1, R11, R11; \
	STXR  R11, (p), R12; \
	CBNZW R12, label

// int setter(void* field R0, const Any* value R1)
TEXT tvmffi_setInt64(SB), NOSPLIT|NOFRAME, $0
	MOVWU (R1), R2
	SUBW  $1, R2
	CMPW  $1, R2
	BHI   bad
	MOVD  8(R1), R2
	MOVD  R2, (R0)
	MOVD  $0, R0
	RET
bad:
	MOVD  $tvmffi_textInt(SB), R2
	B     tvmffi_raiseCast(SB)

TEXT tvmffi_setFloat64(SB), NOSPLIT|NOFRAME, $0
	MOVWU (R1), R2
	MOVD  8(R1), R3
	CMPW  $3, R2
	BNE   convert
	MOVD  R3, (R0)
	MOVD  $0, R0
	RET
convert:
	SUBW  $1, R2
	CMPW  $1, R2
	BHI   bad
	SCVTFD R3, F0
	FMOVD F0, (R0)
	MOVD  $0, R0
	RET
bad:
	MOVD  $tvmffi_textFloat(SB), R2
	B     tvmffi_raiseCast(SB)

TEXT tvmffi_setFloat32(SB), NOSPLIT|NOFRAME, $0
	MOVWU (R1), R2
	MOVD  8(R1), R3
	CMPW  $3, R2
	BNE   convert
	FMOVD R3, F0
	FCVTDS F0, F0
	FMOVS F0, (R0)
	MOVD  $0, R0
	RET
convert:
	SUBW  $1, R2
	CMPW  $1, R2
	BHI   bad
	SCVTFS R3, F0
	FMOVS F0, (R0)
	MOVD  $0, R0
	RET
bad:
	MOVD  $tvmffi_textFloat(SB), R2
	B     tvmffi_raiseCast(SB)

TEXT tvmffi_setBool(SB), NOSPLIT|NOFRAME, $0
	MOVWU (R1), R2
	SUBW  $1, R2
	CMPW  $1, R2
	BHI   bad
	MOVD  8(R1), R2
	CMP   $0, R2
	CSET  NE, R2
	MOVB  R2, (R0)
	MOVD  $0, R0
	RET
bad:
	MOVD  $tvmffi_textBool(SB), R2
	B     tvmffi_raiseCast(SB)

// The setters below have an entry, which leads here with its number in R9, and
// find their Setter in R10.
TEXT tvmffi_setField(SB), NOSPLIT|NOFRAME, $0
	MOVD  $·setterTable(SB), R10
	MOVD  (R10), R10
	MOVD  (R10)(R9<<3), R10
	MOVD  Setter_code(R10), R9
	JMP   (R9)

TEXT tvmffi_setNarrow(SB), NOSPLIT|NOFRAME, $0
	MOVWU (R1), R2
	SUBW  $1, R2
	CMPW  $1, R2
	BHI   bad
	MOVD  8(R1), R2
	MOVD  Setter_Min(R10), R3
	CMP   R3, R2
	BLT   range
	MOVD  Setter_Max(R10), R3
	CMP   R3, R2
	BGT   range
	MOVWU Setter_Size(R10), R3
	CMPW  $4, R3
	BEQ   four
	BHI   eight
	CMPW  $1, R3
	BEQ   one
	MOVH  R2, (R0)
	MOVD  $0, R0
	RET
one:
	MOVB  R2, (R0)
	MOVD  $0, R0
	RET
four:
	MOVW  R2, (R0)
	MOVD  $0, R0
	RET
eight:
	MOVD  R2, (R0)
	MOVD  $0, R0
	RET
bad:
	MOVD  Setter_Expected(R10), R2
	B     tvmffi_raiseCast(SB)
range:
	STP.W (R29, R30), -32(RSP)
	MOVD  Setter_Range(R10), R2
	MOVD  R2, 16(RSP)
	MOVD  $·stubs+StubFunctions_ValueError(SB), R0
	MOVD  (R0), R0
	ADD   $16, RSP, R1
	MOVD  $1, R2
	CALL(StubFunctions_SetParts)
	MOVD  $-1, R0
	LDP.P 32(RSP), (R29, R30)
	RET

// A data type, a device or a pointer, where None is null.
TEXT tvmffi_setWord(SB), NOSPLIT|NOFRAME, $0
	MOVWU (R1), R2
	CMPW  $64, R2
	BHS   bad
	MOVD  Setter_Kinds(R10), R3
	LSR   R2, R3, R3
	TBZ   $0, R3, bad
	MOVD  8(R1), R2
	MOVWU Setter_Size(R10), R3
	CMPW  $4, R3
	BEQ   four
	MOVD  R2, (R0)
	MOVD  $0, R0
	RET
four:
	MOVW  R2, (R0)
	MOVD  $0, R0
	RET
bad:
	MOVD  Setter_Expected(R10), R2
	B     tvmffi_raiseCast(SB)

// A value of 16 bytes: the library makes owned forms of borrowed ones. What the
// field held is released last, since its deleter may do anything.
// R19: the field. R20: the value. R21: the Setter. 48(RSP): the owned value.
TEXT tvmffi_setAny(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -64(RSP)
	STP   (R19, R20), 16(RSP)
	MOVD  R21, 32(RSP)
	MOVD  R0, R19
	MOVD  R1, R20
	MOVD  R10, R21
	LDP   (R1), (R2, R3)
	STP   (R2, R3), 48(RSP)
	CMPW  $64, R2
	BHS   share
	SUBW  $8, R2, R4
	CMPW  $2, R4
	BHI   owned
	STP   (ZR, ZR), 48(RSP)      // 8 to 10: raw strings, raw bytes, rvalues
	MOVD  R1, R0
	ADD   $48, RSP, R1
	CALL(StubFunctions_ToOwned)
	CBNZW R0, out
	B     owned
share:
	ADDREF(R3, again)
owned:
	MOVWU 48(RSP), R2
	CMPW  $64, R2
	BHS   object
	MOVD  Setter_Kinds(R21), R3
	LSR   R2, R3, R4
	TBNZ  $0, R4, store
	CMPW  $1, R2
	BEQ   int
	CMPW  $2, R2
	BNE   bad
	TBZ   $1, R3, number
	MOVD  $1, R2                 // a bool for an int
	MOVD  R2, 48(RSP)
	B     store
int:
	TBNZ  $3, R3, number
	TBZ   $2, R3, bad
	MOVD  56(RSP), R2            // an int for a bool
	CMP   $0, R2
	CSET  NE, R2
	MOVD  $2, R3
	STP   (R3, R2), 48(RSP)
	B     store
number:
	TBZ   $3, R3, bad
	MOVD  56(RSP), R2            // an int or a bool for a float
	SCVTFD R2, F0
	FMOVD F0, R2
	MOVD  $3, R3
	STP   (R3, R2), 48(RSP)
	B     store
object:
	MOVWU Setter_Index(R21), R3
	CMPW  $64, R3
	BEQ   store
	CMPW  R2, R3
	BEQ   store
	CBZW  R3, drop
	MOVD  R2, R0
	CALL(StubFunctions_TypeInfo)
	MOVW  Setter_Depth(R21), R2
	MOVW  4(R0), R3
	CMPW  R2, R3
	BLE   drop
	MOVD  24(R0), R0
	MOVD  (R0)(R2<<3), R0
	MOVD  Setter_Info(R21), R2
	CMP   R2, R0
	BNE   drop
store:
	LDP   (R19), (R4, R0)
	LDP   48(RSP), (R2, R3)
	STP   (R2, R3), (R19)
	CMPW  $64, R4
	BLT   good
	BL    tvmffi_dropRef(SB)
good:
	MOVD  $0, R0
	B     out
drop:
	MOVD  56(RSP), R0
	BL    tvmffi_dropRef(SB)
bad:
	MOVD  R20, R1
	MOVD  Setter_Expected(R21), R2
	BL    tvmffi_raiseCast(SB)
out:
	MOVD  32(RSP), R21
	LDP   16(RSP), (R19, R20)
	LDP.P 64(RSP), (R29, R30)
	RET

// A pointer to an object; null for None if the field may be None, bit 0 of Kinds.
// R19: the field. R20: the Setter. R21: the value. R22: the object.
TEXT tvmffi_setObject(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -48(RSP)
	STP   (R19, R20), 16(RSP)
	STP   (R21, R22), 32(RSP)
	MOVD  R0, R19
	MOVD  R10, R20
	MOVD  R1, R21
	MOVW  (R1), R0
	MOVD  8(R1), R22
	CMPW  $64, R0
	BLT   other
check:
	MOVW  Setter_Index(R20), R2
	CMPW  R0, R2
	BEQ   good
	CMPW  $64, R2
	BEQ   good
	CALL(StubFunctions_TypeInfo)
	MOVW  Setter_Depth(R20), R2
	MOVW  4(R0), R3
	CMPW  R2, R3
	BLE   bad
	MOVD  24(R0), R0
	MOVD  (R0)(R2<<3), R0
	MOVD  Setter_Info(R20), R2
	CMP   R2, R0
	BNE   bad
good:
	ADDREF(R22, again)
swap:
	MOVD  (R19), R0
	MOVD  R22, (R19)
	CBZ   R0, out
	BL    tvmffi_dropRef(SB)
	MOVD  $0, R0
	B     out
other:
	CMPW  $10, R0                // a reference to a pointer that may be moved: not moved here
	BEQ   indirect
	CBNZW R0, bad
none:
	MOVD  $0, R22
	MOVD  Setter_Kinds(R20), R2
	TBNZ  $0, R2, swap
bad:
	MOVD  R21, R1
	MOVD  Setter_Expected(R20), R2
	BL    tvmffi_raiseCast(SB)
out:
	LDP   32(RSP), (R21, R22)
	LDP   16(RSP), (R19, R20)
	LDP.P 48(RSP), (R29, R30)
	RET
indirect:
	MOVD  (R22), R22
	CBZ   R22, none
	MOVW  8(R22), R0
	B     check

// Drops a reference to the object R0. The last one is for the library, because
// then deleters run. LDAXR and STLXR order what was done with the object before.
TEXT tvmffi_dropRef(SB), NOSPLIT|NOFRAME, $0
retry:
	LDAXR (R0), R2
	CMPW  $1, R2
	BLS   last
	SUB   $1, R2, R2
	STLXR R2, (R0), R3
	CBNZW R3, retry
	RET
last:
	CLREX
	MOVD  $·stubs+StubFunctions_DecRef(SB), R9
	MOVD  (R9), R9
	JMP   (R9)

// int raiseCast(value R1, expected R2): raises what C++ raises, returns -1.
TEXT tvmffi_raiseCast(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -64(RSP)
	MOVD  $·stubs(SB), R3
	MOVD  StubFunctions_From(R3), R4
	MOVD  R4, 16(RSP)
	MOVD  StubFunctions_To(R3), R4
	STP   (R4, R2), 32(RSP)
	MOVD  StubFunctions_End(R3), R4
	MOVD  R4, 48(RSP)
	MOVW  (R1), R0
	CALL(StubFunctions_TypeInfo)
	MOVD  8(R0), R0
	MOVD  R0, 24(RSP)
	MOVD  $·stubs+StubFunctions_TypeError(SB), R0
	MOVD  (R0), R0
	ADD   $16, RSP, R1
	MOVD  $5, R2
	CALL(StubFunctions_SetParts)
	MOVD  $-1, R0
	LDP.P 64(RSP), (R29, R30)
	RET

// R0 = an object of the Layout R0, zeroed, or 0 and an error raised. malloc and
// zeroing cost less than calloc, which has no cache per thread in older glibc.
TEXT tvmffi_allocateObject(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -32(RSP)
	MOVD  R19, 16(RSP)
	MOVD  R0, R19
	MOVD  Layout_Size(R19), R0
	ADD   $const_ArrayOffset, R0, R0
	CALL(StubFunctions_Malloc)
	CBZ   R0, none
	MOVD  Layout_Size(R19), R1
	ADD   $const_ArrayOffset, R1, R1
zero:
	SUB   $8, R1
	MOVD  ZR, (R0)(R1)
	CBNZ  R1, zero
	ADD   $const_ArrayOffset, R0, R0
	MOVD  $1, R1
	ORR   R1<<32, R1, R1
	MOVD  R1, (R0)
	MOVWU Layout_Index(R19), R1
	MOVD  $tvmffi_deleteObject(SB), R2
	STP   (R1, R2), 8(R0)
	B     out
none:
	MOVD  $·stubs(SB), R2
	MOVD  StubFunctions_NoMem(R2), R1
	MOVD  R1, 24(RSP)
	MOVD  StubFunctions_MemoryError(R2), R0
	ADD   $24, RSP, R1
	MOVD  $1, R2
	CALL(StubFunctions_SetParts)
	MOVD  $0, R0
out:
	MOVD  16(RSP), R19
	LDP.P 32(RSP), (R29, R30)
	RET

// int creator(void** result R0), with the number of the entry in R9.
TEXT tvmffi_create(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -32(RSP)
	MOVD  R19, 16(RSP)
	MOVD  R0, R19
	MOVD  $·creatorTable(SB), R0
	MOVD  (R0), R0
	MOVD  (R0)(R9<<3), R0
	BL    tvmffi_allocateObject(SB)
	MOVD  R0, (R19)
	CMP   $0, R0
	CSETM EQ, R0                 // -1 for null
	MOVD  16(RSP), R19
	LDP.P 32(RSP), (R29, R30)
	RET

// int newObject(Layout* R0, args R1, n R2, Any* result R3)
TEXT tvmffi_newObject(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -32(RSP)
	STP   (R19, R20), 16(RSP)
	MOVD  R3, R19
	MOVD  R0, R20
	BL    tvmffi_allocateObject(SB)
	CBZ   R0, failed
	MOVWU Layout_Index(R20), R1
	STP   (R1, R0), (R19)
	MOVD  $0, R0
	B     out
failed:
	MOVD  $-1, R0
out:
	LDP   16(RSP), (R19, R20)
	LDP.P 32(RSP), (R29, R30)
	RET

// int copyObject(Layout* R0, args R1, n R2, Any* result R3)
// R19: the result. R20: the Layout. R21: the source.
TEXT tvmffi_copyObject(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -48(RSP)
	STP   (R19, R20), 16(RSP)
	MOVD  R21, 32(RSP)
	MOVD  R3, R19
	MOVD  R0, R20
	CMPW  $1, R2
	BNE   bad
	MOVW  Layout_Index(R20), R4
	MOVW  (R1), R5
	CMPW  R4, R5
	BNE   bad
	MOVD  8(R1), R21
	BL    tvmffi_allocateObject(SB)
	CBZ   R0, failed
	MOVD  Layout_Size(R20), R2
	MOVD  $24, R3
copy:
	CMP   R2, R3
	BHS   copied
	MOVD  (R21)(R3), R4
	MOVD  R4, (R0)(R3)
	ADD   $8, R3
	B     copy
copied:
	MOVWU Layout_State(R20), R2
	CBZ   R2, whole
	MOVD  ZR, (R0)(R2)
whole:
	MOVWU Layout_Index(R20), R1
	STP   (R1, R0), (R19)
	MOVD  Layout_Refs(R20), R2
	MOVD  Layout_N(R20), R3
field:
	CBZ   R3, done
	SUB   $1, R3
	MOVD  (R2)(R3<<3), R4
	ADD   R4>>1, R0, R5
	TBZ   $0, R4, object
	MOVW  (R5), R6
	CMPW  $64, R6
	BLT   field
	ADD   $8, R5
object:
	MOVD  (R5), R5
	CBZ   R5, field
	ADDREF(R5, again)
	B     field
done:
	MOVD  $0, R0
	B     out
bad:
	MOVD  $tvmffi_noneValue(SB), R3
	CMPW  $0, R2
	CSEL  EQ, R3, R1, R21
	MOVW  Layout_Index(R20), R0
	CALL(StubFunctions_TypeInfo)
	MOVD  8(R0), R2
	MOVD  R21, R1
	BL    tvmffi_raiseCast(SB)
	B     out
failed:
	MOVD  $-1, R0
out:
	MOVD  32(RSP), R21
	LDP   16(RSP), (R19, R20)
	LDP.P 48(RSP), (R29, R30)
	RET

// void deleteObject(void* self R0, int flags R1)
// R19: the object. R20: its references. R21: how many are left. R22: the flags.
TEXT tvmffi_deleteObject(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -48(RSP)
	STP   (R19, R20), 16(RSP)
	STP   (R21, R22), 32(RSP)
	MOVD  R0, R19
	MOVW  R1, R22
	TBZ   $0, R22, weak
	MOVWU 8(R19), R2
	MOVD  $·stubs+StubFunctions_Layouts(SB), R3
	MOVD  (R3), R3
	MOVD  (R3)(R2<<3), R3
	MOVD  Layout_N(R3), R21
	MOVD  Layout_Refs(R3), R20
field:
	CBZ   R21, weak
	SUB   $1, R21
	MOVD.P 8(R20), R2
	ADD   R2>>1, R19, R3
	TBZ   $0, R2, object
	MOVW  (R3), R4
	CMPW  $64, R4
	BLT   field
	ADD   $8, R3
object:
	MOVD  (R3), R0
	CBZ   R0, field
	BL    tvmffi_dropRef(SB)
	B     field
weak:
	TBZ   $1, R22, done
	SUB   $const_ArrayOffset, R19, R0
	CALL(StubFunctions_Free)
done:
	LDP   32(RSP), (R21, R22)
	LDP   16(RSP), (R19, R20)
	LDP.P 48(RSP), (R29, R30)
	RET
