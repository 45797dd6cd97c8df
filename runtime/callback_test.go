package tvmffi_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

func TestCallbackKinds(t *testing.T) {
	runtimetest.Balanced(t)
	b := runtimetest.MakeBox(t, 5)
	defer b.Release()
	for _, c := range []struct {
		f    any
		arg  any
		want any
	}{
		{func(x int64) (int64, error) { return x + 1, nil }, 1, int64(2)},
		{func(x int64) int64 { return x + 1 }, 1, int64(2)},
		{func(x int32) int32 { return x + 1 }, 1, int64(2)},
		{func(x float64) float64 { return x / 2 }, 1.0, 0.5},
		{func(x bool) bool { return !x }, true, false},
		{func(x string) string { return x + "!" }, "hello", "hello!"},
		{func(x string) string { return x + "!" }, "a text of more than seven bytes", "a text of more than seven bytes!"},
		{func(x []byte) []byte { return append(x, 0) }, []byte{1}, []byte{1, 0}},
		{func(x tvmffi.Device) tvmffi.Device { x.ID++; return x }, tvmffi.CPU, tvmffi.Device{Type: 1, ID: 1}},
		{func(x tvmffi.DataType) tvmffi.DataType { x.Lanes = 4; return x }, tvmffi.Float32, tvmffi.DataType{Code: 2, Bits: 32, Lanes: 4}},
		{func(x tvmffi.Pointer) tvmffi.Pointer { x.Address++; return x }, tvmffi.Pointer{Address: 8}, tvmffi.Pointer{Address: 9}},
		{func(x *int64) *int64 { return x }, nil, nil},
		{func(x *int64) *int64 { return x }, 3, int64(3)},
		{func(x *runtimetest.Box) int64 { return x.I64() }, b, int64(5)},
		{func(x []int64) int64 { return x[0] + x[1] }, tvmffi.Of[int64](1, 2), int64(3)},
		{func(x map[string]int64) int64 { return x["a"] }, map[string]int64{"a": 7}, int64(7)},
		{func(x tvmffi.Tuple2[int64, string]) string { return fmt.Sprint(x.A, x.B) }, tvmffi.Tuple2[int64, string]{A: 1, B: "b"}, "1b"},
		{func(x any) any { return x }, 1.5, 1.5},
		{func(x tvmffi.Any) tvmffi.Any { return x }, "text", "text"},
		{func(x any) {}, 1, nil},
		{func(x any) error { return nil }, 1, nil},
		{func(args []tvmffi.Any) (any, error) { return len(args), nil }, 1, int64(1)},
		{tvmffi.Packed(func(args []tvmffi.Any) (any, error) { return args[0], nil }), 1, int64(1)},
	} {
		f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(c.f))
		for _, through := range []string{"calls.apply", "calls.on_thread"} {
			v, err := runtimetest.Call(through, f, c.arg)
			if err != nil || !reflect.DeepEqual(v.Value(), c.want) {
				t.Errorf("%T(%v): %v, %v, want %v", c.f, c.arg, v, err, c.want)
			}
		}
		f.Release()
	}
}

