//go:build (linux || darwin) && !tvmffi_portable

#include "textflag.h"
#include "go_asm.h"

// func getg() uintptr
TEXT ·getg(SB), NOSPLIT, $0-8
	MOVD g, ret+0(FP)
	RET

// func firstSeat() *seat
TEXT ·firstSeat(SB), NOSPLIT, $0-8
	LSR  $const_seatShift, g, R1
	MOVD $const_seatHash, R2
	MULW R2, R1, R1
	LSRW $const_seatDrop, R1, R1
	MOVD $·seats(SB), R2
	MOVD (R2)(R1<<const_wordShift), R2
	CBZ  R2, found
	MOVD seat_g(R2), R3
	CMP  g, R3
	BEQ  found
	MOVD $·otherSeat(SB), R2

found:
	MOVD R2, ret+0(FP)
	RET

// void callBlock(Head*), C calling convention, on the system stack. Head.Res begins with
// the g that called, whose first words are the ends of its stack.
TEXT tvmffi_callBlock(SB), NOSPLIT, $callStack__size
	STP  (R19, R20), callStack_r19(RSP)
	STP  (R21, R22), callStack_r21(RSP)
	MOVD R23, callStack_r23(RSP)
	MOVD R0, R19
	MOVD Head_Res(R19), R23

#include "block_arm64.h"

done:
	MOVD callStack_r23(RSP), R23
	LDP  callStack_r19(RSP), (R19, R20)
	LDP  callStack_r21(RSP), (R21, R22)
	RET

