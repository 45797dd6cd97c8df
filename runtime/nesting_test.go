//go:build linux

package tvmffi_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

const nestingText = `
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/reflection/registry.h>

using namespace tvm::ffi;

// Uses bytes of the stack and calls f.
static int64_t Descend(const Function& f, int64_t n, int64_t bytes) {
  volatile char* p = static_cast<volatile char*>(__builtin_alloca(bytes + 1));
  for (int64_t i = 0; i <= bytes; i += 512) p[i] = 1;
  return f(n + 1).cast<int64_t>() + p[0] - 1;
}

struct Start {
  Function f;
  int64_t result = 0;
  String error;
};

static void* Run(void* arg) {
  auto* s = static_cast<Start*>(arg);
  try {
    for (int i = 0; i < 3; ++i) s->result = s->f(0).cast<int64_t>();
  } catch (const Error& e) {
    s->error = e.message();
  }
  return nullptr;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = reflection;
  refl::GlobalDef()
      .def("nesting.descend", Descend)
      // What a call of f in a forked process returns or raises; nothing if it hangs.
      .def("nesting.forked", [](Function f) -> String {
        int fds[2];
        TVM_FFI_ICHECK_EQ(pipe(fds), 0);
        pid_t child = fork();
        if (child == 0) {
          alarm(30);
          std::string text = "returned";
          try {
            f();
          } catch (const Error& e) {
            text = std::string(e.kind()) + ": " + e.message();
          }
          _exit(write(fds[1], text.data(), text.size()) < 0);
        }
        close(fds[1]);
        char text[1024] = "";
        ssize_t n = read(fds[0], text, sizeof text - 1);
        close(fds[0]);
        waitpid(child, nullptr, 0);
        return String(text, n < 0 ? 0 : n);
      })
      // Calls f on a thread with a stack of that size.
      .def("nesting.on_thread", [](Function f, int64_t stack) {
        Start s{f};
        pthread_attr_t attr;
        pthread_t thread;
        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, stack);
        int rc = pthread_create(&thread, &attr, Run, &s);
        TVM_FFI_ICHECK_EQ(rc, 0);
        pthread_join(thread, nullptr);
        pthread_attr_destroy(&attr);
        if (!s.error.empty()) TVM_FFI_THROW(RuntimeError) << std::string(s.error);
        return s.result;
      });
}
`

func loadNesting(t *testing.T) {
	t.Helper()
	runtimetest.Load(t)
	if err := tvmffi.LoadLibrary(nativetest.BuildText(t, "nesting", nestingText)); err != nil {
		t.Fatal(err)
	}
}

// descender is a func that calls itself through C++ until level end, and counts its levels.
func descender(t *testing.T, end, bytes int64) (f *tvmffi.Function, deepest *int64) {
	descend, deepest := runtimetest.Lookup(t, "nesting.descend"), new(int64)
	f = runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(n int64) (int64, error) {
		if *deepest = max(*deepest, n); n == end {
			return n, nil
		}
		v, err := descend.Call(f, n, bytes)
		if err != nil {
			return 0, err
		}
		x, err := tvmffi.As[int64](v)
		return x, err
	}))
	t.Cleanup(func() { f.Release(); descend.Release() })
	return f, deepest
}

