//go:build (linux || darwin) && !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"

// func getg() uintptr
TEXT ·getg(SB), NOSPLIT, $0-8
	MOVQ  (TLS), AX
	MOVQ  AX, ret+0(FP)
	RET

// void probe(uintptr*): what callBlock takes for the g.
TEXT tvmffi_probe(SB), NOSPLIT|NOFRAME, $0
	MOVQ  R14, (DI)
	RET

// void callBlock(Head*), C calling convention, on the system stack. R14 still holds
// the g that called, whose first words are the ends of its stack.
// BX: the head. R12: top of the goroutine stack. R13: the g.
// -64(BP): result, -48(BP): error, -40(BP): return code, -32(BP): low end of the stack.
TEXT tvmffi_callBlock(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BP
	MOVQ  SP, BP
	PUSHQ BX
	PUSHQ R12
	PUSHQ R13
	SUBQ  $40, SP
	MOVQ  DI, BX
	MOVQ  R14, R13
	MOVQ  const_stackLow(R13), AX
	MOVQ  AX, -32(BP)
	MOVQ  const_stackHigh(R13), R12
	MOVQ  SP, R10
	MOVL  Head_Units(BX), CX
	SHLQ  $4, CX
	SUBQ  CX, SP
	MOVQ  SP, SI
	LEAQ  const_HeadSize(BX), R8
	JMP   copyTest
copy:
	SUBQ  $16, CX
	MOVQ  (R8)(CX*1), AX
	MOVQ  8(R8)(CX*1), R9
	MOVQ  AX, (SI)(CX*1)
	MOVQ  R9, 8(SI)(CX*1)
copyTest:
	TESTQ CX, CX
	JNE   copy
	MOVQ  Head_Mask(BX), R9
relocate:
	TESTQ R9, R9
	JEQ   second
	BSFQ  R9, AX
	ADDQ  SI, (SI)(AX*8)
	LEAQ  -1(R9), R11
	ANDQ  R11, R9
	JMP   relocate
second:
	MOVQ  Head_Handle(BX), DI
	MOVQ  Head_N(BX), DX
	MOVL  Head_Mode(BX), AX
	TESTL AX, AX
	JNE   other
call:
	XORL  AX, AX
	MOVQ  AX, 0(R10)
	MOVQ  AX, 8(R10)
	MOVQ  AX, 16(R10)
	MOVQ  R10, CX
	MOVQ  Head_Fn(BX), AX
	CALL  AX
	MOVLQSX AX, AX
	MOVQ  AX, -40(BP)
	LEAQ  -48(BP), DI
	TESTQ AX, AX
	JNE   failed
returned:
	MOVQ  const_stackHigh(R13), AX
	CMPQ  AX, R12
	JNE   moved
results:                       // 4+4+8 bytes: a wider load would miss store forwarding
	MOVL  -64(BP), CX
	MOVL  -60(BP), DX
	MOVQ  -56(BP), DI
	MOVL  CX, Head_Res(BX)
	MOVL  DX, (Head_Res+4)(BX)
	MOVQ  DI, (Head_Res+8)(BX)
	MOVQ  -48(BP), R8
	MOVQ  R8, Head_Err(BX)
	MOVQ  -40(BP), R8
	MOVQ  R8, Head_RC(BX)
	TESTQ R8, R8
	JNE   done
	CMPL  CX, $65                // a String object: address at 24, size at 32
	JNE   done
	MOVQ  Head_TextCap(BX), R9
	TESTQ R9, R9
	JEQ   done
	MOVQ  32(DI), DX
	CMPQ  DX, R9
	JHI   done
	LEAQ  1(DX), R11
	MOVQ  R11, Head_TextEnd(BX)
	MOVQ  24(DI), SI
	LEAQ  const_HeadSize(BX), R8
	XORL  CX, CX
	JMP   wordTest
word:
	MOVQ  (SI)(CX*1), R9
	MOVQ  R9, (R8)(CX*1)
	ADDQ  $8, CX
wordTest:
	LEAQ  8(CX), R11
	CMPQ  R11, DX
	JLS   word
	JMP   charTest
char:
	MOVB  (SI)(CX*1), R9
	MOVB  R9, (R8)(CX*1)
	INCQ  CX
charTest:
	CMPQ  CX, DX
	JLT   char
	MOVQ  ·decRef(SB), AX
	CALL  AX
done:
	LEAQ  -24(BP), SP
	POPQ  R13
	POPQ  R12
	POPQ  BX
	POPQ  BP
	RET
other:
	CMPL  AX, $const_Middle
	JEQ   middle
	CMPL  AX, $const_First
	JNE   notFirst
	MOVQ  SI, DI
notFirst:
	MOVQ  R10, SI
	CMPL  AX, $const_Value
	JNE   call
	MOVQ  Head_Word(BX), SI
	JMP   call
middle:
	MOVQ  R10, DX
	JMP   call
failed:
#ifdef GOOS_linux
	CMPQ  AX, $const_Thrown
	JEQ   thrown
#endif
	MOVQ  ·errorMove(SB), AX
	CALL  AX
	JMP   returned
#ifdef GOOS_linux
thrown:                        // DX: the exception
	MOVQ  DX, SI
	CALL  tvmffi_catch(SB)
	JMP   returned
#endif
moved:                         // the frame moved with the stack, if it was there
	CMPQ  BX, -32(BP)
	JLO   results
	CMPQ  BX, R12
	JHS   results
	SUBQ  R12, AX
	ADDQ  AX, BX
	JMP   results

// int callback(void* handle, const Any* args, int32_t n, Any* result), a
// TVMFFISafeCallType. It is crosscall2 of runtime/cgo and its caller in one: it saves
// the callee-saved registers of C and calls cgocallback(entry, frame, 0), whose
// arguments lie at 0(SP). The frame lies at 24(SP).
TEXT tvmffi_callback(SB), NOSPLIT|NOFRAME, $0
	ADJSP $136
	MOVQ  BP, 128(SP)
	LEAQ  128(SP), BP
	MOVQ  BX, 80(SP)
	MOVQ  R12, 88(SP)
	MOVQ  R13, 96(SP)
	MOVQ  R14, 104(SP)
	MOVQ  R15, 112(SP)
	MOVQ  Released_Call(DI), AX // read here, it is there when Go wants it
	MOVQ  AX, (24+CallbackFrame_Call)(SP)
	MOVQ  DI, (24+CallbackFrame_Handle)(SP)
	MOVQ  SI, (24+CallbackFrame_Args)(SP)
	MOVLQSX DX, DX
	MOVQ  DX, (24+CallbackFrame_N)(SP)
	MOVQ  CX, (24+CallbackFrame_Res)(SP)
	MOVQ  $const_Running, (24+CallbackFrame_RC)(SP)
	MOVQ  $0, (24+CallbackFrame_Side)(SP)
	MOVQ  ·callbackEntry(SB), AX
	MOVQ  (AX), AX
	LEAQ  24(SP), CX
	MOVQ  AX, 0(SP)
	MOVQ  CX, 8(SP)
	MOVQ  $0, 16(SP)
	CALL  runtime·cgocallback(SB)
	MOVQ  (24+CallbackFrame_RC)(SP), AX
	MOVQ  80(SP), BX
	MOVQ  88(SP), R12
	MOVQ  96(SP), R13
	MOVQ  104(SP), R14
	MOVQ  112(SP), R15
	MOVQ  128(SP), BP
	ADJSP $-136
	RET

// void releaseObject(Released* node, int flags), the deleter of an object: the
// memory is free when the last weak reference has gone, flag bit 1.
TEXT tvmffi_releaseObject(SB), NOSPLIT|NOFRAME, $0
	TESTL $2, SI
	JNE   free
	RET
free:
	JMP   tvmffi_release(SB)

// void release(Released* node): pushes node on the list releasedHead.
TEXT tvmffi_release(SB), NOSPLIT|NOFRAME, $0
	MOVQ  ·releasedHead(SB), AX
retry:
	MOVQ  AX, Released_Next(DI)
	LOCK
	CMPXCHGQ DI, ·releasedHead(SB)
	JNE   retry
	RET
