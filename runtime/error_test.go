package tvmffi_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func TestErrorsOfTheLibrary(t *testing.T) {
	runtimetest.Load(t)
	kinds := map[string]error{
		"ValueError": tvmffi.ErrValue, "TypeError": tvmffi.ErrType, "RuntimeError": tvmffi.ErrRuntime, "IndexError": tvmffi.ErrIndex,
		"KeyError": tvmffi.ErrKey, "AttributeError": tvmffi.ErrAttribute, "AssertionError": tvmffi.ErrAssertion,
		"MemoryError": tvmffi.ErrMemory, "OverflowError": tvmffi.ErrOverflow, "InternalError": tvmffi.ErrInternal,
		"MyOwnKind": tvmffi.KindError("MyOwnKind"), "": tvmffi.KindError(""),
	}
	for kind := range kinds {
		for _, message := range []string{"", "plain", "größer als 7 – ünïcödé ✓ 中文", "with\x00NUL", "two\nlines", strings.Repeat("long ", 2000)} {
			_, err := runtimetest.Call("calls.fail", kind, message)
			var e *tvmffi.Error
			if !errors.As(err, &e) || e.Kind != kind || e.Message != message {
				t.Errorf("an error of kind %q with message %q came back as %q", kind, message, err)
				continue
			}
			for other, o := range kinds {
				if errors.Is(err, o) != (other == kind) {
					t.Errorf("%q is %q: %v", kind, other, errors.Is(err, o))
				}
			}
			want := kind + ": " + message
			if kind == "" {
				want = message
			}
			if err.Error() != want {
				t.Errorf("text %q, want %q", err, want)
			}
		}
	}
	_, err := runtimetest.Call("calls.throw_std", "from std")
	runtimetest.WantError(t, err, tvmffi.ErrInternal, "from std")
	_, err = runtimetest.Call("calls.add_one", "text")
	runtimetest.WantError(t, err, tvmffi.ErrType, "Mismatched type on argument #0 when calling", "calls.add_one")
	_, err = runtimetest.Call("calls.add_one")
	runtimetest.WantError(t, err, tvmffi.ErrType, "Expected 1 but got 0 arguments")
}

func TestErrorFormat(t *testing.T) {
	runtimetest.Load(t)
	_, err := runtimetest.Call("calls.fail", "ValueError", "message")
	if s := fmt.Sprintf("%v|%s|%q", err, err, err); s != `ValueError: message|ValueError: message|"ValueError: message"` {
		t.Errorf("%%v, %%s and %%q print %s", s)
	}
	e := &tvmffi.Error{Kind: "K", Message: "m", Backtrace: "  File \"new.cc\", line 2, in g()\n  File \"old.cc\", line 1, in f()\n"}
	if s := fmt.Sprintf("%+v", e); s != "Traceback (most recent call last):\n  File \"old.cc\", line 1, in f()\n  File \"new.cc\", line 2, in g()\nK: m" {
		t.Errorf("%%+v prints %q, want the most recent call last", s)
	}
	if s := fmt.Sprintf("%+v", tvmffi.NewError("K", "m")); s != "K: m" {
		t.Errorf("%%+v of an error without frames prints %q, want K: m", s)
	}
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() { panic("deep inside") }))
	defer f.Release()
	_, err = runtimetest.Call("calls.apply_packed", f)
	s := fmt.Sprintf("%+v", err)
	if !strings.HasPrefix(s, "Traceback (most recent call last):\n") || !strings.HasSuffix(s, "RuntimeError: panic in a Go callback: deep inside") ||
		!strings.Contains(s, "error_test.go") || !strings.Contains(s, "TestErrorFormat.func") {
		t.Errorf("%%+v prints %s, want the frame of the callback that panicked", s)
	}
	// Frames between Go and C++ are left out, on the way down and on the way up.
	g := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(int64) { panic("deeper") }))
	defer g.Release()
	for _, through := range []string{"calls.apply", "calls.on_thread"} {
		_, err = runtimetest.Call(through, g, 1)
		frames := err.(*tvmffi.Error).Frames()
		if len(frames) == 0 || !strings.HasSuffix(frames[0].Function, "TestErrorFormat.func2") {
			t.Errorf("%s: the func that panicked is not the most recent call: %v", through, frames)
		}
		for _, frame := range frames {
			if !slices.ContainsFunc([]string{"_test.go", "runtimetest/call.go", "testing.go", ".cc"}, func(end string) bool { return strings.HasSuffix(frame.File, end) }) {
				t.Errorf("%s: frame %v is neither of the test nor of C++", through, frame)
			}
		}
	}
}

