//go:build linux && !tvmffi_portable && !race && !msan && !asan

#include "textflag.h"
#include "go_asm.h"

// MARK puts the address of the place for the mark of a g0 into m. It changes AX.
#define MARK(g0, m) \
	MOVQ  g0, AX;               \
	SHRQ  $const_markDrop, AX;  \
	IMULL $const_markHash, AX;  \
	SHRL  $const_markRest, AX;  \
	SHLQ  $const_markShift, AX; \
	LEAQ  ·marks(SB), m;        \
	ADDQ  AX, m

// SETG makes g the g of the thread. It changes AX.
#define SETG(g) \
	MOVQ TLS, AX;        \
	MOVQ g, 0(AX)(TLS*1)

// CLOCK writes the time into the mark at R15. It changes AX, CX, DI, SI and R11.
#define CLOCK \
	MOVL $const_clockMonotonic, DI;  \
	LEAQ mark_seconds(R15), SI;      \
	MOVL $const_sysClockGettime, AX; \
	SYSCALL

// func lightBlock(h uintptr) (how uintptr), the convention of Go: h and how are in AX, the g is in
// R14. It is cgocall, without a word to the scheduler, and callBlock in one.
// R15: the mark.
TEXT tvmffi_lightBlock(SB), NOSPLIT|NOFRAME, $0
	MOVQ   AX, BX
	MOVQ   const_gM(R14), CX
	MOVQ   (CX), DX
	MARK(DX, R15)
	CMPQ   mark_g0(R15), DX
	JNE    unmarked
	MOVQ   SP, const_schedSP(R14)
	MOVQ   BP, const_schedBP(R14)
	SETG(DX)
	MOVQ   const_schedSP(DX), SP
	ANDQ   $const_stackAlign, SP
	SUBQ   $unwindStack__size, SP
	MOVUPS X15, (SP)              // here the unwinder ends
	MOVQ   SP, BP
	SUBQ   $callStack__size, SP
	MOVQ   R14, mark_g(R15)

#include "block_amd64.h"

done:
	MOVQ  mark_g(R15), CX
	MOVQ  $0, mark_g(R15)
	MOVQ  const_schedSP(R14), SP
	MOVQ  const_schedBP(R14), BP
	SETG(R14)
	XORPS X15, X15
	XORL  AX, AX
	TESTL $const_upgraded, CX
	JNE   ordinary
	RET

ordinary:
	MOVQ   const_gM(R14), AX
	MOVB   $0, const_mInCgo(AX)
	DECL   const_mNCgo(AX)
	MOVQ   mark_seconds(R15), R12
	MOVQ   mark_nanoseconds(R15), BX
	CLOCK
	SUBQ   mark_seconds(R15), R12
	SUBQ   mark_nanoseconds(R15), BX
	IMUL3Q $const_second, R12, R12
	ADDQ   R12, BX
	JMP    tvmffi_lightExit(SB)

unmarked:
	MOVL $const_Unmarked, AX
	RET

// lightEnter and lightExit are in the place of lightBlock while it calls the runtime: a traceback
// of a goroutine that the scheduler takes for one in C finds lightEnter, which has no frame.
TEXT tvmffi_lightEnter(SB), NOSPLIT|NOFRAME, $0
	CALL runtime·entersyscall(SB)
	JMP  tvmffi_lightEntered(SB)

// lightExit gets the time since the upgrade in BX, with the sign turned.
TEXT tvmffi_lightExit(SB), NOSPLIT|NOFRAME, $0
	CMPQ BX, $-const_brief
	JLT  late
	CALL runtime·exitsyscall(SB)
	MOVL $const_Upgraded, AX
	RET

late:
	CALL runtime·exitsyscall(SB)
	MOVL $const_Late, AX
	RET

