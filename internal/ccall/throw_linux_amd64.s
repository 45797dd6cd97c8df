//go:build !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"

// _Unwind_Reason_Code personality(int version, _Unwind_Action actions, uint64_t class,
// _Unwind_Exception* exception, _Unwind_Context* context). It stops exceptions of C++
// at the call: the call returns Thrown, with the exception in DX.
TEXT tvmffi_personality(SB), NOSPLIT|NOFRAME, $0
	TESTL $8, SI                 // _UA_FORCE_UNWIND: the thread ends
	JNE   pass
	SHRQ  $8, DX
	MOVQ  $const_gnuClass, AX
	CMPQ  DX, AX
	JNE   pass
	TESTL $1, SI                 // _UA_SEARCH_PHASE
	JEQ   install
	MOVL  $6, AX                 // _URC_HANDLER_FOUND
	RET
install:
	PUSHQ BX
	PUSHQ R12
	SUBQ  $8, SP
	MOVQ  CX, BX
	MOVQ  R8, R12
	MOVQ  R12, DI
	XORL  SI, SI                 // the DWARF number of AX
	MOVQ  $const_Thrown, DX
	MOVQ  ·thrower+Thrower_SetGR(SB), AX
	CALL  AX
	MOVQ  R12, DI
	MOVL  $1, SI                 // that of DX
	MOVQ  BX, DX
	MOVQ  ·thrower+Thrower_SetGR(SB), AX
	CALL  AX
	ADDQ  $8, SP
	POPQ  R12
	POPQ  BX
	MOVL  $7, AX                 // _URC_INSTALL_CONTEXT
	RET
pass:
	MOVL  $8, AX                 // _URC_CONTINUE_UNWIND
	RET

// void catch(char const** type, _Unwind_Exception*) ends the exception, and tells the
// name of its type, which is 0 if there is none.
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
	MOVQ  8(AX), AX              // std::type_info: a table, the name
unknown:
	MOVQ  AX, (BX)
	MOVQ  ·thrower+Thrower_EndCatch(SB), AX
	CALL  AX
	POPQ  BX
	RET
