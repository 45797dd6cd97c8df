package exportrt_test

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/environment"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/env"
	"github.com/tvmffi-go/tvmffi/runtime/exportrt"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

func init() {
	runtimetest.Children["goexit in an export"] = goexitChild
	runtimetest.Children["goexit in a callback"] = callbackChild
	runtimetest.Children["goexit in a rule"] = ruleChild
	runtimetest.Children["goexit in a contained allocator"] = allocatorChild
}

func endsGoroutine() { runtime.Goexit() }

// goexitChild calls an exported func that ends its goroutine.
func goexitChild() error {
	if err := runtimetest.LoadInChild(); err != nil {
		return err
	}
	f, err := registered("ends", endsGoroutine, func(*bindrt.Args) error { endsGoroutine(); return nil })
	if err != nil {
		return err
	}
	_, err = f.Call()
	return err
}

// registered registers the function NAME.now and returns it.
func registered(name string, f any, call func(*bindrt.Args) error) (*tvmffi.Function, error) {
	lib := exportrt.Exports{Name: name, Prefix: name + ".", Functions: []exportrt.Function{{Name: "now", Func: f, Call: call}}}
	if err := lib.Register(); err != nil {
		return nil, err
	}
	return tvmffi.Lookup(name + ".now")
}

// TestGoexitNamesTheFunc: the process ends with the name of the exported func and the remedy.
func TestGoexitNamesTheFunc(t *testing.T) {
	out, err := runtimetest.Child(t, "goexit in an export", "CORE="+nativetest.Library(t))
	var status *exec.ExitError
	if !errors.As(err, &status) || status.ExitCode() != 2 {
		t.Errorf("the process ended with %v, want status 2", err)
	}
	for _, part := range []string{"tvmffi: the Go function exportrt_test.endsGoroutine ended by runtime.Goexit", "take a context.Context first"} {
		if !strings.Contains(out, part) {
			t.Errorf("printed %q, want %q in it", out, part)
		}
	}
}

// contained registers a function that calls f as generated code does, until the test ends.
func contained(t testing.TB, name string, origin any, f func(a *bindrt.Args) error) *tvmffi.Function {
	t.Helper()
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
	fn, err := registered(name, origin, func(a *bindrt.Args) error {
		return exportrt.Contained(a, func() error { return f(a) })
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		fn.Release()
		if was, err := tvmffi.Unregister(name + ".now"); !was || err != nil {
			t.Error(was, err)
		}
	})
	return fn
}

