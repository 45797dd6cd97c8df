//go:build linux && !tvmffi_portable && !race && !msan && !asan

#include "textflag.h"
#include "go_asm.h"

// MARK puts the address of the place for the mark of a g0 into m, and the g0 of that mark into
// R1. It changes R2.
#define MARK(g0, m) \
	LSR  $const_markDrop, g0, R1;  \
	MOVD $const_markHash, R2;      \
	MULW R2, R1, R1;               \
	LSRW $const_markRest, R1;      \
	LSL  $const_markShift, R1, R1; \
	MOVD $·marks(SB), m;           \
	ADD  R1, m, m;                 \
	MOVD mark_g0(m), R1

// CLOCK writes the time into the mark m. It changes R0, R1 and R8.
#define CLOCK(m) \
	MOVD $const_clockMonotonic, R0;  \
	ADD  $mark_seconds, m, R1;       \
	MOVD $const_sysClockGettime, R8; \
	SVC

// SAVE and RESTORE keep the registers of C.
#define SAVE(at) \
	STP   (R19, R20), (at+registers_r19)(RSP); \
	STP   (R21, R22), (at+registers_r21)(RSP); \
	STP   (R23, R24), (at+registers_r23)(RSP); \
	STP   (R25, R26), (at+registers_r25)(RSP); \
	STP   (R27, g), (at+registers_r27)(RSP);   \
	FSTPD (F8, F9), (at+registers_f8)(RSP);    \
	FSTPD (F10, F11), (at+registers_f10)(RSP); \
	FSTPD (F12, F13), (at+registers_f12)(RSP); \
	FSTPD (F14, F15), (at+registers_f14)(RSP)

#define RESTORE(at) \
	LDP   (at+registers_r19)(RSP), (R19, R20); \
	LDP   (at+registers_r21)(RSP), (R21, R22); \
	LDP   (at+registers_r23)(RSP), (R23, R24); \
	LDP   (at+registers_r25)(RSP), (R25, R26); \
	LDP   (at+registers_r27)(RSP), (R27, g);   \
	FLDPD (at+registers_f8)(RSP), (F8, F9);    \
	FLDPD (at+registers_f10)(RSP), (F10, F11); \
	FLDPD (at+registers_f12)(RSP), (F12, F13); \
	FLDPD (at+registers_f14)(RSP), (F14, F15)

// func lightBlock(h uintptr) (how uintptr), the convention of Go: h and how are in R0. It is
// cgocall, without a word to the scheduler, and callBlock in one. Its frame is a goFrame.
// R24: the mark. R25: the g0, then what the mark held.
TEXT tvmffi_lightBlock(SB), NOSPLIT|NOFRAME, $0
	MOVD.W R30, -goFrame__size(RSP)
	MOVD   R29, -const_word(RSP)
	MOVD   R0, R19
	MOVD   g, R23
	MOVD   const_gM(g), R1
	MOVD   (R1), R25
	MARK(R25, R24)
	CMP    R1, R25
	BNE    unmarked
	MOVD   RSP, R1
	MOVD   R1, const_schedSP(R23)
	MOVD   R25, g
	BL     runtime·save_g(SB)
	MOVD   const_schedSP(R25), R1
	AND    $const_stackAlign, R1, R1
	SUB    $callStack__size, R1, R1
	MOVD   R1, RSP
	MOVD   ZR, callStack_r30(RSP)    // here the unwinder ends
	MOVD   R23, mark_g(R24)

#include "block_arm64.h"

done:
	MOVD   mark_g(R24), R25
	MOVD   ZR, mark_g(R24)
	MOVD   R23, g
	BL     runtime·save_g(SB)
	TBNZ   $const_upgradedBit, R25, ordinary
	MOVD   const_schedSP(g), R1
	MOVD   R1, RSP
	MOVD   -const_word(RSP), R29
	MOVD   ZR, R0
	MOVD.P goFrame__size(RSP), R30
	RET

ordinary:
	MOVD   const_gM(g), R1
	MOVB   ZR, const_mInCgo(R1)
	MOVW   const_mNCgo(R1), R2
	SUB    $1, R2, R2
	MOVW   R2, const_mNCgo(R1)
	LDP    mark_seconds(R24), (R20, R21)
	CLOCK(R24)
	LDP    mark_seconds(R24), (R2, R3)
	SUB    R20, R2, R2
	SUB    R21, R3, R3
	MOVD   $const_second, R4
	MADD   R4, R3, R2, R2
	MOVD   const_schedSP(g), R1
	MOVD   R1, RSP
	MOVD   -const_word(RSP), R29
	MOVD.P goFrame__size(RSP), R30
	B      tvmffi_lightExit(SB)

