#ifdef __linux__
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

// A fault takes this way: entry, Go's handler, others, the handler that came later, the one that was there before.
// Go's handler forwards what is not a fault of Go to the handler that it found when the library was loaded. That is
// others, which knows the host's. A handler that has done its work raises the signal again. entry answers such
// a signal by returning, so the instruction faults again, and the fault takes the rest of the way.

typedef void handler(int, siginfo_t*, void*);
enum { COUNT = 3 };
static const int signals[COUNT] = {SIGSEGV, SIGBUS, SIGFPE};
static struct sigaction before[COUNT];
static handler *go[COUNT], *later[COUNT];
static int passing; // the thread whose fault a later handler has got

static int of(int signal) { return signal == SIGSEGV ? 0 : signal == SIGBUS ? 1 : 2; }

static int this_thread(void) { return (int)syscall(SYS_gettid); }

static void others(int signal, siginfo_t* info, void* context) {
  int i = of(signal);
  // The handler ends the process or raises the signal again, so it gets one fault.
  handler* next = __atomic_exchange_n(&later[i], NULL, __ATOMIC_ACQ_REL);
  if (next != NULL) {
    if (info->si_code > 0) __atomic_store_n(&passing, this_thread(), __ATOMIC_RELEASE);
  } else if (before[i].sa_handler == SIG_IGN && info->si_code <= 0) {
    return;
  } else if (before[i].sa_handler == SIG_DFL || before[i].sa_handler == SIG_IGN) {
    sigaction(signal, &before[i], NULL);
    if (info->si_code <= 0) raise(signal);
    return; // to the instruction that faults again
  } else {
    next = before[i].sa_sigaction;
  }
  next(signal, info, context);
}

// on_signal_stack reports whether a signal interrupted a handler.
static int on_signal_stack(const ucontext_t* c) {
#if defined(__x86_64__)
  uintptr_t at = (uintptr_t)c->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
  uintptr_t at = c->uc_mcontext.sp;
#else
  uintptr_t at = 0;
#endif
  return at - (uintptr_t)c->uc_stack.ss_sp < c->uc_stack.ss_size;
}

static void entry(int signal, siginfo_t* info, void* context) {
  int thread = this_thread();
  if (info->si_code > 0) {
    go[of(signal)](signal, info, context);
  } else if (info->si_code == SI_TKILL && info->si_pid == getpid() &&
             (__atomic_compare_exchange_n(&passing, &thread, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) || on_signal_stack(context))) {
    return;
  } else { // a process sent it
    others(signal, info, context);
  }
}

// find runs before the Go runtime, which is not a constructor with a priority.
__attribute__((constructor(101))) static void find(void) {
  struct sigaction a = {.sa_sigaction = others, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
  sigfillset(&a.sa_mask);
  for (int i = 0; i < COUNT; i++) sigaction(signals[i], &a, &before[i]);
}

// tvmffi_faults puts entry in front when the library is loaded, for step 0. Who is about to add or remove a later handler
// calls it with 1 before that, and with 2 after it was added or 3 after it was removed.
__attribute__((visibility("hidden"))) void tvmffi_faults(int step) {
  static struct sigaction front[COUNT]; // of this library or of one that was loaded later
  for (int i = 0; i < COUNT; i++) {
    struct sigaction now;
    sigaction(signals[i], NULL, &now);
    if (step == 0) {
      go[i] = now.sa_sigaction;
      now.sa_sigaction = entry;
      sigaction(signals[i], &now, NULL);
    } else if (step == 1) {
      front[i] = now;
    } else {
      int changed = now.sa_handler != front[i].sa_handler;
      if (step == 3 && changed) before[i] = now; // what was there before the library, and has been removed
      if (step == 3) __atomic_store_n(&later[i], NULL, __ATOMIC_RELEASE);
      else if (changed) __atomic_store_n(&later[i], now.sa_sigaction, __ATOMIC_RELEASE);
      if (changed) sigaction(signals[i], &front[i], NULL);
    }
  }
}
#endif
