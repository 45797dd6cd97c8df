//go:build (linux || darwin) && !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"

// void callWithin(Within*), C calling convention, on the system stack. The
// description does not move: no address here is one of a goroutine stack.
// BX: the description. withinStack is for the arguments from the seventh on.
TEXT tvmffi_callWithin(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX
	SUBQ  $withinStack__size, SP
	MOVQ  DI, BX
	MOVQ  Within_Get(BX), AX
	TESTQ AX, AX
	JEQ   ready
	LEAQ  Within_Before(BX), DI
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
	MOVQ  (Within_LookupArgs+0*const_word)(BX), DI
	MOVQ  (Within_LookupArgs+1*const_word)(BX), SI
	CALL  AX
	MOVQ  Within_LookupTo(BX), CX
	MOVQ  AX, (CX)

call:
	MOVQ    (Within_Args+6*const_word)(BX), AX
	MOVQ    AX, (withinStack_args+0*const_word)(SP)
	MOVQ    (Within_Args+7*const_word)(BX), AX
	MOVQ    AX, (withinStack_args+1*const_word)(SP)
	MOVQ    (Within_Args+8*const_word)(BX), AX
	MOVQ    AX, (withinStack_args+2*const_word)(SP)
	MOVQ    (Within_Args+9*const_word)(BX), AX
	MOVQ    AX, (withinStack_args+3*const_word)(SP)
	MOVQ    (Within_Args+10*const_word)(BX), AX
	MOVQ    AX, (withinStack_args+4*const_word)(SP)
	MOVQ    (Within_Args+0*const_word)(BX), DI
	MOVQ    (Within_Args+1*const_word)(BX), SI
	MOVQ    (Within_Args+2*const_word)(BX), DX
	MOVQ    (Within_Args+3*const_word)(BX), CX
	MOVQ    (Within_Args+4*const_word)(BX), R8
	MOVQ    (Within_Args+5*const_word)(BX), R9
	MOVQ    Within_Fn(BX), AX
	CALL    AX
	MOVLQSX AX, AX
	MOVQ    AX, Within_RC(BX)
	MOVQ    Within_Before(BX), DI
	CMPQ    DI, Within_Want(BX)
	JEQ     done
	MOVQ    Within_Set(BX), AX
	CALL    AX
	MOVLQSX AX, AX
	MOVQ    AX, Within_Back(BX)
	JMP     done

failed:
	MOVLQSX AX, AX
	MOVQ    AX, Within_RC(BX)

done:
	ADDQ $withinStack__size, SP
	POPQ BX
	RET
