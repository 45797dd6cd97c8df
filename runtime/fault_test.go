//go:build linux && (amd64 || arm64) && !tvmffi_portable && !msan && !asan

package tvmffi_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

const faults = `
#include <sys/mman.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <exception>
#include <memory>
#include <thread>

static int* volatile nowhere = nullptr;
static volatile int zero = 0;
extern "C" __attribute__((noinline, visibility("default"))) void faults_crash() { *nowhere = 1; }
extern "C" __attribute__((noinline, visibility("default"))) void faults_divide() { zero = 7 / zero; }

static int deep(int n) {
  volatile char room[1000];
  room[n % 1000] = 1;
  return deep(n + 1) + room[0];
}

struct Bomb {
  bool armed = true;
  ~Bomb() { faults_crash(); }
};

TVM_FFI_STATIC_INIT_BLOCK() {
  using tvm::ffi::Function;
  tvm::ffi::reflection::GlobalDef()
      .def("faults.here", [] { faults_crash(); })
      .def("faults.divide", [] { faults_divide(); })
      .def("faults.illegal", [] { __builtin_trap(); })
      .def("faults.bus", [] {
        FILE* f = tmpfile();
        *static_cast<volatile char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0)) = 1;
      })
      .def("faults.terminate", [] { std::terminate(); })
      .def("faults.deep", [] { return deep(0); })
      .def("faults.thread", [] { std::thread(faults_crash).join(); })
      .def("faults.thread_terminates", [] { std::thread([] { std::terminate(); }).join(); })
      .def("faults.called_thread", [](Function f) { std::thread([f] { f(); faults_crash(); }).join(); })
      .def("faults.thread_calls", [](Function f) { std::thread([f] { f(); }).join(); })
      .def("faults.apply", [](Function f) { f(); })
      .def("faults.after", [](Function f) { f(); faults_crash(); })
      .def("faults.below", [](int64_t n) { if (n < 0) faults_crash(); return n; })
      .def("faults.after_below", [](int64_t n, Function f) { if (n < 0) { f(); faults_crash(); } return n; })
      .def("faults.bomb", [] { return Function::FromTyped([b = std::make_shared<Bomb>()] { return b->armed; }); })
      .def("faults.closure", [] { return Function::FromTyped([] { faults_crash(); }); });
}
`

// callFault calls a function that was found by name.
func callFault(name string, args ...any) error {
	f, err := tvmffi.Lookup("faults." + name)
	if err != nil {
		return err
	}
	_, err = f.Call(args...)
	return err
}

// growing is a callback that moves the stack of the goroutine.
func growing() int64 { return int64(len(runtimetest.UseStack(200))) }

// lightly calls a function of generated code with one int until its calls are light, then with -1.
func lightly(f func(n int64) error) error {
	if err := tvmffi.Load(tvmffi.WithLightCalls()); err != nil {
		return err
	}
	for n := range int64(200) {
		if err := f(n); err != nil {
			return err
		}
	}
	return f(-1)
}

var (
	fnBelow      = &bindrt.Func{Library: &bindrt.Library{}, Name: "faults.below"}
	fnAfterBelow = &bindrt.Func{Library: &bindrt.Library{}, Name: "faults.after_below"}
)

func below(n int64) error {
	var c bindrt.Call1
	c.Begin(fnBelow, 1)
	c.Int(0, n)
	_, err := c.DoInt()
	return err
}

// faulting are programs that end by a fault, or survive it.
var faulting = map[string]func() error{
	"here": func() error { return callFault("here") },
	"no descriptor": func() error {
		limit := syscall.Rlimit{Cur: 64, Max: 64}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			return err
		}
		for {
			if _, err := syscall.Dup(0); err != nil {
				return callFault("here")
			}
		}
	},
	"divide":    func() error { return callFault("divide") },
	"illegal":   func() error { return callFault("illegal") },
	"bus":       func() error { return callFault("bus") },
	"terminate": func() error { return callFault("terminate") },
	"terminate after Go": func() error { // which leaves places in Go's code on the stack that C uses next
		f, err := tvmffi.Lookup("faults.terminate")
		if err != nil {
			return err
		}
		failed := make(chan error)
		go func() {
			runtime.LockOSThread()
			for range 50 {
				growing()
				runtime.GC()
			}
			_, err := f.Call()
			failed <- err
		}()
		return <-failed
	},
	"deep":              func() error { return callFault("deep") },
	"thread":            func() error { return callFault("thread") },
	"thread terminates": func() error { return callFault("thread_terminates") },
	"called thread":     func() error { return callFault("called_thread", growing) },
	"call of a thread":  func() error { return callFault("thread_calls", func() error { return callFault("here") }) },
	"callback":          func() error { return callFault("apply", func() error { return callFault("here") }) },
	"after a callback": func() error {
		return callFault("after", func() error { growing(); return callFault("apply", growing) })
	},
	"light": func() error { return lightly(below) },
	"light after a callback": func() error {
		f, err := tvmffi.FuncOf(func() error { growing(); return below(1) })
		if err != nil {
			return err
		}
		return lightly(func(n int64) error {
			if err := below(n & 0xff); err != nil {
				return err
			}
			var c bindrt.Call2
			c.Begin(fnAfterBelow, 2)
			c.Int(0, n)
			c.Object(1, bindrt.Ref(f))
			_, err := c.DoInt()
			return err
		})
	},
	"release": func() error {
		f, err := tvmffi.Lookup("faults.bomb")
		if err != nil {
			return err
		}
		v, err := f.Call()
		if err != nil {
			return err
		}
		bomb, err := tvmffi.As[*tvmffi.Function](v)
		if err != nil {
			return err
		}
		bomb.Release()
		return nil
	},
	"closure": func() error {
		f, err := tvmffi.Lookup("faults.closure")
		if err != nil {
			return err
		}
		v, err := f.Call()
		if err != nil {
			return err
		}
		closure, err := tvmffi.As[*tvmffi.Function](v)
		if err != nil {
			return err
		}
		_, err = closure.Call()
		return err
	},
	"many": func() error {
		failed := make(chan error)
		for range 4 {
			go func() { failed <- callFault("here") }()
		}
		return <-failed
	},
	"Go": func() (err error) {
		defer func() {
			fault, ok := recover().(runtime.Error)
			err = fmt.Errorf("recovered: %v %t", fault, ok)
		}()
		var nowhere *int
		*nowhere = 1
		return nil
	},
	"sent": func() error {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGABRT); err != nil {
			return err
		}
		select {}
	},
}

