//go:build (linux || darwin) && !tvmffi_portable && !tvmffi_nobind

#include "textflag.h"
#include "go_asm.h"

// func bindVariables() (bindm *uintptr, created **uintptr)
TEXT ·bindVariables(SB), NOSPLIT, $0-16
	MOVQ $_cgo_bindm(SB), AX
	MOVQ AX, bindm+0(FP)
	MOVQ $_cgo_pthread_key_created(SB), AX
	MOVQ AX, created+8(FP)
	RET

// void bindM(void* g), on the thread that gets an M: pthread_setspecific(key, g).
TEXT tvmffi_bindM(SB), NOSPLIT|NOFRAME, $0
	MOVQ DI, SI
	MOVQ ·bindKey(SB), DI
	MOVQ ·setSpecific(SB), AX
	JMP  AX

// void unbindM(void* g), the destructor of the key: crosscall2(NULL, g, 0, 0)
// gives the M back.
TEXT tvmffi_unbindM(SB), NOSPLIT|NOFRAME, $0
	SUBQ $const_align, SP
	MOVQ DI, SI
	XORL DI, DI
	XORL DX, DX
	XORL CX, CX
	CALL crosscall2(SB)
	ADDQ $const_align, SP
	RET