// A callback takes what a function of C++ with its parameters takes.
func TestCallbackConverts(t *testing.T) {
	runtimetest.Load(t)
	for _, c := range []struct {
		f    any
		arg  any
		want string
	}{
		{func(x float64) string { return fmt.Sprint(x) }, 3, "3"},
		{func(x float64) string { return fmt.Sprint(x) }, true, "1"},
		{func(x float32) string { return fmt.Sprint(x) }, 3, "3"},
		{func(x int64) string { return fmt.Sprint(x) }, true, "1"},
		{func(x int8) string { return fmt.Sprint(x) }, true, "1"},
		{func(x bool) string { return fmt.Sprint(x) }, 2, "true"},
		{func(x *float64) string { return fmt.Sprint(*x) }, 3, "3"},
		{func(x []float64) string { return fmt.Sprint(x) }, []int64{1, 2}, "[1 2]"},
		{func(x map[string]float64) string { return fmt.Sprint(x) }, map[string]int64{"a": 1}, "map[a:1]"},
		{func(x tvmffi.DataType) string { return fmt.Sprint(x) }, "float16", "float16"},
		{func(x tvmffi.Device) string { return fmt.Sprint(x) }, "cpu", "cpu:0"},
		{func(x any) string { return fmt.Sprintf("%T", x) }, 3, "int64"},
	} {
		f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(c.f))
		v, err := f.Call(c.arg)
		got, err2 := tvmffi.As[string](v)
		if err != nil || err2 != nil || got != c.want {
			t.Errorf("%T of %v: %q, %v, want %q", c.f, c.arg, got, err, c.want)
		}
		f.Release()
	}
	// Generated code reads with Args.Int and its like, and with bindrt.Arg where they do not do.
	apply := bindrt.Func{Library: &runtimetest.Calls, Name: "calls.apply"}
	for _, x := range []any{3, true, 3.0} {
		var c bindrt.Call3
		c.Begin(&apply, 2)
		bindrt.Callback(&c.Call, 0, func(float64) {}, func(a *bindrt.Args) error {
			x, ok := a.Float(0)
			if !ok {
				x = bindrt.Arg[float64](a, 0)
			}
			if err := a.Check(1); err != nil {
				return err
			}
			return a.ReturnFloat(x + 0.5)
		})
		bindrt.Put(&c.Call, 1, x)
		want := 3.5
		if x == true {
			want = 1.5
		}
		if got, err := bindrt.Do[float64](&c.Call); err != nil || got != want {
			t.Errorf("%v: %v, %v, want %v", x, got, err, want)
		}
	}
}

func TestCallbackRefuses(t *testing.T) {
	runtimetest.Load(t)
	for _, c := range []struct {
		f    any
		args []any
		want string
	}{
		{func(int64) {}, nil, "TypeError: the Go func github.com/tvmffi-go/tvmffi/runtime_test.TestCallbackRefuses.func1: it takes 1 argument, but got 0"},
		{func(int64) {}, []any{1, 2}, "TestCallbackRefuses.func2: it takes 1 argument, but got 2"},
		{func() {}, []any{1}, "TestCallbackRefuses.func3: it takes 0 arguments, but got 1"},
		{func(int64) {}, []any{"text"}, "TypeError: the Go func github.com/tvmffi-go/tvmffi/runtime_test.TestCallbackRefuses.func4: argument 0: expected int, got ffi.SmallStr"},
		{func(int64) {}, []any{1.5}, "TestCallbackRefuses.func5: argument 0: expected int, got float"},
		{func(int8) {}, []any{300}, "OverflowError: the Go func github.com/tvmffi-go/tvmffi/runtime_test.TestCallbackRefuses.func6: argument 0: expected an int from -128 to 127, got 300"},
		{func(int64, *runtimetest.Box) {}, []any{1, 2}, "TestCallbackRefuses.func7: argument 1: expected calls.Box, got int"},
		{func([]int64) {}, []any{tvmffi.Of[any](1, "two")}, "TestCallbackRefuses.func8: argument 0: element 1: expected int, got ffi.SmallStr"},
		{func([][]string) {}, []any{tvmffi.Of[any]([]string{"a"}, []any{"b", 2})}, "TestCallbackRefuses.func9: argument 0: element 1: element 1: expected ffi.String, got int"},
		{func(map[string]int64) {}, []any{map[string]any{"a": 1, "b": "x"}}, `argument 0: value of key "b": expected int, got ffi.SmallStr`},
		{func() any { return make(chan int) }, nil, "TypeError: the Go func github.com/tvmffi-go/tvmffi/runtime_test.TestCallbackRefuses.func11: its result: Go type chan int: this type has no counterpart in TVM-FFI"},
	} {
		f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(c.f))
		_, err := f.Call(c.args...)
		runtimetest.WantError(t, err, nil, c.want)
		f.Release()
	}
	for _, c := range []struct {
		f    any
		want string
	}{
		{nil, "TypeError: expected a func, got <nil>"},
		{1, "TypeError: expected a func, got int"},
		{(func())(nil), "TypeError: the func() is nil"},
		{func(...chan int) {}, "TypeError: func(...chan int): parameter 0: Go type chan int: this type has no counterpart in TVM-FFI"},
		{func() (int64, chan int, error) { return 0, nil, nil }, "TypeError: func() (int64, chan int, error): result 2: Go type chan int: this type has no counterpart in TVM-FFI"},
		{func(string, chan int) {}, "TypeError: func(string, chan int): parameter 1: Go type chan int: this type has no counterpart in TVM-FFI"},
		{func() (chan int, error) { return nil, nil }, "TypeError: func() (chan int, error): its result: Go type chan int: this type has no counterpart"},
		{(*tvmffi.Function)(nil), "TypeError: the object is nil"},
	} {
		_, err := tvmffi.FuncOf(c.f)
		runtimetest.WantError(t, err, tvmffi.ErrType, c.want)
	}
	// A func that no signature allows fails where it is used.
	_, err := runtimetest.Call("calls.echo", func(...chan int) {})
	runtimetest.WantError(t, err, tvmffi.ErrType, "func(...chan int): parameter 0: Go type chan int")
}