func TestErrorCause(t *testing.T) {
	runtimetest.Load(t)
	_, err := runtimetest.Call("calls.fail_with_cause", "RuntimeError", "outside", "inside", nil)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "RuntimeError: outside")
	runtimetest.WantError(t, errors.Unwrap(err), tvmffi.ErrValue, "ValueError: inside")
	if !errors.Is(err, tvmffi.ErrValue) || errors.Unwrap(errors.Unwrap(err)) != nil {
		t.Error("the chain of causes")
	}
	b := runtimetest.MakeBox(t, 1)
	defer b.Release()
	if _, err = runtimetest.Call("calls.fail_with_cause", "RuntimeError", "outside", "inside", b); errors.Unwrap(err) == nil {
		t.Error("an extra context that is not a Go error hides the cause")
	}
}

type ownError struct{ code int }

func (e ownError) Error() string { return fmt.Sprint("own error ", e.code) }

// A Go error comes out of the outermost call as itself.
func TestErrorIdentity(t *testing.T) {
	runtimetest.Load(t)
	own := ownError{7}
	native := tvmffi.NewError("KeyError", "a kind chosen in Go")
	for _, through := range []string{"calls.apply", "calls.on_thread"} {
		for _, c := range []struct {
			err  error
			text string
		}{
			{io.ErrUnexpectedEOF, "RuntimeError: unexpected EOF"},
			{own, "RuntimeError: own error 7"},
			{fmt.Errorf("read: %w", fs.ErrNotExist), "RuntimeError: read: file does not exist"},
			{errors.Join(io.EOF, own), "RuntimeError: EOF\nown error 7"},
			{native, "KeyError: a kind chosen in Go"},
			{fmt.Errorf("around: %w", native), "KeyError: around: KeyError: a kind chosen in Go"},
		} {
			for _, levels := range []int{1, 2, 3, 10} {
				f := nest(t, through, levels, func() error { return c.err })
				_, err := runtimetest.Call(through, f, 1)
				if err == nil || err.Error() != c.text || !errors.Is(err, c.err) {
					t.Errorf("%s, %d levels: %v, want %v", through, levels, err, c.text)
				}
				var o ownError
				if errors.As(c.err, &o) && (!errors.As(err, &o) || o.code != 7) {
					t.Errorf("%s, %d levels: errors.As on %v", through, levels, err)
				}
				if c.err == error(native) && err != error(native) {
					t.Errorf("%s, %d levels: another *Error came back", through, levels)
				}
				f.Release()
			}
		}
	}
	// An error of the library is the same object on its way through Go.
	var first error
	f := nest(t, "calls.apply", 3, func() error { _, first = runtimetest.Call("calls.fail", "ValueError", "from C++"); return first })
	_, err := runtimetest.Call("calls.apply", f, 1)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "ValueError: from C++")
	f.Release()
	// A level may wrap what it got.
	f = nest(t, "calls.apply", 1, func() error {
		_, err := runtimetest.Call("calls.fail", "ValueError", "from C++")
		return fmt.Errorf("level: %w", err)
	})
	_, err = runtimetest.Call("calls.apply", f, 1)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "level: ValueError: from C++")
	f.Release()
	// An error that C++ swallows is seen there with its kind and message.
	f = runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() error { return native }))
	if s := runtimetest.MustCall(t, "calls.swallow", f); s.Value() != "KeyError: a kind chosen in Go" {
		t.Errorf("calls.swallow returned %v, want the kind and message of the error", s)
	}
	if _, err := runtimetest.Call("calls.add_one", 1); err != nil {
		t.Errorf("a good call after a swallowed error: %v", err)
	}
	f.Release()
}

