//go:build (linux || darwin) && !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"

// void callWithin(Within*), C calling convention, on the system stack. The
// description does not move: no address here is one of a goroutine stack.
// R19: the description. withinStack is for the arguments from the ninth on. The frame is
// of its own making, like those of vector_arm64.s.
TEXT tvmffi_callWithin(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -saved5__size(RSP)
	MOVD  R19, saved5_r19(RSP)
	SUB   $withinStack__size, RSP
	MOVD  R0, R19
	MOVD  Within_Get(R19), R9
	CBZ   R9, ready
	ADD   $Within_Before, R19, R0
	BL    (R9)
	CBNZW R0, failed
	MOVD  Within_Want(R19), R0
	MOVD  Within_Before(R19), R1
	CMP   R0, R1
	BEQ   ready
	MOVD  $const_AtSet, R2
	MOVD  R2, Within_Step(R19)
	MOVD  Within_Set(R19), R9
	BL    (R9)
	CBNZW R0, failed

ready:
	MOVD $const_AtFn, R2
	MOVD R2, Within_Step(R19)
	MOVD Within_Lookup(R19), R9
	CBZ  R9, call
	MOVD (Within_LookupArgs+0*const_word)(R19), R0
	MOVD (Within_LookupArgs+1*const_word)(R19), R1
	BL   (R9)
	MOVD Within_LookupTo(R19), R1
	MOVD R0, (R1)

call:
	MOVD (Within_Args+8*const_word)(R19), R0
	MOVD R0, (withinStack_args+0*const_word)(RSP)
	MOVD (Within_Args+9*const_word)(R19), R0
	MOVD R0, (withinStack_args+1*const_word)(RSP)
	MOVD (Within_Args+10*const_word)(R19), R0
	MOVD R0, (withinStack_args+2*const_word)(RSP)
	MOVD (Within_Args+0*const_word)(R19), R0
	MOVD (Within_Args+1*const_word)(R19), R1
	MOVD (Within_Args+2*const_word)(R19), R2
	MOVD (Within_Args+3*const_word)(R19), R3
	MOVD (Within_Args+4*const_word)(R19), R4
	MOVD (Within_Args+5*const_word)(R19), R5
	MOVD (Within_Args+6*const_word)(R19), R6
	MOVD (Within_Args+7*const_word)(R19), R7
	MOVD Within_Fn(R19), R9
	BL   (R9)
	SXTW R0, R0
	MOVD R0, Within_RC(R19)
	MOVD Within_Before(R19), R0
	MOVD Within_Want(R19), R1
	CMP  R0, R1
	BEQ  done
	MOVD Within_Set(R19), R9
	BL   (R9)
	SXTW R0, R0
	MOVD R0, Within_Back(R19)
	B    done

failed:
	SXTW R0, R0
	MOVD R0, Within_RC(R19)

done:
	ADD   $withinStack__size, RSP
	MOVD  saved5_r19(RSP), R19
	LDP.P saved5__size(RSP), (R29, R30)
	MOVD  ZR, R0
	RET
