//go:build (linux || darwin) && !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"
#include "stub_arm64.h"

// The setters of types made in Go, in the C calling convention; stub.go says what they
// do.

// int setter(void* field R0, const Any* value R1)
TEXT tvmffi_setInt64(SB), NOSPLIT|NOFRAME, $0
	MOVWU abiAny_TypeIndex(R1), R2
	INT_OR_BOOL(bad)
	MOVD  abiAny_Bits(R1), R2
	MOVD  R2, (R0)
	MOVD  $0, R0
	RET

bad:
	MOVD $tvmffi_textInt(SB), R2
	B    tvmffi_raiseCast(SB)

TEXT tvmffi_setFloat64(SB), NOSPLIT|NOFRAME, $0
	MOVWU abiAny_TypeIndex(R1), R2
	MOVD  abiAny_Bits(R1), R3
	CMPW  $const_typeFloat, R2
	BNE   convert
	MOVD  R3, (R0)
	MOVD  $0, R0
	RET

convert:
	INT_OR_BOOL(bad)
	SCVTFD R3, F0
	FMOVD  F0, (R0)
	MOVD   $0, R0
	RET

bad:
	MOVD $tvmffi_textFloat(SB), R2
	B    tvmffi_raiseCast(SB)

TEXT tvmffi_setBool(SB), NOSPLIT|NOFRAME, $0
	MOVWU abiAny_TypeIndex(R1), R2
	INT_OR_BOOL(bad)
	MOVD  abiAny_Bits(R1), R2
	CMP   $0, R2
	CSET  NE, R2
	MOVB  R2, (R0)
	MOVD  $0, R0
	RET

bad:
	MOVD $tvmffi_textBool(SB), R2
	B    tvmffi_raiseCast(SB)

// The setters below have an entry, which leads here with its number in R9, and
// find their Setter in R10.
TEXT tvmffi_setField(SB), NOSPLIT|NOFRAME, $0
	MOVD $·setterTable(SB), R10
	MOVD (R10), R10
	MOVD (R10)(R9<<const_wordShift), R10
	MOVD Setter_code(R10), R9
	JMP  (R9)

// A number beyond the largest float32 is out of bounds, and an infinity is not.
TEXT tvmffi_setFloat32(SB), NOSPLIT|NOFRAME, $0
	MOVWU  abiAny_TypeIndex(R1), R2
	MOVD   abiAny_Bits(R1), R3
	CMPW   $const_typeFloat, R2
	BNE    convert
	FMOVD  R3, F0
	FCVTDS F0, F0
	FMOVS  F0, R2
	ADDW   R2, R2, R2               // without the sign
	MOVW   $const_infinity32, R4
	CMPW   R4, R2
	BNE    store
	ADD    R3, R3, R3
	MOVD   $const_infinity64, R4
	CMP    R4, R3
	BNE    range

store:
	FMOVS F0, (R0)
	MOVD  $0, R0
	RET

convert:
	INT_OR_BOOL(bad)
	SCVTFS R3, F0
	B      store

bad:
	MOVD $tvmffi_textFloat(SB), R2
	B    tvmffi_raiseCast(SB)

range:
	B tvmffi_raiseRange(SB)

TEXT tvmffi_setNarrow(SB), NOSPLIT|NOFRAME, $0
	MOVWU abiAny_TypeIndex(R1), R2
	INT_OR_BOOL(bad)
	MOVD  abiAny_Bits(R1), R2
	MOVD  Setter_Min(R10), R3
	CMP   R3, R2
	BLT   range
	MOVD  Setter_Max(R10), R3
	CMP   R3, R2
	BGT   range
	MOVWU Setter_Size(R10), R3
	CMPW  $const_sizeInt32, R3
	BEQ   four
	BHI   eight
	CMPW  $const_sizeInt8, R3
	BEQ   one
	MOVH  R2, (R0)
	MOVD  $0, R0
	RET

one:
	MOVB R2, (R0)
	MOVD $0, R0
	RET

four:
	MOVW R2, (R0)
	MOVD $0, R0
	RET

eight:
	MOVD R2, (R0)
	MOVD $0, R0
	RET

bad:
	MOVD Setter_Expected(R10), R2
	B    tvmffi_raiseCast(SB)

range:
	B tvmffi_raiseRange(SB)

// A number of 64 bits without a sign, which is a BigInt if it is beyond int64.
// R19: the field. R20: the Setter.
TEXT tvmffi_setUint64(SB), NOSPLIT|NOFRAME, $0
	MOVWU abiAny_TypeIndex(R1), R2
	CMPW  $const_typeBigInt, R2
	BNE   number
	STP.W (R29, R30), -saved2__size(RSP)
	STP   (R19, R20), saved2_r19(RSP)
	MOVD  R0, R19
	MOVD  R10, R20
	MOVD  R1, R0
	CALL(StubFunctions_BigIntContent)
	CMP   $const_wideSize, R1
	BNE   range
	LDP   (R0), (R2, R3)
	CBNZ  R3, range
	MOVD  R2, (R19)
	MOVD  $0, R0
	B     out