// nest makes a function that calls through C++ levels deep before it fails.
func nest(t testing.TB, through string, levels int, fail func() error) *tvmffi.Function {
	t.Helper()
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(int64) error { return fail() }))
	if levels == 1 {
		return f
	}
	return nest(t, through, levels-1, func() error { _, err := runtimetest.Call(through, f, 1); return err })
}

// Each level of callbacks may wrap the error of the level below. The text and the backtrace
// have a limit, so the memory for the error grows with the levels and not with their square.
func TestErrorLevels(t *testing.T) {
	runtimetest.Load(t)
	apply := runtimetest.Lookup(t, "calls.apply")
	defer apply.Release()
	leaf := errors.New("the innermost text")
	// The collector ends one level in each collection, so few levels say much.
	level := func(n int64) string { return fmt.Sprintf("level %d %s", n, strings.Repeat("-", 150)) }
	for name, wrap := range map[string]func(n int64, err error) error{
		"fmt.Errorf": func(n int64, err error) error { return fmt.Errorf("%s: %w", level(n), err) },
		"WrapError":  func(n int64, err error) error { return tvmffi.WrapError("ValueError", level(n), err) },
		"panic":      func(n int64, err error) error { panic(fmt.Errorf("%s: %w", level(n), err)) },
	} {
		var f *tvmffi.Function
		left := int64(0)
		f = runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(n int64) (int64, error) {
			if n == left {
				return 0, leaf
			}
			_, err := apply.Call(f, n+1)
			return 0, wrap(n, err)
		}))
		allocated := func(levels int64) (bytes uint64, err error) {
			left = levels
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = f.Call(0)
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc, err
		}
		few, _ := allocated(80)
		many, err := allocated(320)
		if !errors.Is(err, leaf) || many > 6*few {
			t.Errorf("%s: 80 levels allocate %d bytes, 320 levels %d, and the error is %.200v", name, few, many, err)
		}
		text, all := err.Error(), fmt.Sprintf("%+v", err)
		if len(text) > 8<<10 || len(all) > 512<<10 || name != "WrapError" && (!strings.HasSuffix(text, leaf.Error()) || !strings.Contains(text, " ... ")) {
			t.Errorf("%s: the text has %d bytes, with all causes %d: %.200s", name, len(text), len(all), text)
		}
		var log strings.Builder
		slog.New(slog.NewTextHandler(&log, nil)).Error("failed", "err", err)
		if log.Len() > 512<<10 {
			t.Errorf("%s: the log has %d bytes", name, log.Len())
		}
		if e, ok := errors.AsType[*tvmffi.Error](err); ok {
			e.Message = "short" // and it crosses once more
			again := nest(t, "calls.apply", 1, func() error { return fmt.Errorf("again: %w", e) })
			if _, err := runtimetest.Call("calls.apply", again, 1); !strings.HasSuffix(err.Error(), "again: "+e.Error()) {
				t.Errorf("%s: the error around a changed one is %q", name, err)
			}
			again.Release()
		}
		f.Release()
	}
	// One level may say as much as it likes.
	long := strings.Repeat("long ", 10_000)
	f := nest(t, "calls.apply", 2, func() error { return fmt.Errorf("%s: %w", long, tvmffi.NewError("ValueError", long)) })
	defer f.Release()
	if _, err := runtimetest.Call("calls.apply", f, 1); len(err.Error()) < 2*len(long) {
		t.Errorf("a long text has %d bytes of %d", len(err.Error()), 2*len(long))
	}
}

type endless struct{}

func (endless) Error() string   { return "endless" }
func (e endless) Unwrap() error { return e }

type shared struct{ errs []error }

func (shared) Error() string     { return "shared" }
func (s shared) Unwrap() []error { return s.errs }