// TestContained: runtime.Goexit is an error with the name of the func and the place, as a panic is. The streams and
// the allocator are those of the caller.
func TestContained(t *testing.T) {
	how := ""
	device := tvmffi.CUDA(5)
	fn := contained(t, "contained", endsGoroutine, func(a *bindrt.Args) error {
		switch how {
		case "goexit":
			endsGoroutine()
		case "panic":
			panic("a panic")
		case "error":
			return tvmffi.NewError("KeyError", "an error")
		}
		s, err := env.CurrentStream(device)
		if err != nil {
			return err
		}
		return a.ReturnInt(int64(s.Address))
	})
	for _, test := range []struct{ how, kind, text, trace string }{
		{"goexit", "RuntimeError", "the Go function exportrt_test.endsGoroutine ended by runtime.Goexit", "goexit_test.go"},
		{"panic", "RuntimeError", "panic in exportrt_test.endsGoroutine: a panic", "goexit_test.go"},
		{"error", "KeyError", "an error", ""},
	} {
		how = test.how
		_, err := fn.Call()
		var e *tvmffi.Error
		if !errors.As(err, &e) || e.Kind != test.kind || e.Message != test.text || !strings.Contains(e.Backtrace, test.trace) {
			t.Errorf("%s is the error %v %+v, want %s: %s with %s", how, err, e, test.kind, test.text, test.trace)
		}
	}
	how = ""
	err := env.WithStream(device, tvmffi.Pointer{Address: 77}, func() error {
		v, err := fn.Call()
		if n, failed := tvmffi.As[int64](v); err == nil && (failed != nil || n != 77) {
			return fmt.Errorf("the stream is %v (%v)", v, failed)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func kindOf(err error) string {
	if e := (*tvmffi.Error)(nil); errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// TestContained_recursion: an endless recursion is an error, and the calls go on afterwards.
func TestContained_recursion(t *testing.T) {
	var fn *tvmffi.Function
	endless, deepest := true, 0
	fn = contained(t, "recursion", endsGoroutine, func(*bindrt.Args) error {
		if !endless {
			return nil
		}
		deepest++
		_, err := fn.Call()
		return err
	})
	if _, err := fn.Call(); kindOf(err) != "RecursionError" || !strings.Contains(err.Error(), "end the recursion between Go and native code earlier") {
		t.Errorf("it ended with %.400v", err)
	}
	if deepest < 1000 {
		t.Errorf("it ended after %d calls", deepest)
	}
	endless = false
	if _, err := fn.Call(); err != nil {
		t.Error(err)
	}
}

// callbackChild is like a library whose code may call runtime.Goexit: the funcs that become functions are contained.
func callbackChild() error {
	if err := runtimetest.LoadInChild(); err != nil {
		return err
	}
	environment.ContainCallbacks()
	f, err := tvmffi.FuncOf(func(how string) (func(), error) {
		if how == "now" {
			endsGoroutine()
		}
		return endsGoroutine, nil
	})
	if err != nil {
		return err
	}
	_, err = f.Call("now")
	fmt.Println(err)
	v, err := f.Call("later")
	if err != nil {
		return err
	}
	later, err := tvmffi.As[*tvmffi.Function](v)
	if err != nil {
		return err
	}
	_, err = later.Call()
	fmt.Println(err)
	return nil
}

// TestContainCallbacks: Go funcs that become functions at run time, and closures that they return, are contained.
func TestContainCallbacks(t *testing.T) {
	out, err := runtimetest.Child(t, "goexit in a callback", "CORE="+nativetest.Library(t))
	want := "RuntimeError: the Go function exportrt_test.callbackChild.func1 ended by runtime.Goexit\n" +
		"RuntimeError: the Go function exportrt_test.endsGoroutine ended by runtime.Goexit\n"
	if err != nil || out != want {
		t.Errorf("%v: printed %q, want %q", err, out, want)
	}
}

func ruleChild() error {
	if err := runtimetest.LoadInChild(); err != nil {
		return err
	}
	environment.ContainCallbacks()
	fmt.Println(structural.Walk([]string{"a"}, structural.PreOrder, structural.On(func(string) error { endsGoroutine(); return nil })))
	return nil
}

// TestContainCallbacks_walk: rules of a walk are contained.
func TestContainCallbacks_walk(t *testing.T) {
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
	runtimetest.NeedFunctions(t, "ffi.StructuralWalk")
	out, err := runtimetest.Child(t, "goexit in a rule", "CORE="+nativetest.Library(t))
	if want := "RuntimeError: a Go callback ended by runtime.Goexit\n"; err != nil || out != want {
		t.Errorf("%v: printed %q, want %q", err, out, want)
	}
}

// allocatorChild is like a library whose code may call runtime.Goexit, and in which a Go func makes the tensors.
func allocatorChild() error {
	if err := runtimetest.LoadInChild(); err != nil {
		return err
	}
	environment.ContainCallbacks()
	spec := env.TensorSpec{DataType: tvmffi.Float32, Device: tvmffi.CPU, Shape: []int64{2}}
	ask := func(a env.Allocator) {
		err := env.WithAllocator(a, func() error {
			x, err := env.EnvTensor(spec)
			if err == nil {
				fmt.Println(x.Shape())
				x.Release()
			}
			return err
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	ask(func(env.TensorSpec) (*tvmffi.Tensor, error) { endsGoroutine(); return nil, nil })
	ask(func(env.TensorSpec) (*tvmffi.Tensor, error) { panic("no room") })
	depth := 0
	ask(func(s env.TensorSpec) (*tvmffi.Tensor, error) { // which asks for another tensor on its own thread
		if depth++; depth < 3 {
			return env.EnvTensor(s)
		}
		return env.GoAllocator(s)
	})
	fmt.Println(depth)
	return nil
}

// TestContainCallbacks_allocator: allocators are contained, and a contained func has the allocator of its caller.
func TestContainCallbacks_allocator(t *testing.T) {
	out, err := runtimetest.Child(t, "goexit in a contained allocator", "CORE="+nativetest.Library(t))
	if want := "RuntimeError: a Go callback ended by runtime.Goexit\nRuntimeError: panic in a Go callback: no room\n[2]\n3\n"; err != nil || out != want {
		t.Errorf("%v: printed %q, want %q", err, out, want)
	}
	asked := 0
	fn := contained(t, "allocates", endsGoroutine, func(a *bindrt.Args) error {
		x, err := env.EnvTensor(env.TensorSpec{DataType: tvmffi.Float32, Device: tvmffi.CPU, Shape: []int64{2}})
		if err == nil {
			x.Release()
		}
		return err
	})
	err = env.WithAllocator(func(s env.TensorSpec) (*tvmffi.Tensor, error) { asked++; return env.GoAllocator(s) }, func() error {
		_, err := fn.Call()
		return err
	})
	if err != nil || asked != 1 {
		t.Errorf("a contained func asked the allocator of its caller %d times, %v", asked, err)
	}
}

// BenchmarkContained calls an exported func with and without a goroutine of its own.
func BenchmarkContained(b *testing.B) {
	nothing := func(a *bindrt.Args) error { return a.ReturnInt(1) }
	direct, err := registered("direct", endsGoroutine, nothing)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		direct.Release()
		_, _ = tvmffi.Unregister("direct.now")
	})
	for name, fn := range map[string]*tvmffi.Function{"direct": direct, "contained": contained(b, "bench", endsGoroutine, nothing)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var c bindrt.Call1
				c.BeginFunction(bindrt.Ref(fn), 0)
				if _, err := c.DoInt(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