// A variadic func takes what its last parameter stands for any number of times, none
// too, and gives it when it is called itself.
func TestVariadicFunc(t *testing.T) {
	runtimetest.Balanced(t)
	runtimetest.Load(t)
	join := func(separator string, parts ...any) (string, error) {
		texts := make([]string, len(parts))
		for i, p := range parts {
			texts[i] = fmt.Sprint(p)
		}
		return strings.Join(texts, separator), nil
	}
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(join))
	for _, c := range []struct {
		want string
		args []any
	}{
		{"", []any{"-"}},
		{"1", []any{"-", 1}},
		{"1-true-2.5-text of some length", []any{"-", 1, true, 2.5, "text of some length"}},
	} {
		if got := runtimetest.Must[string](t)(tvmffi.As[string](runtimetest.Must[tvmffi.Any](t)(f.Call(c.args...)))); got != c.want {
			t.Errorf("the function with %v returned %q, want %q", c.args, got, c.want)
		}
	}
	_, err := f.Call()
	runtimetest.WantError(t, err, tvmffi.ErrType, "TestVariadicFunc.func1: it takes at least 1 argument, but got 0")
	sum := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(numbers ...float64) (n float64) {
		for _, x := range numbers {
			n += x
		}
		return n
	}))
	_, err = sum.Call(1, 2, "three")
	runtimetest.WantError(t, err, tvmffi.ErrType, "argument 2: expected float, got ffi.SmallStr")
	// The other way: a Function as a variadic func.
	add := runtimetest.Must[func(...int) (float64, error)](t)(tvmffi.As[func(...int) (float64, error)](runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(sum))))
	for n := range 4 {
		if got, err := add([]int{1, 2, 3, 4}[:n]...); err != nil || got != float64(n*(n+1)/2) {
			t.Errorf("the sum of %d numbers is %v, %v, want %d", n, got, err, n*(n+1)/2)
		}
	}
	f.Release()
	sum.Release()
	runtimetest.DropGarbage(t)
}

func addTwo(x, y int64) (int64, error) { return x + y, nil }

// The adapter of generated code is in another package than the func of the user, which
// is the one that the error names.
func TestErrorNamesTheFunc(t *testing.T) {
	runtimetest.Load(t)
	var c bindrt.Call2
	c.Begin(runtimetest.GlobalFunc("calls.apply", ""), 2)
	bindrt.Callback(&c.Call, 0, addTwo, func(a *bindrt.Args) error { return a.Check(2) })
	c.Int(1, 1)
	runtimetest.WantError(t, c.Do(), tvmffi.ErrType, "TypeError: the Go func github.com/tvmffi-go/tvmffi/runtime_test.addTwo: it takes 2 arguments, but got 1")

	c.Begin(runtimetest.GlobalFunc("calls.apply", ""), 2)
	bindrt.Callback(&c.Call, 0, addTwo, func(a *bindrt.Args) error {
		bindrt.Arg[int8](a, 0)
		return a.Check(1)
	})
	c.Int(1, 300)
	runtimetest.WantError(t, c.Do(), tvmffi.ErrType, "TypeError: the Go func github.com/tvmffi-go/tvmffi/runtime_test.addTwo: argument 0: expected an int from -128 to 127, got 300")
}