// The chain of a Go error may have no end, or 2^60 paths.
func TestErrorEndless(t *testing.T) {
	runtimetest.Load(t)
	var tree error = io.EOF
	for range 60 {
		tree = shared{[]error{tree, tree}}
	}
	for text, err := range map[string]error{"endless": endless{}, "shared": tree} {
		f := nest(t, "calls.apply", 3, func() error { return err })
		_, err := runtimetest.Call("calls.apply", f, 1)
		runtimetest.WantError(t, err, nil, "RuntimeError: "+text)
		f.Release()
	}
}

func TestPanics(t *testing.T) {
	runtimetest.Load(t)
	native := tvmffi.NewError("IndexError", "thrown as a panic")
	cyclic := map[string]any{}
	cyclic["self"] = cyclic
	for _, c := range []struct {
		panics any
		text   string
	}{
		{"text", "RuntimeError: panic in a Go callback: text"},
		{42, "RuntimeError: panic in a Go callback: 42"},
		{io.EOF, "RuntimeError: panic in a Go callback: EOF"},
		{native, "IndexError: thrown as a panic"},
		// Its text has no end.
		{cyclic, "RuntimeError: panic in a Go callback: a value of type map[string]interface {}"},
		// Releases of Go word this differently.
		{nil, "RuntimeError: panic in a Go callback: " + new(runtime.PanicNilError).Error()},
	} {
		f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(int64) { panic(c.panics) }))
		for _, through := range []string{"calls.apply", "calls.on_thread"} {
			_, err := runtimetest.Call(through, f, 1)
			runtimetest.WantError(t, err, nil, c.text)
			if cause, ok := c.panics.(error); ok && !errors.Is(err, cause) {
				t.Errorf("%v is not %v", err, cause)
			}
			var e *tvmffi.Error
			if errors.As(err, &e); e != native && !strings.Contains(e.Backtrace, "TestPanics.func") {
				t.Errorf("backtrace %q", e.Backtrace)
			}
		}
		f.Release()
	}
}

// badValue is a value that fails with an error without a text.
type badValue struct{ err error }

func (b badValue) FFIValue() (any, error) { return nil, b.err }

// TestErrorWithoutText passes errors whose method Error panics: a nil pointer, and what wraps it. None is a panic of the caller.
func TestErrorWithoutText(t *testing.T) {
	runtimetest.Load(t)
	var none *fs.PathError
	type record struct {
		Err error `ffi:"err"`
	}
	const null, rest = "the error is a nil *fs.PathError", ", whose method Error panics: use nil, or an error that has a text"
	for _, c := range []struct {
		arg  any
		text string
	}{
		{none, "ValueError: argument 0: " + null}, {[]any{1, none}, "argument 0: element 1: " + null}, {[]error{none}, "element 0: " + null}, {[]*fs.PathError{none}, "element 0: " + null},
		{map[string]error{"a": none}, `value of key "a": ` + null}, {record{none}, "field err: " + null}, {badValue{none}, "the value of tvmffi_test.badValue: " + null},
		{errors.Join(io.EOF, none), "argument 0: the error is a *errors.joinError"}, {struct{ *fs.PathError }{}, "argument 0: the error is a struct { *fs.PathError }"},
	} {
		_, err := runtimetest.Call("calls.echo", c.arg)
		runtimetest.WantError(t, err, tvmffi.ErrValue, c.text+rest)
		result := c.arg
		for f, text := range map[any]string{
			"any": c.text[strings.LastIndex(c.text, "the error is"):], "error": "ValueError: the error is", "panic": "RuntimeError: panic in a Go callback: the error is",
		} {
			bad, isError := result.(error)
			if !isError && f != "any" {
				continue
			}
			returns := map[any]any{"any": func() any { return result }, "error": func() error { return bad }, "panic": func() { panic(bad) }}[f]
			callback := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(returns))
			_, err := callback.Call()
			runtimetest.WantError(t, err, nil, text, rest)
			if errors.Is(err, io.EOF) {
				t.Errorf("%v is io.EOF", err)
			}
			callback.Release()
		}
	}
	if v := runtimetest.MustCall(t, "calls.echo", fmt.Errorf("open: %w", none)); v.TypeKey() != "ffi.Error" { // which package fmt gives a text
		t.Errorf("an error that wraps a nil pointer went as %s", v.TypeKey())
	}
}