// void drop(void* object), C calling convention, on the system stack: TVMFFIObjectDecRef.
// The error of one that fails is dropped.
TEXT tvmffi_drop(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -dropStack__size(RSP)
	MOVD  ·decRef(SB), R9
	BL    (R9)
	CBNZW R0, failed

dropped:
	LDP.P dropStack__size(RSP), (R29, R30)
	RET

failed:
#ifdef GOOS_linux
	MOVD $const_Thrown, R9
	CMPW R9, R0
	BEQ  thrown

#endif
	ADD  $dropStack_err, RSP, R0
	MOVD ZR, (R0)
	MOVD ·errorMove(SB), R9
	BL   (R9)
	MOVD dropStack_err(RSP), R0
	CBZ  R0, dropped
	MOVD ·decRef(SB), R9
	BL   (R9)
	B    dropped

#ifdef GOOS_linux
thrown:  // R1: the exception
	ADD $dropStack_err, RSP, R0
	BL  tvmffi_catch(SB)
	B   dropped

#endif
// int callback(void* handle, const Any* args, int32_t n, Any* result), a
// TVMFFISafeCallType. crosscall2 saves the callee-saved registers of C.
// The assembler would save R29 below the stack pointer, where crosscall2 writes.
TEXT tvmffi_callback(SB), NOSPLIT|NOFRAME, $0
	MOVD $·unusual(SB), R4
	MOVD (R4), R5
	CBNZ R5, special
	B    tvmffi_enterGo(SB)

special:
	MOVW  unusualState_forked(R4), R5
	CBNZW R5, refused
	MOVD  $·lightCallback(SB), R4
	MOVD  (R4), R4
	JMP   (R4)

refused:
	B tvmffi_refuse(SB)

// int enterGo(void* handle, const Any* args, int32_t n, Any* result): what callback does where
// nothing is unusual.
TEXT tvmffi_enterGo(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -callbackStack__size(RSP)
	MOVD  Released_Call(R0), R4
	MOVD  R4, (callbackStack_call+CallbackFrame_Call)(RSP)
	MOVD  R0, (callbackStack_call+CallbackFrame_Handle)(RSP)
	MOVD  R1, (callbackStack_call+CallbackFrame_Args)(RSP)
	SXTW  R2, R2
	MOVD  R2, (callbackStack_call+CallbackFrame_N)(RSP)
	MOVD  R3, (callbackStack_call+CallbackFrame_Res)(RSP)
	MOVD  $const_Running, R4
	MOVD  R4, (callbackStack_call+CallbackFrame_RC)(RSP)
	MOVD  ZR, (callbackStack_call+CallbackFrame_Side)(RSP)
	MOVD  ZR, (callbackStack_call+CallbackFrame_seat)(RSP)
	STP   (R27, g), callbackStack_r27(RSP)
	MOVD  ZR, g
	BL    runtime·load_g(SB)                                 // the g of the C stack, if the thread has one
	MOVD  g, (callbackStack_call+CallbackFrame_Stack)(RSP)
	LDP   callbackStack_r27(RSP), (R27, g)
	MOVD  $tvmffi_enter(SB), R0
	ADD   $callbackStack_call, RSP, R1
	MOVD  ZR, R3
	BL    crosscall2(SB)
	MOVD  (callbackStack_call+CallbackFrame_RC)(RSP), R0
	LDP.P callbackStack__size(RSP), (R29, R30)
	RET

// void enter(CallbackFrame*), Go calling convention, on the goroutine stack: makes the
// callback the current one of the seat of the g, if it is in the first place, and goes on
// to the callbackEntry.
// R0: the frame.
TEXT tvmffi_enter(SB), NOSPLIT|NOFRAME, $0
	LSR  $const_seatShift, g, R1
	MOVD $const_seatHash, R2
	MULW R2, R1, R1
	LSRW $const_seatDrop, R1, R1
	MOVD $·seats(SB), R2
	MOVD (R2)(R1<<const_wordShift), R2
	CBZ  R2, entry
	MOVD seat_g(R2), R3
	CMP  g, R3
	BNE  entry
	MOVD seat_current(R2), R3
	MOVD R3, CallbackFrame_outer(R0)
	MOVD R2, CallbackFrame_seat(R0)
	MOVD seat_last(R2), R3
	ADD  $1, R3
	MOVD R3, seat_last(R2)
	MOVD R3, seat_current(R2)

entry:
	MOVD ·callbackEntry(SB), R26
	MOVD (R26), R1
	JMP  (R1)

// int allocateTensor(DLTensor* prototype, DLManagedTensorVersioned** out, void* context, setError), a
// DLPackManagedTensorAllocator: a call of allocatorNode with these addresses.
TEXT tvmffi_allocateTensor(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -allocateStack__size(RSP)
	MOVD  $const_typeOpaquePtr, R4
	STP   (R4, R0), allocateStack_prototype(RSP)
	STP   (R4, R1), allocateStack_out(RSP)
	STP   (R4, R2), allocateStack_context(RSP)
	STP   (R4, R3), allocateStack_setError(RSP)
	MOVD  $·allocatorNode(SB), R0
	MOVD  (R0), R0
	ADD   $allocateStack_prototype, RSP, R1
	MOVD  $const_allocatorArgs, R2
	ADD   $allocateStack_result, RSP, R3
	MOVD  $·Entry(SB), R9
	MOVD  (R9), R9
	CBNZ  R9, guarded
	MOVD  $tvmffi_callback(SB), R9

guarded:
	BL    (R9)
	LDP.P allocateStack__size(RSP), (R29, R30)
	RET

// void forked(void), which runs in a forked process, and int refuse(...): what callback does
// there.
TEXT tvmffi_forked(SB), NOSPLIT|NOFRAME, $0
	MOVD $·unusual(SB), R0
	MOVD $1, R1
	MOVW R1, unusualState_forked(R0)
	RET

TEXT tvmffi_refuse(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -saved0__size(RSP)
	MOVD  $·forkKind(SB), R0
	MOVD  (R0), R0
	MOVD  $·forkMessage(SB), R1
	MOVD  $1, R2
	MOVD  $·forkRaise(SB), R9
	MOVD  (R9), R9
	BL    (R9)
	MOVD  $const_failed, R0
	LDP.P saved0__size(RSP), (R29, R30)
	RET

// void* noSpecific(...), in place of pthread_getspecific and pthread_setspecific.
TEXT tvmffi_noSpecific(SB), NOSPLIT|NOFRAME, $0
	MOVD ZR, R0
	RET

// void releaseObject(Released* node, int flags), the deleter of an object: pushes node on the
// list releasedHead. The memory is free when the last weak reference has gone.
TEXT tvmffi_releaseObject(SB), NOSPLIT|NOFRAME, $0
	TBZ  $const_deleterWeakBit, R1, live
	MOVD $·releasedHead(SB), R1

retry:
	LDAXR (R1), R2
	MOVD  R2, Released_Next(R0)
	STLXR R0, (R1), R3
	CBNZ  R3, retry

live:
	RET
