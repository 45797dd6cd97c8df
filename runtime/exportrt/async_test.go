package exportrt_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/env"
	"github.com/tvmffi-go/tvmffi/runtime/exportrt"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

// TestAsync: in a Go program, which has no C file, a func with a context finds the stream of
// its caller, and has an asynchronous form that is cancelled and reports errors by kind.
func TestAsync(t *testing.T) {
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
	device := tvmffi.CUDA(3)
	wait := func(ctx context.Context, how string) (int64, error) {
		switch how {
		case "wait":
			<-ctx.Done()
			return 0, context.Cause(ctx)
		case "fail":
			return 0, tvmffi.NewError("KeyError", "it failed")
		}
		s, err := env.CurrentStream(device)
		return int64(s.Address), err
	}
	l := exportrt.Exports{Name: "async", Prefix: "async.", Functions: []exportrt.Function{{
		Name: "wait", Params: []string{"how"}, Func: (func(string) (int64, error))(nil), Origin: wait, Context: true,
		Call: func(a *bindrt.Args) error {
			how := bindrt.Arg[string](a, 0)
			if err := a.Check(1); err != nil {
				return err
			}
			return exportrt.Interruptible(a, func(ctx context.Context) error {
				n, err := wait(ctx, how)
				if err != nil {
					return err
				}
				return a.ReturnInt(n)
			})
		},
	}}}
	if err := l.Register(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, name := range []string{"async.wait", "async._async"} {
			if was, err := tvmffi.Unregister(name); !was || err != nil {
				t.Errorf("%s: %v, %v", name, was, err)
			}
		}
	})
	type outcome struct {
		n   any
		err error
	}
	outcomes := make(chan outcome, 1)
	done, err := tvmffi.FuncOf(func(n any, err error) { outcomes <- outcome{n, err} })
	if err != nil {
		t.Fatal(err)
	}
	defer done.Release()
	start, err := function(t, "async._async").Call("wait")
	if err != nil {
		t.Fatal(err)
	}
	begin := func(how string) *tvmffi.Function {
		t.Helper()
		v, err := must[*tvmffi.Function](t, start).Call(done, how)
		if err != nil {
			t.Fatal(err)
		}
		return must[*tvmffi.Function](t, v)
	}
	err = env.WithStream(device, tvmffi.Pointer{Address: 0x1234}, func() error {
		v, err := function(t, "async.wait").Call("stream")
		if n := must[int64](t, v); n != 0x1234 {
			t.Errorf("the func found the stream %#x, want 0x1234", n)
		}
		begin("stream").Release() // to drop cancel does not cancel
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if o := <-outcomes; o.n != int64(0x1234) || o.err != nil {
		t.Errorf("%v, %v, want the stream", o.n, o.err)
	}
	begin("fail")
	if o := <-outcomes; o.n != nil || !errors.Is(o.err, tvmffi.ErrKey) {
		t.Errorf("%v, %v, want a KeyError", o.n, o.err)
	}
	cancel := begin("wait")
	for range 2 {
		if _, err := cancel.Call(); err != nil {
			t.Error(err)
		}
	}
	if o := <-outcomes; o.err == nil || !strings.Contains(o.err.Error(), "context canceled") {
		t.Errorf("%v, %v, want the cancellation", o.n, o.err)
	}
	if !runtimetest.Eventually(func() bool { return memstat.UseCount(done) == 1 }) {
		t.Fatalf("%d references to done, want only ours", memstat.UseCount(done))
	}
	if _, err := must[*tvmffi.Function](t, start).Call(done, 3); !errors.Is(err, tvmffi.ErrType) {
		t.Errorf("%v, want a TypeError", err)
	}
	if _, err := function(t, "async._async").Call("wai"); err == nil || !strings.Contains(err.Error(), "did you mean wait?") {
		t.Errorf("%v, want a proposal", err)
	}
}

func function(t *testing.T, name string) *tvmffi.Function {
	t.Helper()
	f, err := tvmffi.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func must[T any](t *testing.T, v tvmffi.Any) T {
	t.Helper()
	x, err := tvmffi.As[T](v)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