// Objects that a callback gets end when it returns; Retain keeps one.
func TestBorrowedArguments(t *testing.T) {
	runtimetest.Balanced(t)
	b := runtimetest.MakeBox(t, 1)
	var escaped, kept *runtimetest.Box
	var text *tvmffi.Array[int64]
	var packed []tvmffi.Any
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(x *runtimetest.Box, s string, a *tvmffi.Array[int64]) (string, error) {
		if n := memstat.UseCount(x); n != 2 { // b and the parameter of calls.borrow
			return "", fmt.Errorf("use count in the callback: %d", n)
		}
		escaped, text, kept = x, a, tvmffi.Retain(x)
		if x.I64() != 1 || a.At(0) != 1 {
			return "", errors.New("the arguments are there")
		}
		return s, nil
	}))
	if v := runtimetest.MustCall(t, "calls.borrow", f, b); v.Value() != "text" {
		t.Errorf("result %v", v)
	}
	const expired = "was borrowed for a callback that has returned, or for a step of a loop (tvmffi.Retain keeps an object)"
	runtimetest.WantPanic(t, tvmffi.ErrRuntime, "field calls.Box.i64: the receiver "+expired, func() { escaped.I64() })
	runtimetest.WantPanic(t, tvmffi.ErrRuntime, "Array.Len: the receiver "+expired, func() { text.Len() })
	runtimetest.WantPanic(t, tvmffi.ErrRuntime, "retain: the object "+expired, func() { tvmffi.Retain(escaped) })
	_, err := runtimetest.EchoBox(escaped)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, expired)
	_, err = text.Slice()
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, expired)
	escaped.Release()
	if kept.I64() != 1 || !tvmffi.Same(kept, b) || memstat.UseCount(b) != 2 {
		t.Error("what Retain kept is still there")
	}
	kept.Release()
	f.Release()

	// The same for a packed function and for any.
	var loose any
	f = runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(args []tvmffi.Any) (any, error) {
		packed = args
		kept = tvmffi.Retain(runtimetest.Must[*runtimetest.Box](t)(tvmffi.As[*runtimetest.Box](args[0])))
		return args[0], nil
	}))
	v := runtimetest.MustCall(t, "calls.apply", f, b)
	_, err = tvmffi.As[*runtimetest.Box](packed[0])
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, expired)
	_, err = runtimetest.Call("calls.echo", packed[0])
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, expired)
	if n := memstat.UseCount(b); n != 3 { // b, kept, v
		t.Errorf("use count %d", n)
	}
	v.Release()
	kept.Release()
	f.Release()
	f = runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(x any) { loose = x }))
	runtimetest.MustCall(t, "calls.apply", f, b)
	if o, ok := loose.(tvmffi.ObjectRef); !ok || memstat.UseCount(o) != 0 {
		t.Errorf("an object as any: %T", loose)
	}
	f.Release()
	if n := memstat.UseCount(b); n != 1 {
		t.Errorf("use count %d", n)
	}
	b.Release()
}

// A borrowed object ends although its callback panics, and in the right callback
// of a nest.
func TestBorrowedInNest(t *testing.T) {
	runtimetest.Balanced(t)
	var outer, inner *runtimetest.Box
	b := runtimetest.MakeBox(t, 1)
	in := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(x *runtimetest.Box) { inner = x; panic("now") }))
	out := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(x *runtimetest.Box) error {
		outer = x
		if _, err := in.Call(x); err == nil {
			return errors.New("no error")
		}
		if memstat.UseCount(x) != 1 {
			return errors.New("a borrowed argument adds no reference")
		}
		if memstat.UseCount(inner) != 0 || x.I64() != 1 {
			return errors.New("the inner argument has ended, the outer has not")
		}
		return nil
	}))
	if _, err := out.Call(b); err != nil {
		t.Error(err)
	}
	if memstat.UseCount(outer) != 0 {
		t.Error("the outer argument has ended")
	}
	in.Release()
	out.Release()
	b.Release()
	runtimetest.DropGarbage(t)
}