unmarked:
	MOVD   $const_Unmarked, R0
	MOVD.P goFrame__size(RSP), R30
	RET

// lightEnter and lightExit are in the place of lightBlock while they call the runtime, with the
// same frame: a traceback of a goroutine that the scheduler takes for one in C finds lightEnter.
TEXT tvmffi_lightEnter(SB), NOSPLIT, $0
	BL runtime·entersyscall(SB)
	B  tvmffi_lightEntered(SB)

// lightExit gets the time since the upgrade in R2.
TEXT tvmffi_lightExit(SB), NOSPLIT, $0
	MOVD $const_brief, R3
	CMP  R3, R2
	BGT  late
	BL   runtime·exitsyscall(SB)
	MOVD $const_Upgraded, R0
	RET

late:
	BL   runtime·exitsyscall(SB)
	MOVD $const_Late, R0
	RET

// upgrade, on a stack that C does not use, tells the scheduler that the goroutine is in C.
// R20: the g0. R21: the g. R22: the mark. R0: the end of the free part of the system stack. It
// keeps the first three, and no other register.
TEXT tvmffi_upgrade(SB), NOSPLIT|NOFRAME, $0
	MOVD   RSP, R1
	MOVD   R1, mark_sp(R22)
	MOVD   R30, mark_link(R22)
	MOVD   const_schedSP(R20), R1
	MOVD   R1, mark_base(R22)
	SUB    $const_redZone, R0, R0
	AND    $const_stackAlign, R0, R0
	MOVD   R0, const_schedSP(R20)
	MOVD   R21, g
	BL     runtime·save_g(SB)
	MOVD   R29, R0                   // C has it in its frame
	MOVD   const_schedSP(g), R1
	MOVD   R1, RSP
	MOVD   -const_word(RSP), R29
	MOVD.P goFrame__size(RSP), R30
	B      tvmffi_lightEnter(SB)

// lightEntered is the rest of upgrade. The scheduler may have used the place of the g's registers:
// they are those of lightEnter again, for a traceback, and for lightBlock.
TEXT tvmffi_lightEntered(SB), NOSPLIT|NOFRAME, $0
	MOVD RSP, R1
	MOVD R1, const_schedSP(g)
	MOVD R29, const_schedBP(g)
	MOVD R30, const_schedPC(g)
	MOVD g, R21
	MOVD const_gM(g), R3
	MOVD (R3), R20
	MOVD $1, R1
	MOVB R1, const_mInCgo(R3)
	MOVW const_mNCgo(R3), R1
	ADD  $1, R1, R1
	MOVW R1, const_mNCgo(R3)
	MARK(R20, R22)
	MOVD mark_base(R22), R1
	MOVD R1, const_schedSP(R20)
	MOVD R20, g
	BL   runtime·save_g(SB)
	MOVD mark_sp(R22), R1
	MOVD R1, RSP
	MOVD mark_link(R22), R30
	RET

