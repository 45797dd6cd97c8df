//go:build !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"

// _Unwind_Reason_Code personality(int version, _Unwind_Action actions, uint64_t class,
// _Unwind_Exception* exception, _Unwind_Context* context). It stops exceptions of C++
// at the call: the call returns Thrown, with the exception in R1.
TEXT tvmffi_personality(SB), NOSPLIT|NOFRAME, $0
	TBNZ  $3, R1, pass           // _UA_FORCE_UNWIND: the thread ends
	LSR   $8, R2, R2
	MOVD  $const_gnuClass, R9
	CMP   R9, R2
	BNE   pass
	TBZ   $0, R1, install        // _UA_SEARCH_PHASE
	MOVD  $6, R0                 // _URC_HANDLER_FOUND
	RET
install:
	STP.W (R29, R30), -32(RSP)
	STP   (R3, R4), 16(RSP)
	MOVD  R4, R0
	MOVD  ZR, R1                 // the DWARF number of R0
	MOVD  $const_Thrown, R2
	MOVD  $·thrower(SB), R9      // not through R27, which C wants back
	MOVD  Thrower_SetGR(R9), R9
	BL    (R9)
	LDP   16(RSP), (R2, R0)
	MOVD  $1, R1                 // that of R1
	MOVD  $·thrower(SB), R9      // not through R27, which C wants back
	MOVD  Thrower_SetGR(R9), R9
	BL    (R9)
	LDP.P 32(RSP), (R29, R30)
	MOVD  $7, R0                 // _URC_INSTALL_CONTEXT
	RET
pass:
	MOVD  $8, R0                 // _URC_CONTINUE_UNWIND
	RET

// void catch(char const** type, _Unwind_Exception*) ends the exception, and tells the
// name of its type, which is 0 if there is none.
TEXT tvmffi_catch(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -32(RSP)
	MOVD  R0, 16(RSP)
	MOVD  R1, R0
	MOVD  ·thrower+Thrower_BeginCatch(SB), R9
	BL    (R9)
	MOVD  ·thrower+Thrower_CurrentType(SB), R9
	BL    (R9)
	CBZ   R0, unknown
	MOVD  8(R0), R0              // std::type_info: a table, the name
unknown:
	MOVD  16(RSP), R1
	MOVD  R0, (R1)
	MOVD  ·thrower+Thrower_EndCatch(SB), R9
	BL    (R9)
	LDP.P 32(RSP), (R29, R30)
	RET