// Go and C++ that call each other without end get an error before the C stack ends, on each
// kind of thread, and everything works afterwards: the same threads meet it again with larger levels.
func TestNesting(t *testing.T) {
	loadNesting(t)
	for _, bytes := range []int64{0, 8000} {
		f, deepest := descender(t, -1, bytes)
		for name, run := range map[string]func() (tvmffi.Any, error){
			"a thread of Go": func() (tvmffi.Any, error) { return f.Call(0) },
			"the main thread": func() (v tvmffi.Any, err error) {
				onMainThread(func() { v, err = f.Call(0) })
				return v, err
			},
			"64 kB":  func() (tvmffi.Any, error) { return runtimetest.Call("nesting.on_thread", f, 64<<10) },
			"256 kB": func() (tvmffi.Any, error) { return runtimetest.Call("nesting.on_thread", f, 256<<10) },
			"1 MB":   func() (tvmffi.Any, error) { return runtimetest.Call("nesting.on_thread", f, 1<<20) },
			"8 MB":   func() (tvmffi.Any, error) { return runtimetest.Call("nesting.on_thread", f, 8<<20) },
		} {
			if name == "64 kB" && bytes > 0 {
				continue // a level needs more than the reserve
			}
			*deepest = 0
			_, err := run()
			runtimetest.WantError(t, err, tvmffi.ErrRuntime, "callbacks are nested ", " deep, and the C stack of this thread (", "end the recursion between Go and native code earlier")
			var nested int64
			text := err.Error()
			if i := strings.Index(text, "nested "); i < 0 || errors.Join(scan(text[i:], &nested)) != nil || nested != *deepest+2 {
				t.Errorf("%s: the error says %d, but %d levels ran: %.400s", name, nested, *deepest+1, text)
			}
			t.Logf("%s, %d bytes for each level: %d levels", name, bytes, *deepest+1)
		}
	}
	var direct *tvmffi.Function
	levels := 0
	direct = runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() error {
		levels++
		_, err := direct.Call()
		return err
	}))
	_, err := direct.Call()
	runtimetest.WantError(t, err, tvmffi.KindError("RecursionError"), fmt.Sprintf("nested %d deep", levels+1))
	runtimetest.WantError(t, err, tvmffi.ErrRuntime)
	t.Logf("Go that calls itself: %d levels", levels)
	direct.Release()
	if v, err := runtimetest.Call("calls.add_one", 1); err != nil || v.Value() != int64(2) {
		t.Errorf("calls.add_one returned %v, %v, want 2", v, err)
	}
}

// onMainThread runs f on the thread that started the process, if the scheduler gives it to
// one of some goroutines.
func onMainThread(f func()) {
	done, end := make(chan bool, 64), make(chan bool)
	for range cap(done) {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			main := syscall.Gettid() == syscall.Getpid()
			if main {
				f()
			}
			done <- main
			<-end
		}()
	}
	found := false
	for range cap(done) {
		found = <-done || found
	}
	close(end)
	if !found {
		f()
	}
}

func scan(text string, n *int64) error {
	_, err := fmt.Sscanf(text, "nested %d", n)
	return err
}

// Many levels are not an error as such.
func TestNesting_deep(t *testing.T) {
	loadNesting(t)
	f, _ := descender(t, 1000, 0)
	for range 3 {
		if v, err := f.Call(0); err != nil || v.Value() != int64(1000) {
			t.Errorf("1000 levels: %v, %v", v, err)
		}
		if v, err := runtimetest.Call("nesting.on_thread", f, 8<<20); err != nil || v.Value() != int64(1000) {
			t.Errorf("1000 levels on a thread of C++: %v, %v", v, err)
		}
	}
	f, _ = descender(t, 3, 60<<10)
	if v, err := runtimetest.Call("nesting.on_thread", f, 512<<10); err != nil || v.Value() != int64(3) {
		t.Errorf("levels of 60 kB: %v, %v", v, err)
	}
}

// TestForkedProcess: a fork has no threads of Go, so a callback that needs them would hang there.
func TestForkedProcess(t *testing.T) {
	if !runtimetest.Assembly {
		t.Skip("without assembly a fork enters Go before it is refused, and may hang")
	}
	loadNesting(t)
	for name, f := range map[string]func(){"collects": runtime.GC, "sleeps": func() { time.Sleep(time.Millisecond) }, "returns": func() {}} {
		if got := runtimetest.Get[string](t, "nesting.forked", f); !strings.HasPrefix(got, "RuntimeError: a Go func cannot be called here: the process was forked") {
			t.Errorf("a callback that %s, called in a fork: %q", name, got)
		}
		if _, err := runtimetest.Call("nesting.descend", func(n int64) int64 { f(); return n }, 0, 0); err != nil {
			t.Errorf("after the fork: %v", err)
		}
	}
}
