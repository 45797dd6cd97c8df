//go:build !windows

package environment

import (
	"fmt"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"

	"github.com/ebitengine/purego"
)

// atPythonExit is code for Python that makes a C function, void (*)(void), an exit handler.
// ctypes releases the lock of the interpreter while the function runs. The code leaves no
// names behind.
const atPythonExit = `try:
  __import__("atexit").register(__import__("ctypes").CFUNCTYPE(None)(%d))
except Exception:
  pass
` + "\x00"

// pythonTask keeps the code for Python alive, which is empty in other hosts.
var pythonTask []byte

// EndWith prepares a shared library for the end of its host. end is a C function that calls
// End. The library itself makes it an exit handler of C, but Python finalises before these
// run, and no thread of Go may enter it meanwhile. So Python gets an exit handler too,
// which runs before the interpreter is taken down.
//
// The caller may be without the lock of the interpreter and must not wait for it, because
// it holds the lock of the loader, for which an import may wait with the other lock. So the
// main thread of Python does the work as soon as it can; at the latest, that is just before
// it runs its exit handlers.
func EndWith(end uintptr) {
	if self, err := dynlib.ThreadSelf(); err == nil {
		ccall.Guard(self)
	}
	later, err := purego.Dlsym(purego.RTLD_DEFAULT, "Py_AddPendingCall") // int (int (*task)(void *), void *)
	if err != nil {
		return // the host is not Python
	}
	run, err := purego.Dlsym(purego.RTLD_DEFAULT, "PyRun_SimpleString") // int (const char *)
	if err != nil {
		return
	}
	pythonTask = fmt.Appendf(nil, atPythonExit, end)
	purego.SyscallN(later, run, capi.Address(&pythonTask[0]))
}

// End is for the end of the host. After it, goroutines neither call the host nor release
// its objects; only the thread that called End may do so. The second End is for that
// thread too.
func End() {
	const patience = time.Second // for calls in flight
	if ccall.Close(patience) && pythonTask != nil {
		holdThreads()
	}
}

// SetStandStill sets the time for which a call stands still after End. It is for tests.
func SetStandStill(d time.Duration) { ccall.Still = d }

// holdThreads is for threads that are inside a call of tvm_ffi and want to go on in Python:
// a call in flight that did not end in time, or a daemon thread. Up to version 3.13, Python
// ends such a thread by pthread_exit while it finalises. With glibc that unwinds the stack
// like an exception, and std::terminate aborts the process, because functions of tvm_ffi on
// the stack are noexcept. So std::terminate now stops these threads where they are, which
// is what Python 3.14 does with them.
func holdThreads() {
	library, err := dynlib.Loaded("libstdc++.so.6")
	if err != nil {
		return
	}
	get, err := library.Symbol("_ZSt13get_terminatev") // std::get_terminate()
	if err != nil {
		return
	}
	set, err := library.Symbol("_ZSt13set_terminatePFvvE") // std::set_terminate(void (*)())
	if err != nil {
		return
	}
	before, _, _ := purego.SyscallN(get)
	purego.SyscallN(set, purego.NewCallback(func() {
		if ccall.OnLastThread() {
			purego.SyscallN(before)
		}
		select {}
	}))
}
