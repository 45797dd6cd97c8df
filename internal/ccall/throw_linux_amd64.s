//go:build !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"

// _Unwind_Reason_Code personality(int version, _Unwind_Action actions, uint64_t class,
// _Unwind_Exception* exception, _Unwind_Context* context). It stops exceptions of C++
// at the call: the call returns Thrown, with the exception in DX.
TEXT tvmffi_personality(SB), NOSPLIT|NOFRAME, $0
	TESTL $const_forceUnwind, SI  // the thread ends
	JNE   pass
	SHRQ  $const_classShift, DX
	MOVQ  $const_gnuClass, AX
	CMPQ  DX, AX
	JNE   pass
	TESTL $const_searchPhase, SI
	JEQ   install
	MOVL  $const_handlerFound, AX
	RET

install:
	PUSHQ BX
	PUSHQ R12
	SUBQ  $const_align, SP
	MOVQ  CX, BX
	MOVQ  R8, R12
	MOVQ  R12, DI
	XORL  SI, SI                         // AX by the number of DWARF
	MOVQ  $const_Thrown, DX
	MOVQ  ·thrower+Thrower_SetGR(SB), AX
	CALL  AX
	MOVQ  R12, DI
	MOVL  $1, SI                         // DX
	MOVQ  BX, DX
	MOVQ  ·thrower+Thrower_SetGR(SB), AX
	CALL  AX
	ADDQ  $const_align, SP
	POPQ  R12
	POPQ  BX
	MOVL  $const_installContext, AX
	RET

pass:
	MOVL $const_continueUnwind, AX
	RET

// void catch(char const** type, _Unwind_Exception*) ends the exception and
// stores the name of its type, 0 if it has none.
TEXT tvmffi_catch(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX
	MOVQ  DI, BX
	MOVQ  SI, DI
	MOVQ  ·thrower+Thrower_BeginCatch(SB), AX
	CALL  AX
	MOVQ  ·thrower+Thrower_CurrentType(SB), AX
	CALL  AX
	TESTQ AX, AX
	JEQ   unknown
	MOVQ  typeInfo_name(AX), AX

unknown:
	MOVQ AX, (BX)
	MOVQ ·thrower+Thrower_EndCatch(SB), AX
	CALL AX
	POPQ BX
	RET