// upgrade, on a stack that C does not use, tells the scheduler that the goroutine is in C.
// R12: the g0. R13: the g. R15: the mark. CX: the end of the free part of the system stack. It
// keeps these but CX, BP, and no other register.
TEXT tvmffi_upgrade(SB), NOSPLIT|NOFRAME, $0
	MOVQ  SP, mark_sp(R15)
	MOVQ  BP, mark_link(R15)
	MOVQ  const_schedSP(R12), AX
	MOVQ  AX, mark_base(R15)
	SUBQ  $const_redZone, CX
	ANDQ  $const_stackAlign, CX
	MOVQ  CX, const_schedSP(R12)
	MOVQ  const_schedBP(R13), BP
	MOVQ  const_schedSP(R13), SP
	SETG(R13)
	MOVQ  R13, R14
	XORPS X15, X15
	JMP   tvmffi_lightEnter(SB)

// lightEntered is the rest of upgrade. The scheduler may have used the place of the g's registers:
// they are those of lightEnter again, for a traceback, and for lightBlock.
TEXT tvmffi_lightEntered(SB), NOSPLIT|NOFRAME, $0
	MOVQ  (TLS), R13
	MOVQ  SP, const_schedSP(R13)
	MOVQ  BP, const_schedBP(R13)
	LEAQ  tvmffi_lightEnter+const_callSize(SB), AX
	MOVQ  AX, const_schedPC(R13)
	MOVQ  const_gM(R13), CX
	MOVB  $1, const_mInCgo(CX)
	INCL  const_mNCgo(CX)
	MOVQ  (CX), R12
	MARK(R12, R15)
	MOVQ  mark_base(R15), AX
	MOVQ  AX, const_schedSP(R12)
	SETG(R12)
	MOVQ  mark_sp(R15), SP
	XCHGQ BP, mark_link(R15)
	RET

