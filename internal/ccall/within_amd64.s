//go:build (linux || darwin) && !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"

// void callWithin(Within*), C calling convention, on the system stack. The
// description does not move: no address here is one of a goroutine stack.
// BX: the description. The 48 bytes are for the arguments from the seventh on.
TEXT tvmffi_callWithin(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX
	SUBQ  $48, SP
	MOVQ  DI, BX
	LEAQ  Within_Before(BX), DI
	MOVQ  Within_Get(BX), AX
	CALL  AX
	TESTL AX, AX
	JNE   failed
	MOVQ  Within_Want(BX), DI
	CMPQ  DI, Within_Before(BX)
	JEQ   ready
	MOVQ  $const_AtSet, Within_Step(BX)
	MOVQ  Within_Set(BX), AX
	CALL  AX
	TESTL AX, AX
	JNE   failed
ready:
	MOVQ  $const_AtFn, Within_Step(BX)
	MOVQ  Within_Lookup(BX), AX
	TESTQ AX, AX
	JEQ   call
	MOVQ  (Within_LookupArgs+0)(BX), DI
	MOVQ  (Within_LookupArgs+8)(BX), SI
	CALL  AX
	MOVQ  Within_LookupTo(BX), CX
	MOVQ  AX, (CX)
call:
	MOVQ  (Within_Args+48)(BX), AX
	MOVQ  AX, 0(SP)
	MOVQ  (Within_Args+56)(BX), AX
	MOVQ  AX, 8(SP)
	MOVQ  (Within_Args+64)(BX), AX
	MOVQ  AX, 16(SP)
	MOVQ  (Within_Args+72)(BX), AX
	MOVQ  AX, 24(SP)
	MOVQ  (Within_Args+80)(BX), AX
	MOVQ  AX, 32(SP)
	MOVQ  (Within_Args+0)(BX), DI
	MOVQ  (Within_Args+8)(BX), SI
	MOVQ  (Within_Args+16)(BX), DX
	MOVQ  (Within_Args+24)(BX), CX
	MOVQ  (Within_Args+32)(BX), R8
	MOVQ  (Within_Args+40)(BX), R9
	MOVQ  Within_Fn(BX), AX
	CALL  AX
	MOVLQSX AX, AX
	MOVQ  AX, Within_RC(BX)
	MOVQ  Within_Before(BX), DI
	CMPQ  DI, Within_Want(BX)
	JEQ   done
	MOVQ  Within_Set(BX), AX
	CALL  AX
	MOVLQSX AX, AX
	MOVQ  AX, Within_Back(BX)
	JMP   done
failed:
	MOVLQSX AX, AX
	MOVQ  AX, Within_RC(BX)
done:
	ADDQ  $48, SP
	POPQ  BX
	RET
