package tvmffi_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// Some tests need a process of their own, because it has one libtvm_ffi or
// because it ends: they start the test binary again with childName set.
const childName = "TVMFFI_TEST_CHILD"

// children are the programs of those processes; files of this package add to it.
var children = map[string]func() error{}

func TestMain(m *testing.M) {
	if name := os.Getenv(childName); name != "" {
		run, ok := children[name]
		if !ok {
			fmt.Println("no child", name)
			os.Exit(3)
		}
		if err := run(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child runs a child process and returns what it printed. Of the environment it
// gets only what env names, and what the system needs.
func child(t *testing.T, name string, env ...string) (string, error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return childOf(t, exe, name, env...)
}

func childOf(t *testing.T, exe, name string, env ...string) (string, error) {
	t.Helper()
	cmd := nativetest.Command(t.Context(), exe)
	cmd.Dir = t.TempDir()
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append([]string{childName + "=" + name, "HOME=" + cmd.Dir, "PATH="}, env...)
	for _, keep := range []string{"GODEBUG", "GOMAXPROCS", "GOGC", "GOTRACEBACK"} {
		if v := os.Getenv(keep); v != "" {
			cmd.Env = append(cmd.Env, keep+"="+v)
		}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

var (
	loadOnce nativetest.Once
	calls    = bindrt.Library{Files: []bindrt.File{{Name: "libcalls.so"}}}
)

// load loads the libraries of the tests into this process.
func load(t testing.TB) {
	t.Helper()
	loadOnce.Do(t, func() {
		library, callsPath := nativetest.Library(t), nativetest.Build(t, "calls")
		if err := tvmffi.Load(tvmffi.WithLibrary(library)); err != nil {
			t.Fatal(err)
		}
		if err := tvmffi.LoadLibrary(nativetest.Testing(t)); err != nil {
			t.Fatal(err)
		}
		if err := bindrt.Load(&calls, tvmffi.WithFile(callsPath)); err != nil {
			t.Fatal(err)
		}
	})
	if !capi.Attached() {
		t.Fatal("the libraries did not load")
	}
}

// call calls a global function with arguments of any type.
func call(name string, args ...any) (tvmffi.Any, error) {
	fn, err := tvmffi.Lookup(name)
	if err != nil {
		return tvmffi.Any{}, err
	}
	defer fn.Release()
	return fn.Call(args...)
}

func mustCall(t testing.TB, name string, args ...any) tvmffi.Any {
	t.Helper()
	load(t)
	v, err := call(name, args...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// get calls a global function whose result is a T.
func get[T any](t testing.TB, name string, args ...any) T {
	t.Helper()
	v := mustCall(t, name, args...)
	x, err := tvmffi.As[T](v)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return x
}

// must returns v, and ends the test if there is an error.
func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// wantError checks the kind and parts of the text of an error.
func wantError(t testing.TB, err error, kind error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %v with %q", kind, parts)
		return
	}
	if kind != nil && !errors.Is(err, kind) {
		t.Errorf("error %v is not of kind %v", err, kind)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
}

// wantPanic checks that f panics with an *Error.
func wantPanic(t testing.TB, kind error, part string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		p := recover()
		err, ok := p.(*tvmffi.Error)
		if !ok {
			t.Errorf("panic with %v, want an *Error with %q", p, part)
			return
		}
		wantError(t, err, kind, part)
	}()
	f()
}

// collect runs the collector until done, and fails the test if that never comes.
func collect(t testing.TB, what string, done func() bool) {
	t.Helper()
	for range 200 {
		runtime.GC()
		if done() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%s: not collected", what)
}

// balanced checks that a test leaves as many boxes and Go values behind as it
// found, without help of the collector.
func balanced(t testing.TB) {
	t.Helper()
	load(t)
	drop(t) // what earlier tests left
	boxes, callbacks := liveBoxes(t), objects.LiveCallbacks()
	t.Cleanup(func() {
		if n := liveBoxes(t); n != boxes {
			t.Errorf("%d boxes more than before", n-boxes)
		}
		if n := objects.LiveCallbacks(); n != callbacks {
			t.Errorf("%d Go values more than before", n-callbacks)
		}
	})
}

func liveBoxes(t testing.TB) int64 { t.Helper(); return get[int64](t, "calls.live") }

// drop waits until errors and funcs, which only the collector ends, are gone.
func drop(t testing.TB) {
	t.Helper()
	for last, same := garbage(t), 0; same < 3; {
		runtime.GC()
		time.Sleep(time.Millisecond)
		if n := garbage(t); n == last {
			same++
		} else {
			last, same = n, 0
		}
	}
}

func garbage(t testing.TB) int64 { return objects.LiveCallbacks() + liveBoxes(t) }

// deep uses 512 bytes of stack for each of n levels.
func deep(n int) (a [64]int) {
	if n > 0 {
		a = deep(n - 1)
	}
	a[n%64] = n
	return a
}