// Functions of the plain C form may fail in ways that none in C++ does.
func TestRawReturnCodes(t *testing.T) {
	runtimetest.Load(t)
	m := runtimetest.Must[*tvmffi.Module](t)(tvmffi.LoadModule(nativetest.Build(t, "calls")))
	defer m.Release()
	raw := func(name string) (tvmffi.Any, error) {
		t.Helper()
		f := runtimetest.Must[*tvmffi.Function](t)(m.Function(name))
		defer f.Release()
		return f.Call()
	}
	for range 3 {
		for _, name := range []string{"raw_minus_one", "raw_minus_two", "raw_seven"} {
			_, err := raw(name)
			runtimetest.WantError(t, err, tvmffi.ErrRuntime, "RuntimeError: the function failed without an error message")
		}
		_, err := raw("raw_fail")
		runtimetest.WantError(t, err, tvmffi.ErrValue, "ValueError: raised in C")
		if v, err := raw("raw_stale"); err != nil || v.Value() != int64(1) {
			t.Errorf("a call that left an error behind: %v, %v", v, err)
		}
		if v, err := runtimetest.Call("calls.add_one", 1); err != nil || v.Value() != int64(2) {
			t.Errorf("the call after it: %v, %v", v, err)
		}
		_, err = runtimetest.Call("calls.fail", "KeyError", "fresh")
		runtimetest.WantError(t, err, tvmffi.ErrKey, "KeyError: fresh")
		if v, err := raw("raw_borrowed_string"); err != nil || v.Value() != "borrowed" {
			t.Errorf("a borrowed string: %v, %v", v, err)
		}
		_, err = raw("raw_unknown_index")
		runtimetest.WantError(t, err, tvmffi.ErrType, "the type index 63")
		if v, err := raw("raw_null_object"); err != nil || v.TypeKey() != "None" {
			t.Errorf("a null object: %v, %v", v.TypeKey(), err)
		} else if b, err := tvmffi.As[*runtimetest.Box](v); err != nil || b != nil {
			t.Errorf("a null object as a Box: %v, %v", b, err)
		}
	}
	if v := runtimetest.Must[tvmffi.Any](t)(runtimetest.Must[*tvmffi.Function](t)(m.Function("triple")).Call(14)); v.Value() != int64(42) {
		t.Errorf("triple returned %v, want 42", v)
	}
	_, err := m.Function("no_such_function")
	runtimetest.WantError(t, err, tvmffi.ErrAttribute, "the module has no function no_such_function")
	if doc, err := m.FunctionDoc("triple"); err != nil || doc != "Three times x." {
		t.Errorf("doc %q, %v", doc, err)
	}
	if meta, err := m.FunctionMetadata("triple"); err != nil || !strings.Contains(meta, "int") {
		t.Errorf("metadata %q, %v", meta, err)
	}
	if meta, err := m.FunctionMetadata("raw_fail"); err != nil || meta != "" {
		t.Errorf("metadata %q, %v", meta, err)
	}
	if kind, err := m.Kind(); err != nil || kind != "library" {
		t.Errorf("kind %q, %v", kind, err)
	}
	_, err = tvmffi.LoadModule("/no such file.so")
	runtimetest.WantError(t, err, nil, "no such file.so")
}

