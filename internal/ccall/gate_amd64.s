//go:build (linux || darwin) && !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"

// void gatedBlock(Head*): callBlock behind the gate. R14 stays the g.
TEXT tvmffi_gatedBlock(SB), NOSPLIT|NOFRAME, $0
	MOVL  ·closed(SB), AX
	TESTL AX, AX
	JNE   closed
	JMP   tvmffi_callBlock(SB)

closed:
	PUSHQ DI
	MOVQ  ·hostThread(SB), AX
	CALL  AX
	POPQ  DI
	CMPQ  AX, ·lastThread(SB)
	JNE   refused
	JMP   tvmffi_callBlock(SB)

refused:
	MOVL $const_Ended, Head_RC(DI)
	MOVQ $0, (Head_Res+abiAny_Bits)(DI)
	RET

// void gatedDrop(void* object): drop behind the gate.
TEXT tvmffi_gatedDrop(SB), NOSPLIT|NOFRAME, $0
	MOVL  ·closed(SB), AX
	TESTL AX, AX
	JNE   closed
	JMP   tvmffi_drop(SB)

closed:
	PUSHQ DI
	MOVQ  ·hostThread(SB), AX
	CALL  AX
	POPQ  DI
	CMPQ  AX, ·lastThread(SB)
	JNE   refused
	JMP   tvmffi_drop(SB)

refused:
	RET

// void gatedAll(Vector*): callAll behind the gate.
TEXT tvmffi_gatedAll(SB), NOSPLIT|NOFRAME, $0
	MOVL  ·closed(SB), AX
	TESTL AX, AX
	JNE   closed
	JMP   tvmffi_callAll(SB)

closed:
	PUSHQ DI
	MOVQ  ·hostThread(SB), AX
	CALL  AX
	POPQ  DI
	CMPQ  AX, ·lastThread(SB)
	JNE   refused
	JMP   tvmffi_callAll(SB)

refused:  // Left becomes the number of all calls
	MOVQ $const_Ended, Vector_RC(DI)
	MOVQ Vector_End(DI), AX
	SUBQ Vector_Results(DI), AX
	SHRQ $const_anyShift, AX
	MOVQ AX, Vector_Left(DI)
	RET