// void urgent(int, siginfo_t*, ucontext_t*), in front of the handler of the runtime.
TEXT tvmffi_urgent(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BP
	PUSHQ BX
	PUSHQ R12
	PUSHQ R13
	PUSHQ R14
	PUSHQ R15
	SUBQ  $const_align, SP
	MOVL  DI, R12
	MOVQ  SI, R13
	MOVQ  DX, BX
	MOVQ  ·goHandler(SB), AX
	CALL  AX
	MOVQ  (TLS), R12
	TESTQ R12, R12
	JEQ   out
	MARK(R12, R15)
	CMPQ  mark_g0(R15), R12
	JNE   out
	MOVQ  mark_g(R15), R13
	TESTQ R13, R13
	JEQ   out
	TESTL $const_upgraded, R13
	JNE   out
	MOVQ  const_ucontextPC(BX), AX
	SUBQ  ·lightLow(SB), AX
	CMPQ  AX, ·lightSize(SB)
	JLO   out
	MOVQ  const_ucontextSP(BX), CX
	CMPQ  CX, const_stackHigh(R12)
	JHI   out                                     // on a stack of its own
	MOVQ  CX, AX
	SUBQ  $const_reserve, AX
	CMPQ  AX, const_stackLow(R12)
	JLO   out
	MOVQ  BX, (SP)
	CALL  tvmffi_upgrade(SB)
	ORQ   $const_upgraded, mark_g(R15)
	CLOCK
	MOVQ  (SP), BX
	CMPQ  const_ucontextResult(BX), $-const_eintr
	JNE   out
	MOVQ  $0, mark_seconds(R15)                   // a system call that ends too early: the next ones shall be ordinary

out:
	ADDQ $const_align, SP
	POPQ R15
	POPQ R14
	POPQ R13
	POPQ R12
	POPQ BX
	POPQ BP
	RET

// void urgentFirst(int, siginfo_t*, ucontext_t*): urgent, and then the handler in whose place it is.
// That one may call urgent.
TEXT tvmffi_urgentFirst(SB), NOSPLIT|NOFRAME, $0
	SUBQ $firstStack__size, SP
	MOVQ DI, firstStack_signal(SP)
	MOVQ SI, firstStack_info(SP)
	MOVQ DX, firstStack_context(SP)
	CALL tvmffi_urgent(SB)
	MOVQ ·nextHandler(SB), AX
	CMPQ AX, $1                     // SIG_DFL and SIG_IGN are 0 and 1
	JLS  alone
	MOVQ firstStack_signal(SP), DI
	MOVQ firstStack_info(SP), SI
	MOVQ firstStack_context(SP), DX
	CALL AX

alone:
	ADDQ $firstStack__size, SP
	RET

// int lightCallback(void* handle, const Any* args, int32_t n, Any* result): callback of a thread
// that may be in a light call. C gets its registers back from enterGo.
TEXT tvmffi_lightCallback(SB), NOSPLIT|NOFRAME, $0
	MOVQ  (TLS), R8
	TESTQ R8, R8
	JEQ   plain
	MARK(R8, R9)
	CMPQ  mark_g0(R9), R8
	JNE   plain
	CMPQ  mark_g(R9), $0
	JEQ   plain
	PUSHQ BP
	PUSHQ BX
	PUSHQ R12
	PUSHQ R13
	PUSHQ R14
	PUSHQ R15
	SUBQ  $lightStack_r15, SP
	MOVQ  DI, lightStack_handle(SP)
	MOVQ  SI, lightStack_args(SP)
	MOVQ  DX, lightStack_n(SP)
	MOVQ  CX, lightStack_result(SP)
	MOVQ  R8, R12
	MOVQ  R9, R15
	MOVQ  mark_g(R15), R13
	TESTL $const_upgraded, R13
	JNE   entered
	XORL  R13, R13
	XCHGQ R13, mark_g(R15)          // from here on the signal leaves the call alone
	TESTL $const_upgraded, R13
	JNE   entered
	MOVQ  SP, CX
	CALL  tvmffi_upgrade(SB)
	ORQ   $const_upgraded, R13
	MOVQ  $0, mark_seconds(R15)     // long ago

entered:
	MOVQ $0, mark_g(R15)
	MOVQ lightStack_handle(SP), DI
	MOVQ lightStack_args(SP), SI
	MOVQ lightStack_n(SP), DX
	MOVQ lightStack_result(SP), CX
	CALL tvmffi_enterGo(SB)
	MOVQ R13, mark_g(R15)
	ADDQ $lightStack_r15, SP
	POPQ R15
	POPQ R14
	POPQ R13
	POPQ R12
	POPQ BX
	POPQ BP
	RET

plain:
	JMP tvmffi_enterGo(SB)

// func lightOff(h uintptr) (how uintptr), in place of lightBlock.
TEXT tvmffi_lightOff(SB), NOSPLIT|NOFRAME, $0
	MOVL $const_Unmarked, AX
	RET

// int lightTest(pid, tid, ...), a light call that asks for its own upgrade.
TEXT tvmffi_lightTest(SB), NOSPLIT|NOFRAME, $0
	MOVL $const_sigurg, DX
	MOVL $const_sysTgkill, AX
	SYSCALL
	XORL AX, AX
	RET

// void* lightWatch(void* pid), a thread: when somebody has replaced urgent, it stops light calls,
// puts urgent in front of the new handler, and upgrades the calls in flight by signals of its own.
// BX: the process. R12: the ticks until it ends, once there are no more light calls.
TEXT tvmffi_lightWatch(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX
	PUSHQ R12
	PUSHQ R13
	PUSHQ R14
	SUBQ  $watchStack__size, SP
	MOVQ  DI, BX
	MOVQ  $~0, AX
	MOVQ  AX, watchStack_action(SP)
	MOVL  $const_sigSetmask, DI
	LEAQ  watchStack_action(SP), SI
	XORL  DX, DX
	MOVL  $const_word, R10
	MOVL  $const_sysSigprocmask, AX
	SYSCALL
	MOVL  $const_lastTicks, R12

tick:
	LEAQ ·watchTick(SB), DI
	XORL SI, SI
	MOVL $const_sysNanosleep, AX
	SYSCALL
	MOVL $const_sigurg, DI
	XORL SI, SI
	LEAQ watchStack_action(SP), DX
	MOVL $const_word, R10
	MOVL $const_sysSigaction, AX
	SYSCALL
	MOVQ watchStack_action(SP), CX
	LEAQ tvmffi_urgent(SB), DX
	LEAQ tvmffi_lightOff(SB), AX
	CMPQ AX, ·lightEntry(SB)
	JEQ  last
	CMPQ CX, DX
	JEQ  tick
	MOVQ CX, ·nextHandler(SB)
	MOVQ AX, ·lightEntry(SB)
	LEAQ tvmffi_urgentFirst(SB), DX
	MOVQ DX, ·urgentAction+sigaction_handler(SB)
	MOVL $const_sigurg, DI
	LEAQ ·urgentAction(SB), SI
	XORL DX, DX
	MOVL $const_word, R10
	MOVL $const_sysSigaction, AX
	SYSCALL

last:
	LEAQ ·marks(SB), R13
	LEAQ ·marks+const_marksSize(SB), R14

next:
	MOVQ  mark_g(R13), AX
	TESTQ AX, AX
	JEQ   skip
	TESTL $const_upgraded, AX
	JNE   skip
	MOVQ  const_gM(AX), AX
	TESTQ AX, AX
	JEQ   skip                  // it has ended its call, and waits
	MOVL  BX, DI
	MOVL  const_mProcid(AX), SI
	MOVL  $const_sigurg, DX
	MOVL  $const_sysTgkill, AX
	SYSCALL
	MOVL  $const_lastTicks, R12

skip:
	ADDQ $mark__size, R13
	CMPQ R13, R14
	JNE  next
	DECL R12
	JNE  tick
	ADDQ $watchStack__size, SP
	POPQ R14
	POPQ R13
	POPQ R12
	POPQ BX
	XORL AX, AX
	RET

// void lightProbe(probe*), by cgocall.
TEXT tvmffi_lightProbe(SB), NOSPLIT|NOFRAME, $0
	MOVQ    R14, probe_g(DI)
	MOVQ    (TLS), AX
	MOVQ    AX, probe_g0(DI)
	MOVQ    const_gM(AX), CX
	MOVQ    CX, probe_mOfG0(DI)
	MOVQ    const_gM(R14), CX
	MOVQ    CX, probe_m(DI)
	MOVQ    const_schedSP(R14), AX
	MOVQ    AX, probe_sp(DI)
	MOVQ    const_schedBP(R14), AX
	MOVQ    AX, probe_bp(DI)
	MOVQ    const_stackLow(R14), AX
	MOVQ    AX, probe_low(DI)
	MOVQ    const_stackHigh(R14), AX
	MOVQ    AX, probe_high(DI)
	MOVBQZX const_mInCgo(CX), AX
	MOVQ    AX, probe_inCgo(DI)
	MOVLQSX const_mNCgo(CX), AX
	MOVQ    AX, probe_nCgo(DI)
	MOVQ    const_mProcid(CX), AX
	MOVQ    AX, probe_procid(DI)
	XORL    AX, AX
	RET

// func threadG0() uintptr
TEXT ·threadG0(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ const_gM(AX), AX
	MOVQ (AX), AX
	MOVQ AX, ret+0(FP)
	RET

// func cgoState() (in, n uintptr)
TEXT ·cgoState(SB), NOSPLIT, $0-16
	MOVQ    (TLS), AX
	MOVQ    const_gM(AX), CX
	MOVBQZX const_mInCgo(CX), AX
	MOVQ    AX, in+0(FP)
	MOVLQSX const_mNCgo(CX), AX
	MOVQ    AX, n+8(FP)
	RET
