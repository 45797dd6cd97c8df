//go:build (linux || darwin) && !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"
#include "stub_arm64.h"

// The functions that make, copy and delete objects of types made in Go, in the C calling
// convention; stub.go says what they do.

// R0 = an object of the Layout R0, zeroed, or 0 and an error raised. malloc and
// zeroing cost less than calloc, which has no cache per thread in older glibc.
TEXT tvmffi_allocateObject(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -memoryStack__size(RSP)
	MOVD  R19, memoryStack_r19(RSP)
	MOVD  R0, R19
	MOVD  Layout_Size(R19), R0
	ADD   $const_ArrayOffset, R0, R0
	CALL(StubFunctions_Malloc)
	CBZ   R0, none
	MOVD  Layout_Size(R19), R1
	ADD   $const_ArrayOffset, R1, R1

zero:
	SUB   $const_word, R1
	MOVD  ZR, (R0)(R1)
	CBNZ  R1, zero
	ADD   $const_ArrayOffset, R0, R0
	MOVD  $1, R1
	ORR   R1<<const_weakShift, R1, R1
	MOVD  R1, abiObject_RefCounts(R0)
	MOVWU Layout_Index(R19), R1
	MOVD  $tvmffi_deleteObject(SB), R2
	STP   (R1, R2), abiObject_TypeIndex(R0)
	B     out

none:
	MOVD $·stubs(SB), R2
	MOVD StubFunctions_NoMem(R2), R1
	MOVD R1, memoryStack_message(RSP)
	MOVD StubFunctions_MemoryError(R2), R0
	ADD  $memoryStack_message, RSP, R1
	MOVD $1, R2
	CALL(StubFunctions_SetParts)
	MOVD $0, R0

out:
	MOVD  memoryStack_r19(RSP), R19
	LDP.P memoryStack__size(RSP), (R29, R30)
	RET

// int creator(void** result R0), with the number of the entry in R9.
TEXT tvmffi_create(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -saved2__size(RSP)
	MOVD  R19, saved2_r19(RSP)
	MOVD  R0, R19
	MOVD  $·creatorTable(SB), R0
	MOVD  (R0), R0
	MOVD  (R0)(R9<<const_wordShift), R0
	BL    tvmffi_allocateObject(SB)
	MOVD  R0, (R19)
	CMP   $0, R0
	CSETM EQ, R0                         // failed for null
	MOVD  saved2_r19(RSP), R19
	LDP.P saved2__size(RSP), (R29, R30)
	RET

// int newObject(Layout* R0, args R1, n R2, Any* result R3)
TEXT tvmffi_newObject(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -saved2__size(RSP)
	STP   (R19, R20), saved2_r19(RSP)
	MOVD  R3, R19
	MOVD  R0, R20
	BL    tvmffi_allocateObject(SB)
	CBZ   R0, failed
	MOVWU Layout_Index(R20), R1
	STP   (R1, R0), abiAny_TypeIndex(R19)
	MOVD  $0, R0
	B     out

failed:
	MOVD $const_failed, R0

out:
	LDP   saved2_r19(RSP), (R19, R20)
	LDP.P saved2__size(RSP), (R29, R30)
	RET

// int copyObject(Layout* R0, args R1, n R2, Any* result R3)
// R19: the result. R20: the Layout. R21: the source.
TEXT tvmffi_copyObject(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -saved4__size(RSP)
	STP   (R19, R20), saved4_r19(RSP)
	MOVD  R21, saved4_r21(RSP)
	MOVD  R3, R19
	MOVD  R0, R20
	CMPW  $1, R2
	BNE   bad
	MOVW  Layout_Index(R20), R4
	MOVW  abiAny_TypeIndex(R1), R5
	CMPW  R4, R5
	BNE   bad
	MOVD  abiAny_Bits(R1), R21
	BL    tvmffi_allocateObject(SB)
	CBZ   R0, failed
	MOVD  Layout_Size(R20), R2
	MOVD  $abiObject__size, R3

copy:
	CMP  R2, R3
	BHS  copied
	MOVD (R21)(R3), R4
	MOVD R4, (R0)(R3)
	ADD  $const_word, R3
	B    copy

copied:
	MOVWU Layout_State(R20), R2
	CBZ   R2, whole
	MOVD  ZR, (R0)(R2)

whole:
	MOVWU Layout_Index(R20), R1
	STP   (R1, R0), abiAny_TypeIndex(R19)
	MOVD  Layout_Refs(R20), R2
	MOVD  Layout_N(R20), R3

field:
	CBZ  R3, done
	SUB  $1, R3
	MOVD (R2)(R3<<const_wordShift), R4
	ADD  R4>>const_refShift, R0, R5
	TBZ  $const_refAnyBit, R4, object
	MOVW abiAny_TypeIndex(R5), R6
	CMPW $const_typeObject, R6
	BLT  field
	ADD  $abiAny_Bits, R5

object:
	MOVD (R5), R5
	CBZ  R5, field
	ADDREF(R5, again)
	B    field

done:
	MOVD $0, R0
	B    out

bad:
	MOVD $tvmffi_noneValue(SB), R3
	CMPW $0, R2
	CSEL EQ, R3, R1, R21
	MOVW Layout_Index(R20), R0
	CALL(StubFunctions_TypeInfo)
	MOVD const_typeKey(R0), R2
	MOVD R21, R1
	BL   tvmffi_raiseCast(SB)
	B    out

failed:
	MOVD $const_failed, R0

out:
	MOVD  saved4_r21(RSP), R21
	LDP   saved4_r19(RSP), (R19, R20)
	LDP.P saved4__size(RSP), (R29, R30)
	RET

// void deleteObject(void* self R0, int flags R1)
TEXT tvmffi_deleteObject(SB), NOSPLIT|NOFRAME, $0
	TBZ   $const_deleterStrongBit, R1, weak
	CMPW  $(const_deleterStrong|const_deleterWeak), R1
	BNE   slow
	MOVWU abiObject_TypeIndex(R0), R2                  // an object without references needs no list
	MOVD  $·stubs+StubFunctions_Layouts(SB), R3
	MOVD  (R3), R3
	MOVD  (R3)(R2<<const_wordShift), R3
	MOVD  Layout_N(R3), R4
	MOVD  Layout_Refs(R3), R5

scan:
	CBZ    R4, weak
	SUB    $1, R4
	MOVD.P const_word(R5), R6
	ADD    R6>>const_refShift, R0, R7
	TBZ    $const_refAnyBit, R6, pointer
	MOVW   abiAny_TypeIndex(R7), R8
	CMPW   $const_typeObject, R8
	BLT    scan
	B      tvmffi_delete(SB)

pointer:
	MOVD (R7), R8
	CBZ  R8, scan

slow:
	B tvmffi_delete(SB)

weak:
	STP.W (R29, R30), -saved0__size(RSP)
	SUB   $const_ArrayOffset, R0
	CALL(StubFunctions_Free)
	LDP.P saved0__size(RSP), (R29, R30)
	RET

// void delete(void* self R0, int flags R1): the deleter of an object or Array of ours, whose
// strong references have gone. What its own references end is not deleted inside, however
// many C++ objects lie between: it waits on the list of the first deletion on this thread,
// in the place of the deleter, with a weak reference of that list.
// R19: the object. R20: its references. R21: how many are left. R22: a weak reference.
TEXT tvmffi_delete(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -deleteStack__size(RSP)
	STP   (R19, R20), deleteStack_r19(RSP)
	STP   (R21, R22), deleteStack_r21(RSP)
	MOVD  R0, R19
	MOVD  $const_oneWeak, R22
	CMPW  $(const_deleterStrong|const_deleterWeak), R1
	BNE   shared
	MOVD  R22, (R19)
	B     counted

shared:
	LDXR  (R19), R2
	ADD   R22, R2, R2
	STXR  R2, (R19), R3
	CBNZW R3, shared

counted:
	SPECIFIC(·getDeletion)
	CBZ  R0, first
	MOVD (R0), R1
	MOVD R1, abiObject_Deleter(R19)
	MOVD R19, (R0)
	B    out

first:
	MOVD ZR, deleteStack_list(RSP)
	ADD  $deleteStack_list, RSP, R1
	SPECIFIC(·setDeletion)

object:
	MOVWU abiObject_TypeIndex(R19), R2
	CMPW  $const_typeArray, R2
	BEQ   array
	MOVD  $tvmffi_deleteObject(SB), R4
	MOVD  R4, abiObject_Deleter(R19)
	MOVD  $·stubs+StubFunctions_Layouts(SB), R3
	MOVD  (R3), R3
	MOVD  (R3)(R2<<const_wordShift), R3
	MOVD  Layout_N(R3), R21
	MOVD  Layout_Refs(R3), R20

field:
	CBZ    R21, dead
	SUB    $1, R21
	MOVD.P const_word(R20), R2
	ADD    R2>>const_refShift, R19, R3
	TBZ    $const_refAnyBit, R2, pointer
	MOVW   abiAny_TypeIndex(R3), R4
	CMPW   $const_typeObject, R4
	BLT    field
	ADD    $abiAny_Bits, R3

pointer:
	MOVD (R3), R0
	CBZ  R0, field
	BL   tvmffi_dropRef(SB)
	B    field

array:
	MOVD $tvmffi_releaseArray(SB), R4
	MOVD R4, abiObject_Deleter(R19)
	MOVD const_arrayData(R19), R20
	MOVD const_arraySize(R19), R21

element:
	CBZ  R21, dead
	SUB  $1, R21
	MOVD abiAny_Bits(R20), R0
	MOVW abiAny_TypeIndex(R20), R2
	ADD  $abiAny__size, R20
	CMPW $const_typeObject, R2
	BLT  element
	BL   tvmffi_dropRef(SB)
	B    element

dead:
	LDAXR (R19), R2
	SUB   R22, R2, R2
	STLXR R2, (R19), R3
	CBNZW R3, dead
	CBNZ  R2, next
	SUB   $const_ArrayOffset, R19, R0
	MOVD  $·free(SB), R9
	MOVD  (R9), R9
	BL    (R9)

next:
	MOVD deleteStack_list(RSP), R19
	CBZ  R19, end
	MOVD abiObject_Deleter(R19), R2
	MOVD R2, deleteStack_list(RSP)
	B    object

end:
	MOVD ZR, R1
	SPECIFIC(·setDeletion)

out:
	MOVD  ZR, R0
	LDP   deleteStack_r21(RSP), (R21, R22)
	LDP   deleteStack_r19(RSP), (R19, R20)
	LDP.P deleteStack__size(RSP), (R29, R30)
	RET