func TestTypedCallback(t *testing.T) {
	runtimetest.Balanced(t)
	n, err := Repeat(func(x int64) (int64, error) { return 2 * x, nil }, 5)
	if err != nil || n != 20 {
		t.Errorf("Repeat returned %d, %v, want 20", n, err)
	}
	own := errors.New("own")
	_, err = Repeat(func(int64) (int64, error) { return 0, own }, 5)
	if !errors.Is(err, own) {
		t.Error(err)
	}
	err = nil
	runtimetest.DropGarbage(t)
}

// A func that came from a Function goes back as that Function, and a Go func that
// went out and came back is called without a detour that loses anything.
func TestFunctionIdentity(t *testing.T) {
	runtimetest.Load(t)
	adder := runtimetest.MustCall(t, "calls.adder", 5)
	fn := runtimetest.Must[*tvmffi.Function](t)(tvmffi.As[*tvmffi.Function](adder))
	typed := runtimetest.Must[func(int64) (int64, error)](t)(tvmffi.As[func(int64) (int64, error)](adder))
	if v, err := typed(2); err != nil || v != 7 {
		t.Errorf("the function returned %d, %v, want 7", v, err)
	}
	for what, back := range map[string]func() (tvmffi.Any, error){
		"any": func() (tvmffi.Any, error) { return runtimetest.Call("calls.echo_function", typed) },
		"FuncOf": func() (tvmffi.Any, error) {
			f, err := tvmffi.FuncOf(typed)
			if err != nil {
				return tvmffi.Any{}, err
			}
			return tvmffi.AnyOf(f)
		},
		"callback": func() (tvmffi.Any, error) {
			var c bindrt.Call1
			c.Begin(runtimetest.GlobalFunc("calls.echo_typed", ""), 1)
			bindrt.Callback(&c.Call, 0, typed, func(*bindrt.Args) error { panic("a detour") })
			return bindrt.Do[tvmffi.Any](&c.Call)
		},
	} {
		v, err := back()
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if f, err := tvmffi.As[*tvmffi.Function](v); err != nil || !tvmffi.Same(f, fn) {
			t.Errorf("%s: another Function came back (%v)", what, err)
		}
		v.Release()
	}
	wrapped := func(x int64) (int64, error) { return typed(x) }
	if f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(wrapped)); tvmffi.Same(f, fn) {
		t.Error("a func around the func is another Function")
	}
	bound := bindrt.Bind(fn, func(x int64) (int64, error) { return typed(x) })
	if f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(bound)); !tvmffi.Same(f, fn) {
		t.Error("a bound func is its Function")
	}
	// A func with no error result panics with it.
	quiet := runtimetest.Must[func(int64) int64](t)(tvmffi.As[func(int64) int64](runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(func(x int64) (int64, error) {
		if x < 0 {
			return 0, tvmffi.NewError("ValueError", "negative")
		}
		return x, nil
	}))))
	if quiet(3) != 3 {
		t.Error("quiet")
	}
	runtimetest.WantPanic(t, tvmffi.ErrValue, "negative", func() { quiet(-1) })
	if f, err := tvmffi.As[func() error](runtimetest.MustCall(t, "calls.echo", nil)); err != nil || f != nil {
		t.Errorf("None as a func: %v", err)
	}
	runtime.KeepAlive(typed)
}

// A func made of a Function keeps it, and its entry goes with it.
func TestBoundFuncsAreCollected(t *testing.T) {
	runtimetest.Balanced(t)
	func() {
		for range 50 {
			f := runtimetest.Must[func(int64) (int64, error)](t)(tvmffi.As[func(int64) (int64, error)](runtimetest.MustCall(t, "calls.echo", func(x int64) int64 { return x })))
			runtime.GC()
			if v, err := f(3); err != nil || v != 3 {
				t.Fatalf("the function returned %d, %v, want 3", v, err)
			}
		}
	}()
	runtimetest.DropGarbage(t)
}

