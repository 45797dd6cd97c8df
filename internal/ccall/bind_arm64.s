//go:build (linux || darwin) && !tvmffi_portable && !tvmffi_nobind

#include "textflag.h"
#include "go_asm.h"

// func bindVariables() (bindm *uintptr, created **uintptr)
TEXT ·bindVariables(SB), NOSPLIT, $0-16
	MOVD $_cgo_bindm(SB), R0
	MOVD R0, bindm+0(FP)
	MOVD $_cgo_pthread_key_created(SB), R0
	MOVD R0, created+8(FP)
	RET

// void bindM(void* g), on the thread that gets an M: pthread_setspecific(key, g).
TEXT tvmffi_bindM(SB), NOSPLIT|NOFRAME, $0
	MOVD R0, R1
	MOVD ·bindKey(SB), R0
	MOVD ·setSpecific(SB), R9
	B    (R9)

// void unbindM(void* g), the destructor of the key: crosscall2(NULL, g, 0, 0)
// gives the M back.
TEXT tvmffi_unbindM(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -saved0__size(RSP)
	MOVD  R0, R1
	MOVD  ZR, R0
	MOVD  ZR, R2
	MOVD  ZR, R3
	BL    crosscall2(SB)
	LDP.P saved0__size(RSP), (R29, R30)
	RET
