//go:build (linux || darwin) && !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"

// func getg() uintptr
TEXT ·getg(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ AX, ret+0(FP)
	RET

// func firstSeat() *seat
TEXT ·firstSeat(SB), NOSPLIT, $0-8
	MOVQ  (TLS), AX
	MOVQ  AX, CX
	SHRQ  $const_seatShift, CX
	IMULL $const_seatHash, CX
	SHRL  $const_seatDrop, CX
	LEAQ  ·seats(SB), DX
	MOVQ  (DX)(CX*8), DX
	TESTQ DX, DX
	JEQ   found
	CMPQ  AX, seat_g(DX)
	JEQ   found
	LEAQ  ·otherSeat(SB), DX

found:
	MOVQ DX, ret+0(FP)
	RET

// void probe(uintptr*): what callBlock takes for the g.
TEXT tvmffi_probe(SB), NOSPLIT|NOFRAME, $0
	MOVQ R14, (DI)
	RET

// void callBlock(Head*), C calling convention, on the system stack. R14 still holds
// the g that called, whose first words are the ends of its stack. It does not keep BX and R12, as its
// caller is asmcgocall, for which no register survives a call but the stack pointer and BP.
TEXT tvmffi_callBlock(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BP
	MOVQ  SP, BP
	SUBQ  $callStack__size, SP
	MOVQ  DI, BX

#include "block_amd64.h"

done:
	MOVQ BP, SP
	POPQ BP
	RET

// void drop(void* object), C calling convention, on the system stack: TVMFFIObjectDecRef.
// The error of one that fails is dropped.
TEXT tvmffi_drop(SB), NOSPLIT|NOFRAME, $0
	SUBQ  $dropStack__size, SP
	MOVQ  ·decRef(SB), AX
	CALL  AX
	TESTL AX, AX
	JNE   failed

dropped:
	ADDQ $dropStack__size, SP
	RET

failed:
	LEAQ dropStack_err(SP), DI

#ifdef GOOS_linux
	CMPL AX, $const_Thrown
	JEQ  thrown

#endif
	MOVQ  $0, dropStack_err(SP)
	MOVQ  ·errorMove(SB), AX
	CALL  AX
	MOVQ  dropStack_err(SP), DI
	TESTQ DI, DI
	JEQ   dropped
	MOVQ  ·decRef(SB), AX
	CALL  AX
	JMP   dropped

#ifdef GOOS_linux
thrown:  // DX: the exception
	MOVQ DX, SI
	CALL tvmffi_catch(SB)
	JMP  dropped

#endif
// int callback(void* handle, const Any* args, int32_t n, Any* result), a
// TVMFFISafeCallType. It is crosscall2 of runtime/cgo and its caller in one: it saves
// the callee-saved registers of C and calls cgocallback(entry, frame, 0), whose
// arguments callbackStack begins with.
TEXT tvmffi_callback(SB), NOSPLIT|NOFRAME, $0
	CMPQ ·unusual(SB), $0
	JNE  special
	JMP  tvmffi_enterGo(SB)

special:
	CMPL ·unusual+unusualState_forked(SB), $0
	JNE  refused
	MOVQ ·lightCallback(SB), AX
	JMP  AX

refused:
	JMP tvmffi_refuse(SB)

// int enterGo(void* handle, const Any* args, int32_t n, Any* result): what callback does where
// nothing is unusual.
TEXT tvmffi_enterGo(SB), NOSPLIT|NOFRAME, $0
	ADJSP   $callbackStack__size
	MOVQ    BP, callbackStack_bp(SP)
	LEAQ    callbackStack_bp(SP), BP
	MOVQ    BX, callbackStack_bx(SP)
	MOVQ    R12, callbackStack_r12(SP)
	MOVQ    R13, callbackStack_r13(SP)
	MOVQ    R14, callbackStack_r14(SP)
	MOVQ    R15, callbackStack_r15(SP)
	MOVQ    Released_Call(DI), AX                                     // read here, it is there when Go wants it
	MOVQ    AX, (callbackStack_call+CallbackFrame_Call)(SP)
	MOVQ    DI, (callbackStack_call+CallbackFrame_Handle)(SP)
	MOVQ    SI, (callbackStack_call+CallbackFrame_Args)(SP)
	MOVLQSX DX, DX
	MOVQ    DX, (callbackStack_call+CallbackFrame_N)(SP)
	MOVQ    CX, (callbackStack_call+CallbackFrame_Res)(SP)
	MOVQ    $const_Running, (callbackStack_call+CallbackFrame_RC)(SP)
	MOVQ    $0, (callbackStack_call+CallbackFrame_Side)(SP)
	MOVQ    $0, (callbackStack_call+CallbackFrame_seat)(SP)
	MOVQ    (TLS), AX                                                 // the g of the C stack, if the thread has one
	MOVQ    AX, (callbackStack_call+CallbackFrame_Stack)(SP)
	LEAQ    tvmffi_enter(SB), AX
	LEAQ    callbackStack_call(SP), CX
	MOVQ    AX, callbackStack_entry(SP)
	MOVQ    CX, callbackStack_frame(SP)
	MOVQ    $0, callbackStack_context(SP)
	CALL    runtime·cgocallback(SB)
	MOVQ    (callbackStack_call+CallbackFrame_RC)(SP), AX
	MOVQ    callbackStack_bx(SP), BX
	MOVQ    callbackStack_r12(SP), R12
	MOVQ    callbackStack_r13(SP), R13
	MOVQ    callbackStack_r14(SP), R14
	MOVQ    callbackStack_r15(SP), R15
	MOVQ    callbackStack_bp(SP), BP
	ADJSP   $-callbackStack__size
	RET

// void enter(CallbackFrame*), Go calling convention, on the goroutine stack: makes the
// callback the current one of the seat of the g, if it is in the first place, and goes on
// to the callbackEntry.
// AX: the frame. R14: the g.
TEXT tvmffi_enter(SB), NOSPLIT|NOFRAME, $0
	MOVQ  R14, CX
	SHRQ  $const_seatShift, CX
	IMULL $const_seatHash, CX
	SHRL  $const_seatDrop, CX
	LEAQ  ·seats(SB), DX
	MOVQ  (DX)(CX*8), DX
	TESTQ DX, DX
	JEQ   entry
	CMPQ  R14, seat_g(DX)
	JNE   entry
	MOVQ  seat_current(DX), CX
	MOVQ  CX, CallbackFrame_outer(AX)
	MOVQ  DX, CallbackFrame_seat(AX)
	MOVQ  seat_last(DX), CX
	INCQ  CX
	MOVQ  CX, seat_last(DX)
	MOVQ  CX, seat_current(DX)

entry:
	MOVQ ·callbackEntry(SB), DX
	MOVQ (DX), CX
	JMP  CX

// int allocateTensor(DLTensor* prototype, DLManagedTensorVersioned** out, void* context, setError), a
// DLPackManagedTensorAllocator: a call of allocatorNode with these addresses.
TEXT tvmffi_allocateTensor(SB), NOSPLIT|NOFRAME, $0
	SUBQ  $allocateStack__size, SP
	MOVQ  $const_typeOpaquePtr, AX
	MOVQ  AX, (allocateStack_prototype+abiAny_TypeIndex)(SP)
	MOVQ  DI, (allocateStack_prototype+abiAny_Bits)(SP)
	MOVQ  AX, (allocateStack_out+abiAny_TypeIndex)(SP)
	MOVQ  SI, (allocateStack_out+abiAny_Bits)(SP)
	MOVQ  AX, (allocateStack_context+abiAny_TypeIndex)(SP)
	MOVQ  DX, (allocateStack_context+abiAny_Bits)(SP)
	MOVQ  AX, (allocateStack_setError+abiAny_TypeIndex)(SP)
	MOVQ  CX, (allocateStack_setError+abiAny_Bits)(SP)
	MOVQ  ·allocatorNode(SB), DI
	LEAQ  allocateStack_prototype(SP), SI
	MOVL  $const_allocatorArgs, DX
	LEAQ  allocateStack_result(SP), CX
	MOVQ  ·Entry(SB), AX
	TESTQ AX, AX
	JNE   guarded
	LEAQ  tvmffi_callback(SB), AX

guarded:
	CALL AX
	ADDQ $allocateStack__size, SP
	RET

// void forked(void), which runs in a forked process, and int refuse(...): what callback does
// there.
TEXT tvmffi_forked(SB), NOSPLIT|NOFRAME, $0
	MOVL $1, ·unusual+unusualState_forked(SB)
	RET

TEXT tvmffi_refuse(SB), NOSPLIT|NOFRAME, $0
	SUBQ $const_align, SP
	MOVQ ·forkKind(SB), DI
	LEAQ ·forkMessage(SB), SI
	MOVL $1, DX
	MOVQ ·forkRaise(SB), AX
	CALL AX
	MOVL $const_failed, AX
	ADDQ $const_align, SP
	RET

// void* noSpecific(...), in place of pthread_getspecific and pthread_setspecific.
TEXT tvmffi_noSpecific(SB), NOSPLIT|NOFRAME, $0
	XORL AX, AX
	RET

// void releaseObject(Released* node, int flags), the deleter of an object: pushes node on the
// list releasedHead. The memory is free when the last weak reference has gone.
TEXT tvmffi_releaseObject(SB), NOSPLIT|NOFRAME, $0
	TESTL $const_deleterWeak, SI
	JNE   free
	RET

free:
	MOVQ ·releasedHead(SB), AX

retry:
	MOVQ     AX, Released_Next(DI)
	LOCK
	CMPXCHGQ DI, ·releasedHead(SB)
	JNE      retry
	RET