func init() {
	for name, run := range faulting {
		runtimetest.Children["fault "+name] = func() error {
			if err := runtimetest.LoadInChild(); err != nil {
				return err
			}
			if err := tvmffi.LoadLibrary(os.Getenv("FAULTS")); err != nil {
				return err
			}
			return run()
		}
	}
}

// TestFaults ends processes by signals in C++. Each says where that was and what was called, and then what it
// always said.
func TestFaults(t *testing.T) {
	env := []string{"CORE=" + nativetest.Library(t), "FAULTS=" + nativetest.BuildText(t, "faults", faults)}
	const at, crashed, traced = `(?m)^tvmffi: SIGSEGV at /\S+faults\S*\.so\+0x[0-9a-f]+ `, `\(faults_crash\+0x[0-9a-f]+\), address 0x0`, `(?s).*\nSIGSEGV: segmentation violation\n.*\ngoroutine `
	const terminated = `(?ms)^terminate called.*^tvmffi: SIGABRT at /\S+libc\S*\+0x[0-9a-f]+ \(.*\), in a call of faults\.terminate\n.*^tvmffi: the stack names /\S+faults\S*\.so\+0x.*^SIGABRT: abort\n.*\ngoroutine `
	for name, want := range map[string]string{
		"here":                   at + crashed + `, in a call of faults\.here$` + traced,
		"no descriptor":          `(?m)^tvmffi: SIGSEGV at 0x[0-9a-f]{4,}, whose file is not known: there is no free file descriptor$` + traced,
		"deep":                   at + `\(\S.*, address 0x[0-9a-f]+ \(the stack is full\), in a call of faults\.deep$` + traced,
		"terminate":              terminated,
		"terminate after Go":     terminated,
		"bus":                    `(?ms)^tvmffi: SIGBUS at /\S+faults\S*\.so\+0x.*, address 0x[0-9a-f]+, in a call of faults\.bus\n.*^SIGBUS: bus error\n`,
		"thread":                 at + crashed + `, on a thread that C made$(?s).*Segfault encountered`, // from libtvm_ffi, with the frames of C++
		"thread terminates":      `(?ms)^tvmffi: SIGABRT at /\S+libc\S*\+0x[0-9a-f]+ \(.*\), on a thread that C made\n.*^tvmffi: the stack names /\S+faults\S*\.so\+0x`,
		"called thread":          at + crashed + `, on a thread that C made(, outside of Go's calls)?$`, // it has a g if callbacks bind threads
		"call of a thread":       at + crashed + `, in a call of faults\.here$` + traced,
		"callback":               at + crashed + `, in a call of faults\.here$` + traced,
		"after a callback":       at + crashed + `, in a call of faults\.after$` + traced,
		"light":                  at + crashed + `, in a call of faults\.below$` + traced,
		"light after a callback": at + crashed + `, in a call of faults\.after_below$` + traced,
		"release":                at + crashed + `, in the release of an object$` + traced,
		"closure":                at + crashed + `, in a call of the function at /\S+faults\S*\.so\+0x[0-9a-f]+ \(\S.*\)$` + traced,
		"many":                   at + crashed + `, in a call of faults\.here$` + traced,
		"divide":                 `(?ms)^tvmffi: SIGFPE at /\S+faults\S*\.so\+0x[0-9a-f]+ \(faults_divide\+0x[0-9a-f]+\), address 0x[0-9a-f]+, in a call of faults\.divide$.*^SIGFPE`,
		"illegal":                `(?ms)^tvmffi: SIGILL at /\S+faults\S*\.so\+0x[0-9a-f]+ .*, in a call of faults\.illegal$.*^SIGILL`,
		"Go":                     `^recovered: runtime error: invalid memory address or nil pointer dereference true\n$`,
		"sent":                   `^SIGABRT: abort\n`,
	} {
		if runtime.GOARCH == "arm64" && (name == "divide" || name == "illegal") {
			continue // this division gives 0, and the trap is a SIGTRAP
		}
		t.Run(name, func(t *testing.T) {
			out, err := runtimetest.Child(t, "fault "+name, env...)
			var ended *exec.ExitError
			if !errors.As(err, &ended) || !regexp.MustCompile(want).MatchString(out) || strings.Count(out, "tvmffi: SIG") > 1 {
				t.Errorf("%v, want %q in\n%s", err, want, out)
			}
		})
	}
}
