//go:build !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"

// _Unwind_Reason_Code personality(int version, _Unwind_Action actions, uint64_t class,
// _Unwind_Exception* exception, _Unwind_Context* context). It stops exceptions of C++
// at the call: the call returns Thrown, with the exception in R1.
TEXT tvmffi_personality(SB), NOSPLIT|NOFRAME, $0
	TBNZ $const_forceUnwindBit, R1, pass    // the thread ends
	LSR  $const_classShift, R2, R2
	MOVD $const_gnuClass, R9
	CMP  R9, R2
	BNE  pass
	TBZ  $const_searchPhaseBit, R1, install
	MOVD $const_handlerFound, R0
	RET

install:
	STP.W (R29, R30), -personalityStack__size(RSP)
	STP   (R3, R4), personalityStack_exception(RSP)
	MOVD  R4, R0
	MOVD  ZR, R1                                    // R0 by the number of DWARF
	MOVD  $const_Thrown, R2
	MOVD  $·thrower(SB), R9                         // not through R27, which C wants back
	MOVD  Thrower_SetGR(R9), R9
	BL    (R9)
	LDP   personalityStack_exception(RSP), (R2, R0)
	MOVD  $1, R1                                    // R1
	MOVD  $·thrower(SB), R9                         // not through R27, which C wants back
	MOVD  Thrower_SetGR(R9), R9
	BL    (R9)
	LDP.P personalityStack__size(RSP), (R29, R30)
	MOVD  $const_installContext, R0
	RET

pass:
	MOVD $const_continueUnwind, R0
	RET

// void catch(char const** type, _Unwind_Exception*) ends the exception and
// stores the name of its type, 0 if it has none.
TEXT tvmffi_catch(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -catchStack__size(RSP)
	MOVD  R0, catchStack_name(RSP)
	MOVD  R1, R0
	MOVD  ·thrower+Thrower_BeginCatch(SB), R9
	BL    (R9)
	MOVD  ·thrower+Thrower_CurrentType(SB), R9
	BL    (R9)
	CBZ   R0, unknown
	MOVD  typeInfo_name(R0), R0

unknown:
	MOVD  catchStack_name(RSP), R1
	MOVD  R0, (R1)
	MOVD  ·thrower+Thrower_EndCatch(SB), R9
	BL    (R9)
	LDP.P catchStack__size(RSP), (R29, R30)
	RET