// void urgent(int, siginfo_t*, ucontext_t*), in front of the handler of the runtime.
TEXT tvmffi_urgent(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -urgentStack__size(RSP)
	SAVE(urgentStack_c)
	MOVW  R0, R20
	MOVD  R1, R21
	MOVD  R2, R19
	MOVD  $·goHandler(SB), R9
	MOVD  (R9), R9
	BL    (R9)
	MOVD  ZR, g
	BL    runtime·load_g(SB)
	CBZ   g, out
	MOVD  g, R20
	MARK(R20, R22)
	CMP   R1, R20
	BNE   out
	MOVD  mark_g(R22), R21
	CBZ   R21, out
	TBNZ  $const_upgradedBit, R21, out
	MOVD  const_ucontextPC(R19), R1
	MOVD  $·lightLow(SB), R2
	MOVD  (R2), R2
	SUB   R2, R1, R1
	MOVD  $·lightSize(SB), R2
	MOVD  (R2), R2
	CMP   R2, R1
	BLO   out
	MOVD  const_ucontextSP(R19), R0
	MOVD  const_stackHigh(R20), R1
	CMP   R1, R0
	BHI   out                                 // on a stack of its own
	SUB   $const_reserve, R0, R1
	MOVD  const_stackLow(R20), R2
	CMP   R2, R1
	BLO   out
	MOVD  R19, urgentStack_context(RSP)
	BL    tvmffi_upgrade(SB)
	ORR   $const_upgraded, R21, R21
	MOVD  R21, mark_g(R22)
	CLOCK(R22)
	MOVD  urgentStack_context(RSP), R19
	MOVD  const_ucontextResult(R19), R1
	CMN   $const_eintr, R1
	BNE   out
	MOVD  ZR, mark_seconds(R22)               // a system call that ends too early: the next ones shall be ordinary

out:
	RESTORE(urgentStack_c)
	LDP.P urgentStack__size(RSP), (R29, R30)
	RET

// void urgentFirst(int, siginfo_t*, ucontext_t*): urgent, and then the handler in whose place it is.
// That one may call urgent.
TEXT tvmffi_urgentFirst(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -firstStack__size(RSP)
	STP   (R0, R1), firstStack_signal(RSP)
	MOVD  R2, firstStack_context(RSP)
	BL    tvmffi_urgent(SB)
	MOVD  $·nextHandler(SB), R9
	MOVD  (R9), R9
	CMP   $1, R9                             // SIG_DFL and SIG_IGN are 0 and 1
	BLS   alone
	LDP   firstStack_signal(RSP), (R0, R1)
	MOVD  firstStack_context(RSP), R2
	BL    (R9)

alone:
	LDP.P firstStack__size(RSP), (R29, R30)
	RET

// int lightCallback(void* handle, const Any* args, int32_t n, Any* result): callback of a thread
// that may be in a light call. C gets its registers back from enterGo.
TEXT tvmffi_lightCallback(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -lightStack__size(RSP)
	STP   (R0, R1), lightStack_handle(RSP)
	STP   (R2, R3), lightStack_n(RSP)
	SAVE(lightStack_c)
	MOVD  ZR, g
	BL    runtime·load_g(SB)
	CBZ   g, plain
	MOVD  g, R20
	MARK(R20, R22)
	CMP   R1, R20
	BNE   plain
	MOVD  mark_g(R22), R21
	CBZ   R21, plain
	ADD   $mark_g, R22, R1

take:
	LDXR  (R1), R21
	TBNZ  $const_upgradedBit, R21, entered
	STXR  ZR, (R1), R2                     // from here on the signal leaves the call alone
	CBNZW R2, take
	MOVD  RSP, R0
	BL    tvmffi_upgrade(SB)
	ORR   $const_upgraded, R21, R21
	MOVD  ZR, mark_seconds(R22)            // long ago

entered:
	MOVD  ZR, mark_g(R22)
	MOVD  RSP, R29
	LDP   lightStack_handle(RSP), (R0, R1)
	LDP   lightStack_n(RSP), (R2, R3)
	BL    tvmffi_enterGo(SB)
	MOVD  R21, mark_g(R22)
	RESTORE(lightStack_c)
	LDP.P lightStack__size(RSP), (R29, R30)
	RET

plain:
	RESTORE(lightStack_c)
	LDP   lightStack_handle(RSP), (R0, R1)
	LDP   lightStack_n(RSP), (R2, R3)
	LDP.P lightStack__size(RSP), (R29, R30)
	B     tvmffi_enterGo(SB)

// func lightOff(h uintptr) (how uintptr), in place of lightBlock.
TEXT tvmffi_lightOff(SB), NOSPLIT|NOFRAME, $0
	MOVD $const_Unmarked, R0
	RET

// int lightTest(pid, tid, ...), a light call that asks for its own upgrade.
TEXT tvmffi_lightTest(SB), NOSPLIT|NOFRAME, $0
	MOVD $const_sigurg, R2
	MOVD $const_sysTgkill, R8
	SVC
	MOVD ZR, R0
	RET

// void* lightWatch(void* pid), a thread: when somebody has replaced urgent, it stops light calls,
// puts urgent in front of the new handler, and upgrades the calls in flight by signals of its own.
// R9: the process. R10: the ticks until it ends, once there are no more light calls.
TEXT tvmffi_lightWatch(SB), NOSPLIT|NOFRAME, $0
	SUB  $watchStack__size, RSP
	MOVD R0, R9
	MOVD $~0, R1
	MOVD R1, watchStack_action(RSP)
	MOVD $const_sigSetmask, R0
	ADD  $watchStack_action, RSP, R1
	MOVD ZR, R2
	MOVD $const_word, R3
	MOVD $const_sysSigprocmask, R8
	SVC
	MOVD $const_lastTicks, R10

tick:
	MOVD $·watchTick(SB), R0
	MOVD ZR, R1
	MOVD $const_sysNanosleep, R8
	SVC
	MOVD $const_sigurg, R0
	MOVD ZR, R1
	ADD  $watchStack_action, RSP, R2
	MOVD $const_word, R3
	MOVD $const_sysSigaction, R8
	SVC
	MOVD watchStack_action(RSP), R4
	MOVD $tvmffi_urgent(SB), R5
	MOVD $tvmffi_lightOff(SB), R6
	MOVD $·lightEntry(SB), R7
	MOVD (R7), R3
	CMP  R3, R6
	BEQ  last
	CMP  R5, R4
	BEQ  tick
	MOVD $·nextHandler(SB), R5
	MOVD R4, (R5)
	MOVD R6, (R7)
	MOVD $tvmffi_urgentFirst(SB), R5
	MOVD $const_sigurg, R0
	MOVD $·urgentAction(SB), R1
	MOVD R5, sigaction_handler(R1)
	MOVD ZR, R2
	MOVD $const_word, R3
	MOVD $const_sysSigaction, R8
	SVC

last:
	MOVD $·marks(SB), R11
	MOVD $const_marksSize, R12
	ADD  R11, R12, R12

next:
	MOVD mark_g(R11), R4
	CBZ  R4, skip
	TBNZ $const_upgradedBit, R4, skip
	MOVD const_gM(R4), R4
	CBZ  R4, skip                     // it has ended its call, and waits
	MOVD R9, R0
	MOVD const_mProcid(R4), R1
	MOVD $const_sigurg, R2
	MOVD $const_sysTgkill, R8
	SVC
	MOVD $const_lastTicks, R10

skip:
	ADD  $mark__size, R11, R11
	CMP  R11, R12
	BNE  next
	SUB  $1, R10, R10
	CBNZ R10, tick
	ADD  $watchStack__size, RSP
	MOVD ZR, R0
	RET

// void lightProbe(probe*), by cgocall. probe.g is the g.
TEXT tvmffi_lightProbe(SB), NOSPLIT|NOFRAME, $0
	STP.W (R29, R30), -saved2__size(RSP)
	STP   (R27, g), saved2_r19(RSP)
	MOVD  R0, R3
	MOVD  ZR, g
	BL    runtime·load_g(SB)
	MOVD  g, probe_g0(R3)
	MOVD  const_gM(g), R1
	MOVD  R1, probe_mOfG0(R3)
	MOVD  probe_g(R3), R4
	MOVD  const_gM(R4), R1
	MOVD  R1, probe_m(R3)
	MOVD  const_schedSP(R4), R2
	MOVD  R2, probe_sp(R3)
	MOVD  const_schedBP(R4), R2
	MOVD  R2, probe_bp(R3)
	MOVD  const_stackLow(R4), R2
	MOVD  R2, probe_low(R3)
	MOVD  const_stackHigh(R4), R2
	MOVD  R2, probe_high(R3)
	MOVBU const_mInCgo(R1), R2
	MOVD  R2, probe_inCgo(R3)
	MOVW  const_mNCgo(R1), R2
	MOVD  R2, probe_nCgo(R3)
	MOVD  const_mProcid(R1), R2
	MOVD  R2, probe_procid(R3)
	LDP   saved2_r19(RSP), (R27, g)
	LDP.P saved2__size(RSP), (R29, R30)
	MOVD  ZR, R0
	RET

// func threadG0() uintptr
TEXT ·threadG0(SB), NOSPLIT, $0-8
	MOVD const_gM(g), R0
	MOVD (R0), R0
	MOVD R0, ret+0(FP)
	RET

// func cgoState() (in, n uintptr)
TEXT ·cgoState(SB), NOSPLIT, $0-16
	MOVD  const_gM(g), R1
	MOVBU const_mInCgo(R1), R0
	MOVD  R0, in+0(FP)
	MOVW  const_mNCgo(R1), R0
	MOVD  R0, n+8(FP)
	RET
