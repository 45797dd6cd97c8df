package tvmffi_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func failing() error { return io.ErrUnexpectedEOF }

// The frames of an error name the func of the callback and what called C, of all
// levels, and the frames of C++.
func TestBacktraceOfCallback(t *testing.T) {
	runtimetest.Balanced(t)
	inner := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(failing))
	middle := func() error {
		_, err := runtimetest.Call("calls.apply_packed", inner)
		return err
	}
	outer := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(middle))
	_, err := runtimetest.Call("calls.apply_packed", outer)
	var e *tvmffi.Error
	if !errors.As(err, &e) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	var names []string
	for _, f := range e.Frames() {
		if !strings.HasSuffix(f.File, "_test.go") && !strings.HasSuffix(f.File, "runtimetest/call.go") && !strings.HasSuffix(f.File, "testing.go") || f.Line <= 0 {
			t.Errorf("frame %v, want a line of a test, of runtimetest or of testing", f)
		}
		names = append(names, f.Function[strings.LastIndexByte(f.Function, '/')+1:])
	}
	all := strings.Join(names, " ")
	want := "runtime_test.failing runtimetest.Call runtime_test.TestBacktraceOfCallback.func1 runtimetest.Call runtime_test.TestBacktraceOfCallback"
	if !strings.HasPrefix(all, want) {
		t.Errorf("frames %s, want first %s", all, want)
	}
	if s := fmt.Sprintf("%+v", err); !strings.HasSuffix(s, "in github.com/tvmffi-go/tvmffi/runtime_test.failing\nRuntimeError: unexpected EOF") {
		t.Errorf("%%+v prints %s, want failing as the last call", s)
	}
	inner.Release()
	outer.Release()
	runtimetest.DropGarbage(t)
}

// An error of C++ that passes through Go is one object, and gets the Go frames.
func TestBacktraceOfPassingError(t *testing.T) {
	runtimetest.Balanced(t)
	var first error
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() error {
		_, first = runtimetest.Call("calls.fail", "ValueError", "from C++")
		return first
	}))
	_, err := runtimetest.Call("calls.apply_packed", f)
	if !errors.Is(err, first) || !errors.Is(first, err) || !errors.Is(err, tvmffi.ErrValue) {
		t.Error("both are one error")
	}
	_, other := runtimetest.Call("calls.fail", "ValueError", "from C++")
	if errors.Is(err, other) || errors.Is(other, err) {
		t.Error("another error of the same text")
	}
	var e *tvmffi.Error
	errors.As(err, &e)
	// The func that it passed through, then who called that.
	if !strings.Contains(e.Backtrace, "in github.com/tvmffi-go/tvmffi/runtime_test.TestBacktraceOfPassingError.func1\n") ||
		strings.Count(e.Backtrace, "TestBacktraceOfPassingError") < 2 || len(e.Frames()) <= len(first.(*tvmffi.Error).Frames()) {
		t.Errorf("backtrace %s", e.Backtrace)
	}
	f.Release()
	// An *Error made in Go comes back as the same pointer, and knows its way too.
	own := tvmffi.WrapError("MyOwnKind", "outside", tvmffi.NewError("KeyError", "inside"))
	f = runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() error { return own }))
	if _, err := runtimetest.Call("calls.apply_packed", f); err != error(own) || own.Backtrace != "" || len(own.Frames()) == 0 {
		t.Errorf("the error came back as %+v, want the same pointer with frames", err)
	}
	if s := fmt.Sprintf("%+v", own); !strings.Contains(s, "in github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest.Call\n") || !strings.HasSuffix(s, "\nMyOwnKind: outside\ncaused by: KeyError: inside") {
		t.Errorf("%%+v prints %s, want the frames, and the cause at the end", s)
	}
	if !errors.Is(own, tvmffi.ErrKey) || !errors.Is(own, tvmffi.KindError("MyOwnKind")) {
		t.Error("the kinds of the chain")
	}
	f.Release()
	runtimetest.DropGarbage(t)
}

func TestFrames(t *testing.T) {
	for text, want := range map[string]tvmffi.Frame{
		"  File \"a b.cc\", line 12, in f(int, \"x\")\n": {File: "a b.cc", Line: 12, Function: `f(int, "x")`},
		`File "x.py", line 3`:                            {File: "x.py", Line: 3},
	} {
		e := &tvmffi.Error{Backtrace: "noise\n" + text + "\n  File \"broken\", line x, in y\n"}
		if got := e.Frames(); len(got) != 1 || got[0] != want {
			t.Errorf("the frames of %q are %v, want %v", text, got, want)
		}
	}
	if s := (tvmffi.Frame{File: "x.go", Line: 1, Function: "f"}).String(); s != `File "x.go", line 1, in f` {
		t.Errorf("a frame prints %s", s)
	}
}

func TestErrorContext(t *testing.T) {
	runtimetest.Balanced(t)
	b := runtimetest.MakeBox(t, 7)
	_, err := runtimetest.Call("calls.fail_with_cause", "RuntimeError", "outside", "inside", b)
	var e *tvmffi.Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	context := e.ExtraContext()
	if !tvmffi.Same(context, b) {
		t.Error("the extra context")
	}
	context.Release()
	if tvmffi.NewError("K", "m").ExtraContext() != nil {
		t.Error("an error of Go has none")
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Error("failed", "err", e)
	if s := log.String(); !strings.Contains(s, "err.kind=RuntimeError err.message=outside err.cause.kind=ValueError err.cause.message=inside") {
		t.Errorf("log/slog writes %s, want the kind, the message and the cause", s)
	}
	b.Release()
	b, e, err, context = nil, nil, nil, nil
	runtimetest.DropGarbage(t)
}

func BenchmarkErrorFromCallback(b *testing.B) {
	runtimetest.Load(b)
	f := runtimetest.Must[*tvmffi.Function](b)(tvmffi.FuncOf(failing))
	apply := runtimetest.Lookup(b, "calls.apply_packed")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := apply.Call(f); err == nil {
			b.Fatal("no error")
		}
	}
}