func TestCallbackOutlivesCall(t *testing.T) {
	runtimetest.Balanced(t)
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(x int64) int64 { return x * 3 }))
	runtimetest.MustCall(t, "calls.store", f)
	f.Release()
	runtime.GC()
	if v := runtimetest.MustCall(t, "calls.call_stored", 4); v.Value() != int64(12) {
		t.Errorf("calls.call_stored returned %v, want 12", v)
	}
	runtimetest.MustCall(t, "calls.drop")
	_, err := runtimetest.Call("calls.call_stored", 4)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "no callback is stored")

	done := make(chan bool, 1)
	f = runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() { done <- true }))
	runtimetest.MustCall(t, "calls.later", f, 1)
	f.Release()
	runtime.GC()
	select {
	case <-done:
	case <-time.After(nativetest.Patience(10 * time.Second)):
		t.Error("the callback did not come")
	}
	runtimetest.DropGarbage(t)
}

// A callback that returns ctx.Err() ends the call around it, on other threads too.
func TestCallbackEndsCall(t *testing.T) {
	runtimetest.Balanced(t)
	for _, through := range []string{"calls.repeat", "calls.repeat_on_thread", "calls.repeat_on_threads"} {
		ctx, cancel := context.WithCancel(t.Context())
		f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(i int64) (int64, error) {
			if i == 100 {
				cancel()
			}
			return i, ctx.Err()
		}))
		args := []any{f, 1 << 40}
		if through == "calls.repeat_on_threads" {
			args = append(args, 4)
		}
		if _, err := runtimetest.Call(through, args...); !errors.Is(err, context.Canceled) {
			t.Errorf("through %s the error is %v, want context.Canceled", through, err)
		}
		f.Release()
	}
	runtimetest.DropGarbage(t)
}

func init() {
	runtimetest.Children["goexit"] = func() error {
		f, err := tvmffi.FuncOf(func() { runtime.Goexit() })
		if err != nil {
			return err
		}
		go func() {
			defer func() { recover(); fmt.Println("the goroutine went on") }()
			f.Call()
			fmt.Println("the call returned")
		}()
		time.Sleep(10 * time.Second)
		return errors.New("the process lives on")
	}
	runtimetest.Children["nil dereference"] = func() error {
		if err := tvmffi.Load(); err != nil {
			return err
		}
		defer func() { fmt.Println("recovered:", recover()) }()
		var p *struct{ x int }
		fmt.Println(p.x)
		return nil
	}
}

func TestGoexitInCallback(t *testing.T) {
	runtimetest.Load(t)
	out, err := runtimetest.Child(t, "goexit", "TVMFFI_LIBRARY="+tvmffi.LibraryPath())
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("ended with %v, want exit code 2", err)
	}
	for _, part := range []string{"tvmffi: the Go function runtime_test.init.", " ended by runtime.Goexit", "return an error or panic instead", "callback_test.go"} {
		if !strings.Contains(out, part) {
			t.Errorf("printed %q, want %q in it", out, part)
		}
	}
	if strings.Contains(out, "went on") || strings.Contains(out, "returned") {
		t.Errorf("it went on: %s", out)
	}
}

func TestNilDereferenceAfterLoad(t *testing.T) {
	runtimetest.Load(t)
	out, err := runtimetest.Child(t, "nil dereference", "TVMFFI_LIBRARY="+tvmffi.LibraryPath())
	if err != nil || !strings.Contains(out, "recovered: runtime error: invalid memory address or nil pointer dereference") {
		t.Errorf("the child ended with %v, want a panic that was recovered:\n%s", err, out)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	var p *int
	*p = 1
}

var fnRepeat = runtimetest.GlobalFunc("calls.repeat", "((int) -> int, int) -> int")

func Repeat(f func(int64) (int64, error), n int64) (int64, error) {
	var c bindrt.Call2
	c.Begin(fnRepeat, 2)
	bindrt.Callback(&c.Call, 0, f, func(a *bindrt.Args) error {
		x := bindrt.Arg[int64](a, 0)
		if err := a.Check(1); err != nil {
			return err
		}
		v, err := f(x)
		if err != nil {
			return err
		}
		return bindrt.Return(a, v)
	})
	c.Int(1, n)
	return c.DoInt()
}