func TestErrorAsValue(t *testing.T) {
	runtimetest.Load(t)
	for _, err := range []error{io.EOF, ownError{3}, tvmffi.NewError("KeyError", "k")} {
		v := runtimetest.MustCall(t, "calls.echo", err)
		if v.TypeKey() != "ffi.Error" {
			t.Errorf("%v went as %s", err, v.TypeKey())
		}
		back, ok := v.Value().(*tvmffi.Error)
		if !ok || !errors.Is(back, err) && error(back) != err {
			t.Errorf("%v came back as %v", err, v.Value())
		}
		if e, failed := tvmffi.As[error](v); failed != nil || !errors.Is(e, err) && e != err {
			t.Errorf("As[error]: %v, %v", e, failed)
		}
		if e, failed := tvmffi.As[*tvmffi.Error](v); failed != nil || e == nil {
			t.Errorf("As[*Error]: %v, %v", e, failed)
		}
	}
	_, fromLibrary := runtimetest.Call("calls.fail", "ValueError", "m")
	v := runtimetest.MustCall(t, "calls.echo", fromLibrary)
	if e := v.Value().(*tvmffi.Error); e.Message != "m" || !errors.Is(e, tvmffi.ErrValue) {
		t.Errorf("an error of the library as a value: %v", e)
	}
	for _, none := range []any{error(nil), (*tvmffi.Error)(nil)} {
		if v := runtimetest.MustCall(t, "calls.echo", none); !v.IsNone() {
			t.Errorf("%T nil is %v", none, v)
		}
	}
	_, err := tvmffi.As[error](runtimetest.MustCall(t, "calls.echo", 1))
	runtimetest.WantError(t, err, tvmffi.ErrType, "expected ffi.Error, got int")
	// A callback that returns an error as its value does not fail.
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() any { return io.EOF }))
	if v, err := f.Call(); err != nil || !errors.Is(v.Value().(error), io.EOF) {
		t.Errorf("the function returned %v, %v, want io.EOF as its value", v, err)
	}
}

func TestErrorsAreCollected(t *testing.T) {
	runtimetest.Balanced(t)
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(int64) error { return io.EOF }))
	for range 200 {
		if _, err := runtimetest.Call("calls.apply", f, 1); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	f.Release()
	runtimetest.DropGarbage(t)
}

// An error that says all in Go keeps no object, which only the collector could release,
// until it is raised again. One with a cause or a context keeps it.
func TestErrorsKeepNoObject(t *testing.T) {
	runtimetest.Load(t)
	keeps := func(err error) bool {
		return !reflect.ValueOf(err).Elem().FieldByName("state").FieldByName("native").IsNil()
	}
	_, plain := runtimetest.Call("calls.fail", "ValueError", "from C++")
	_, caused := runtimetest.Call("calls.fail_with_cause", "ValueError", "from C++", "before", nil)
	_, extra := runtimetest.Call("calls.fail_with_cause", "ValueError", "from C++", "before", tvmffi.Of[any](1))
	if keeps(plain) || !keeps(caused) || !keeps(extra) {
		t.Error("plain", keeps(plain), "with a cause", keeps(caused), "with a context", keeps(extra))
	}
	v := runtimetest.MustCall(t, "calls.echo", plain)
	if !keeps(plain) {
		t.Error("an error that is raised again has no object")
	}
	if back := v.Value().(*tvmffi.Error); !errors.Is(back, plain) || back.Backtrace != plain.(*tvmffi.Error).Backtrace {
		t.Errorf("%+v came back as %+v", plain, back)
	}
	v.Release()
}

// Raised by many goroutines, an error becomes one object.
func TestErrorRaisedByMany(t *testing.T) {
	runtimetest.Balanced(t)
	_, first := runtimetest.Call("calls.fail", "ValueError", "from C++")
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(int64) error { return first }))
	var wait sync.WaitGroup
	var errs [8]error
	for i := range errs {
		wait.Go(func() { _, errs[i] = runtimetest.Call("calls.apply", f, 1) })
	}
	wait.Wait()
	for _, err := range errs {
		runtimetest.WantError(t, err, tvmffi.ErrValue, "ValueError: from C++")
		if !errors.Is(err, first) || !errors.Is(first, err) || !errors.Is(err, errs[0]) {
			t.Error("another error came back")
		}
	}
	f.Release()
	clear(errs[:])
	runtimetest.DropGarbage(t)
}