range:
	MOVD R20, R10
	BL   tvmffi_raiseRange(SB)

out:
	LDP   saved2_r19(RSP), (R19, R20)
	LDP.P saved2__size(RSP), (R29, R30)
	RET

number:
	B tvmffi_setNarrow(SB)

// int raiseRange(Setter R10): raises that a number is out of bounds, returns -1.
TEXT tvmffi_raiseRange(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -rangeStack__size(RSP)
	MOVD  Setter_Range(R10), R2
	MOVD  R2, rangeStack_message(RSP)
	MOVD  $·stubs+StubFunctions_TypeError(SB), R0
	MOVD  (R0), R0
	ADD   $rangeStack_message, RSP, R1
	MOVD  $1, R2
	CALL(StubFunctions_SetParts)
	MOVD  $const_failed, R0
	LDP.P rangeStack__size(RSP), (R29, R30)
	RET

// A data type, a device or a pointer, where None is null.
TEXT tvmffi_setWord(SB), NOSPLIT|NOFRAME, $0
	MOVWU abiAny_TypeIndex(R1), R2
	CMPW  $const_typeObject, R2
	BHS   bad
	MOVD  Setter_Kinds(R10), R3
	LSR   R2, R3, R3
	TBZ   $0, R3, bad
	MOVD  abiAny_Bits(R1), R2
	MOVWU Setter_Size(R10), R3
	CMPW  $const_sizeInt32, R3
	BEQ   four
	MOVD  R2, (R0)
	MOVD  $0, R0
	RET

four:
	MOVW R2, (R0)
	MOVD $0, R0
	RET

bad:
	MOVD Setter_Expected(R10), R2
	B    tvmffi_raiseCast(SB)

// An Any: the library turns a borrowed value into an owned one. What the field held is
// released last, since its deleter may do anything.
// R19: the field. R20: the value. R21: the Setter.
TEXT tvmffi_setAny(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -setAnyStack__size(RSP)
	STP   (R19, R20), setAnyStack_r19(RSP)
	MOVD  R21, setAnyStack_r21(RSP)
	MOVD  R0, R19
	MOVD  R1, R20
	MOVD  R10, R21
	LDP   abiAny_TypeIndex(R1), (R2, R3)
	STP   (R2, R3), setAnyStack_owned(RSP)
	CMPW  $const_typeObject, R2
	BHS   share
	SUBW  $const_typeRawStr, R2, R4
	CMPW  $(const_typeRValueRef-const_typeRawStr), R4
	BHI   owned
	STP   (ZR, ZR), setAnyStack_owned(RSP)            // raw strings, raw bytes, rvalues
	MOVD  R1, R0
	ADD   $setAnyStack_owned, RSP, R1
	CALL(StubFunctions_ToOwned)
	CBNZW R0, out
	B     owned

share:
	ADDREF(R3, again)

owned:
	MOVWU (setAnyStack_owned+abiAny_TypeIndex)(RSP), R2
	CMPW  $const_typeObject, R2
	BHS   object
	MOVD  Setter_Kinds(R21), R3
	LSR   R2, R3, R4
	TBNZ  $0, R4, store
	CMPW  $const_typeInt, R2
	BEQ   int
	CMPW  $const_typeBool, R2
	BNE   bad
	TBZ   $const_typeInt, R3, number
	MOVD  $const_typeInt, R2                            // a bool for an int
	MOVD  R2, (setAnyStack_owned+abiAny_TypeIndex)(RSP)
	B     store

int:
	TBNZ $const_typeFloat, R3, number
	TBZ  $const_typeBool, R3, bad
	MOVD (setAnyStack_owned+abiAny_Bits)(RSP), R2 // an int for a bool
	CMP  $0, R2
	CSET NE, R2
	MOVD $const_typeBool, R3
	STP  (R3, R2), setAnyStack_owned(RSP)
	B    store

number:
	TBZ    $const_typeFloat, R3, bad
	MOVD   (setAnyStack_owned+abiAny_Bits)(RSP), R2 // an int or a bool for a float
	SCVTFD R2, F0
	FMOVD  F0, R2
	MOVD   $const_typeFloat, R3
	STP    (R3, R2), setAnyStack_owned(RSP)
	B      store

object:
	MOVWU Setter_Index(R21), R3
	CMPW  $const_typeObject, R3
	BEQ   store
	CMPW  R2, R3
	BEQ   store
	CBZW  R3, drop
	MOVD  R2, R0
	CALL(StubFunctions_TypeInfo)
	MOVW  Setter_Depth(R21), R2
	MOVW  abiTypeInfo_Depth(R0), R3
	CMPW  R2, R3
	BLE   drop
	MOVD  abiTypeInfo_Ancestors(R0), R0
	MOVD  (R0)(R2<<const_wordShift), R0
	MOVD  Setter_Info(R21), R2
	CMP   R2, R0
	BNE   drop

store:
	LDP  abiAny_TypeIndex(R19), (R4, R0)
	LDP  setAnyStack_owned(RSP), (R2, R3)
	STP  (R2, R3), abiAny_TypeIndex(R19)
	CMPW $const_typeObject, R4
	BLT  good
	BL   tvmffi_dropRef(SB)

good:
	MOVD $0, R0
	B    out

drop:
	MOVD (setAnyStack_owned+abiAny_Bits)(RSP), R0
	BL   tvmffi_dropRef(SB)

bad:
	MOVD R20, R1
	MOVD Setter_Expected(R21), R2
	BL   tvmffi_raiseCast(SB)

out:
	MOVD  setAnyStack_r21(RSP), R21
	LDP   setAnyStack_r19(RSP), (R19, R20)
	LDP.P setAnyStack__size(RSP), (R29, R30)
	RET

// A pointer to an object; null for None, if Kinds has None.
// R19: the field. R20: the Setter. R21: the value. R22: the object.
TEXT tvmffi_setObject(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -saved4__size(RSP)
	STP   (R19, R20), saved4_r19(RSP)
	STP   (R21, R22), saved4_r21(RSP)
	MOVD  R0, R19
	MOVD  R10, R20
	MOVD  R1, R21
	MOVW  abiAny_TypeIndex(R1), R0
	MOVD  abiAny_Bits(R1), R22
	CMPW  $const_typeObject, R0
	BLT   other

check:
	MOVW Setter_Index(R20), R2
	CMPW R0, R2
	BEQ  good
	CMPW $const_typeObject, R2
	BEQ  good
	CALL(StubFunctions_TypeInfo)
	MOVW Setter_Depth(R20), R2
	MOVW abiTypeInfo_Depth(R0), R3
	CMPW R2, R3
	BLE  bad
	MOVD abiTypeInfo_Ancestors(R0), R0
	MOVD (R0)(R2<<const_wordShift), R0
	MOVD Setter_Info(R20), R2
	CMP  R2, R0
	BNE  bad

good:
	ADDREF(R22, again)

swap:
	MOVD (R19), R0
	MOVD R22, (R19)
	CBZ  R0, out
	BL   tvmffi_dropRef(SB)
	MOVD $0, R0
	B    out

other:
	CMPW  $const_typeRValueRef, R0 // a reference to a pointer that may be moved: not moved here
	BEQ   indirect
	CBNZW R0, bad

none:
	MOVD $0, R22
	MOVD Setter_Kinds(R20), R2
	TBNZ $const_typeNone, R2, swap

bad:
	MOVD R21, R1
	MOVD Setter_Expected(R20), R2
	BL   tvmffi_raiseCast(SB)

out:
	LDP   saved4_r21(RSP), (R21, R22)
	LDP   saved4_r19(RSP), (R19, R20)
	LDP.P saved4__size(RSP), (R29, R30)
	RET

indirect:
	MOVD (R22), R22
	CBZ  R22, none
	MOVW abiObject_TypeIndex(R22), R0
	B    check

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
	MOVD $·decRef(SB), R9
	MOVD (R9), R9
	JMP  (R9)

// int raiseCast(value R1, expected R2): raises what C++ raises, returns -1.
TEXT tvmffi_raiseCast(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -castStack__size(RSP)
	MOVD  $·stubs(SB), R3
	MOVD  StubFunctions_From(R3), R4
	MOVD  R4, castStack_from(RSP)
	MOVD  StubFunctions_To(R3), R4
	STP   (R4, R2), castStack_to(RSP)
	MOVD  StubFunctions_End(R3), R4
	MOVD  R4, castStack_end(RSP)
	MOVW  abiAny_TypeIndex(R1), R0
	CALL(StubFunctions_TypeInfo)
	MOVD  const_typeKey(R0), R0
	MOVD  R0, castStack_key(RSP)
	MOVD  $·stubs+StubFunctions_TypeError(SB), R0
	MOVD  (R0), R0
	ADD   $castStack_from, RSP, R1
	MOVD  $const_castParts, R2
	CALL(StubFunctions_SetParts)
	MOVD  $const_failed, R0
	LDP.P castStack__size(RSP), (R29, R30)
	RET
